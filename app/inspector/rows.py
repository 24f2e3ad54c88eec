"""The rows of the inspector: a label with a field and its reset button, and the section of the draft depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QWidget

from app.i18n import tr
from app.theme import CODE_PX, SMALL_PX, SPACE_S
from app.widgets.buttons import ChoiceButton, IconButton
from app.widgets.cards import Section
from app.widgets.feedback import show_input_error
from app.widgets.labels import PlainLabel
from app.widgets.number_field import NumberField

if TYPE_CHECKING:
    from app.inspector.form import Dial, SettingsForm
    from app.theme import Theme


_NUMBER_WIDTH, _FIELD_HEIGHT = 76, 28
_LARGEST_SEED = 2**63 - 1
_LONGEST_QUOTE = 40  # characters


class SettingRow(QWidget):
    """A label, a reset button while the value differs from the default, and a field."""

    def __init__(self, theme: Theme, label: str, hint: str, field: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        name = QLabel(label, self)
        name.setBuddy(field)
        name.setFont(theme.font(CODE_PX))
        name.setToolTip(hint)
        field.setToolTip(hint)
        field.setAccessibleDescription(hint)
        field.setFixedSize(_NUMBER_WIDTH, _FIELD_HEIGHT)
        self.reset = IconButton(theme, "reset", tr("Reset {name}").format(name=label), size=14, side=22, parent=self)
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        row.addWidget(name, 1)
        row.addWidget(self.reset)
        row.addWidget(field)


class DialRow(SettingRow):
    """A numeric sampling setting; both signals have its field of `SamplerConfig`, `chosen` also the new value."""

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
        """Show a value, and whether it differs from the recommended one."""
        with QSignalBlocker(self.field):
            self.field.setValue(value)
        self.reset.setVisible(changed)


class SeedRow(SettingRow):
    """The row of the random seed, empty for another one each time; `chosen` has "seed", and the number or None."""

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
        """Show a seed, and whether it differs from the recommended one."""
        self._shown = seed
        self.field.setText("" if seed is None else str(seed))
        self.reset.setVisible(changed)

    def _edited(self) -> None:
        typed = self.field.text().strip()
        seed = int(typed) if typed.isascii() and typed.isdigit() else None
        if typed and (seed is None or seed > _LARGEST_SEED):
            self.set_value(self._shown, changed=self.reset.isVisible())
            error = tr("“{typed}” is no seed: type a whole number from 0 to {most}.")
            show_input_error(self.field, error.format(typed=typed[:_LONGEST_QUOTE], most=_LARGEST_SEED))
        elif seed != self._shown:
            self.chosen.emit("seed", seed)


class DraftingSection(Section):
    """The draft depth, and why drafting was turned off automatically; `draft_again` turns it on all the same."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, tr("Drafting"), parent)
        self.choice = ChoiceButton(theme, tr("Drafting"), self)
        self._why = PlainLabel(theme, SMALL_PX, "tertiary", parent=self)
        self.draft_again = QPushButton(tr("Let It Draft Again"))
        self.draft_again.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._turn_on = QWidget(self)
        line = QHBoxLayout(self._turn_on)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.draft_again)
        line.addStretch(1)
        for widget in (self.choice, self._why, self._turn_on):
            self.add(widget)

    def show_form(self, form: SettingsForm) -> None:
        self.choice.set_choices(form.depths(), form.settings.drafting)
        is_off = bool(form.turned_off) and form.drafts == "auto"
        self._why.say(tr("Automatic is {why}.").format(why=form.turned_off) if is_off else "")
        self._turn_on.setVisible(is_off)
        self.draft_again.setAccessibleDescription(self._why.text())
