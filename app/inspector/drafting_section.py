"""How deep the answers of a chat are drafted, and why they are not where a measurement turned that off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.theme import SMALL_PX
from app.translate import tr
from app.widgets.choice_button import ChoiceButton
from app.widgets.plain_label import PlainLabel
from app.widgets.section import Section

if TYPE_CHECKING:
    from app.inspector.form import Form
    from app.theme import Theme


class DraftingSection(Section):
    """Shows the draft depth of a form.

    Attributes:
        choice: The depth.
        draft_again: Lets the model draft although it was slower; there while drafting is off by itself.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, tr("Drafting"), parent)
        self.choice = ChoiceButton(theme, tr("Drafting"), self)
        self._why = PlainLabel(theme, SMALL_PX, "tertiary", parent=self)
        self.draft_again = QPushButton(tr("Let It Draft Again"))
        self.draft_again.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._way_back = QWidget(self)
        line = QHBoxLayout(self._way_back)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.draft_again)
        line.addStretch(1)
        for widget in (self.choice, self._why, self._way_back):
            self.add(widget)

    def show_form(self, form: Form) -> None:
        """Show the depth that is set, and why there is no drafting."""
        self.choice.set_choices(form.depths(), form.settings.drafting)
        is_off = bool(form.turned_off) and form.drafts == "auto"
        self._why.say(tr("Automatic is {why}.").format(why=form.turned_off) if is_off else "")
        self._way_back.setVisible(is_off)
        self.draft_again.setAccessibleDescription(self._why.text())
