"""A number that is typed, or moved with the arrow keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QAbstractSpinBox, QDoubleSpinBox

from app.i18n import tr
from app.widgets.feedback import show_input_error

if TYPE_CHECKING:
    from PySide6.QtGui import QWheelEvent
    from PySide6.QtWidgets import QWidget


_LONGEST_QUOTE = 40  # characters
_EXPONENT = re.compile(r"-?[0-9.,]+e[+-]?")  # of a number like 1e-3, before its digits


class NumberField(QDoubleSpinBox):
    """Shows one value, at which it does nothing, as a word.

    Args:
        off: That value; None when there is none.
        off_word: What is shown in its place.
    """

    def __init__(
        self, name: str, *, off: float | None = None, off_word: str = "", parent: QWidget | None = None
    ) -> None:
        self._off, self._off_word = off, off_word  # Qt asks for the text before the base class is done
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.NoButtons)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setLocale(QLocale.c())

    def textFromValue(self, value: float) -> str:
        """Return a number without needless zeros, or the word for "off"."""
        if self._off is not None and value == self._off:
            return self._off_word
        return self._digits(value)

    def valueFromText(self, text: str) -> float:
        """Return the number that was typed; a comma within it is a point unless thousands follow."""
        typed = text.strip().casefold()
        if self._off is not None and typed == self._off_word.casefold():
            return self._off
        try:
            return float(self._plain(typed))
        except ValueError:
            return self.value()

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Take numbers in the range, and the word for "off"."""
        typed = text.strip().casefold()
        word = self._off_word.casefold()
        if word and word.startswith(typed):
            done = typed == word
            return QValidator.State.Acceptable if done else QValidator.State.Intermediate, text, position
        if typed in {"", "-", ".", ",", "-."}:
            return QValidator.State.Intermediate, text, position
        try:
            value = float(self._plain(typed))
        except ValueError:
            begun = _EXPONENT.fullmatch(typed) is not None
            return QValidator.State.Intermediate if begun else QValidator.State.Invalid, text, position
        inside = self.minimum() <= value <= self.maximum()
        return QValidator.State.Acceptable if inside else QValidator.State.Intermediate, text, position

    def fixup(self, text: str) -> str:
        """Say why a number that is out of the range is taken back."""
        try:
            value = float(self._plain(text.strip().casefold()))
        except ValueError:
            return text
        if not self.minimum() <= value <= self.maximum():
            words = tr("“{typed}” is out of range: type a number from {least} to {most}.")
            least, most = self._digits(self.minimum()), self._digits(self.maximum())
            show_input_error(self, words.format(typed=text[:_LONGEST_QUOTE], least=least, most=most))
        return text

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the area around, so that scrolling changes no number."""
        event.ignore()

    def _digits(self, value: float) -> str:
        return f"{value:,.{self.decimals()}f}".rstrip("0").rstrip(".") if self.decimals() else f"{value:,.0f}"

    def _plain(self, typed: str) -> str:
        """Return what was typed as Python writes numbers."""
        return typed.replace(",", "." if self.decimals() else "")
