"""A field for a number."""

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
    """A number that is typed or changed with the arrow keys; the value `off`, if any, is shown as `off_word`."""

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
        if self._off is not None and value == self._off:
            return self._off_word
        return self._digits(value)

    def valueFromText(self, text: str) -> float:
        typed = text.strip().casefold()
        if self._off is not None and typed == self._off_word.casefold():
            return self._off
        try:
            return float(self._plain(typed))
        except ValueError:
            return self.value()

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept numbers in the range, and the word for "off"."""
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
        """Explain why a number out of range is not taken."""
        try:
            value = float(self._plain(text.strip().casefold()))
        except ValueError:
            return text
        if not self.minimum() <= value <= self.maximum():
            sentence = tr("“{typed}” is out of range: type a number from {least} to {most}.")
            least, most = self._digits(self.minimum()), self._digits(self.maximum())
            show_input_error(self, sentence.format(typed=text[:_LONGEST_QUOTE], least=least, most=most))
        return text

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def _digits(self, value: float) -> str:
        return f"{value:,.{self.decimals()}f}".rstrip("0").rstrip(".") if self.decimals() else f"{value:,.0f}"

    def _plain(self, typed: str) -> str:
        return typed.replace(",", "." if self.decimals() else "")
