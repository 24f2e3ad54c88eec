"""The rows of the inspector: a label with a number and its reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QWidget

from app.i18n import tr
from app.theme import CODE_PX, SPACE_S
from app.widgets.buttons import IconButton
from app.widgets.feedback import show_input_error
from app.widgets.number_field import NumberField

if TYPE_CHECKING:
    from app.inspector.form import Dial
    from app.theme import Theme


_NUMBER_WIDTH, _FIELD_HEIGHT = 76, 28
_LARGEST_SEED = 2**63 - 1
_LONGEST_QUOTE = 40  # characters


class SettingRow(QWidget):
    """A label at the left, a field at the right, and between them a reset while it has something to do.

    Attributes:
        reset: Takes the value back to the recommended one.
    """

    def __init__(self, theme: Theme, label: str, hint: str, field: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        words = QLabel(label, self)
        words.setBuddy(field)
        words.setFont(theme.font(CODE_PX))
        words.setToolTip(hint)
        field.setToolTip(hint)
        field.setAccessibleDescription(hint)
        field.setFixedSize(_NUMBER_WIDTH, _FIELD_HEIGHT)
        self.reset = IconButton(
            theme, "reset", tr("Reset {name}").format(name=label), size=14, side=22, parent=self
        )
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        row.addWidget(words, 1)
        row.addWidget(self.reset)
        row.addWidget(field)


class DialRow(SettingRow):
    """A number that says how tokens are chosen.

    Signals:
        chosen: The field of `SamplerConfig`, and its new value.
        reset_requested: The field that is to be as recommended.
    """

    chosen = Signal(str, object)
    reset_requested = Signal(str)

    def __init__(self, theme: Theme, dial: Dial, parent: QWidget) -> None:
        self.field = NumberField(tr(dial.label), off=dial.off, off_word=tr("off"))
        super().__init__(theme, tr(dial.label), tr(dial.help), self.field, parent)
        self.field.setDecimals(dial.decimals)
        self.field.setRange(dial.low, dial.high)
        self.field.setSingleStep(dial.step)
        self.field.valueChanged.connect(lambda value: self.chosen.emit(dial.name, value))
        self.reset.clicked.connect(lambda: self.reset_requested.emit(dial.name))

    def set_value(self, value: float, *, changed: bool) -> None:
        """Show a value, and whether it is another than the recommended one."""
        with QSignalBlocker(self.field):
            self.field.setValue(value)
        self.reset.setVisible(changed)


class SeedRow(SettingRow):
    """The number that makes an answer repeatable; empty for another one each time.

    Signals:
        chosen: "seed", and the number or None.
    """

    chosen = Signal(str, object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.field = QLineEdit()
        self.field.setAccessibleName(tr("Seed"))
        self.field.setPlaceholderText(tr("random"))
        hint = tr("With a seed, the same question in the same chat gives the same answer on this computer.")
        super().__init__(theme, tr("Seed"), hint, self.field, parent)
        self._shown: int | None = None
        self.field.editingFinished.connect(self._edited)
        self.reset.clicked.connect(lambda: self.chosen.emit("seed", None))

    def set_value(self, seed: int | None, *, changed: bool) -> None:
        """Show a seed, and whether it is another than the recommended one."""
        self._shown = seed
        self.field.setText("" if seed is None else str(seed))
        self.reset.setVisible(changed)

    def _refuse(self, typed: str) -> None:
        words = tr("“{typed}” is no seed: type a whole number from 0 to {most}.").format(
            typed=typed[:_LONGEST_QUOTE], most=_LARGEST_SEED
        )
        show_input_error(self.field, words)

    def _edited(self) -> None:
        typed = self.field.text().strip()
        seed = int(typed) if typed.isascii() and typed.isdigit() else None
        if typed and (seed is None or seed > _LARGEST_SEED):
            self.set_value(self._shown, changed=self.reset.isVisible())
            self._refuse(typed)
        elif seed != self._shown:
            self.chosen.emit("seed", seed)
