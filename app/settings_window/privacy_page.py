"""Which connections the program makes, all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.settings_window.page import Page
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme


class PrivacyPage(Page):
    """A statement; there is nothing to switch off."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.add_widget(tr("Your chats"), self._words(tr("Stay on this computer: no account, no telemetry.")))
        self.add_widget(
            tr("Connections"),
            self._words(tr("None, but for fetching a model, and that only when you ask for it.")),
        )
        self.add_widget(
            tr("Answers"),
            self._words(
                tr(
                    "Load nothing, neither pictures nor pages. A link opens only after you have seen where it leads."
                )
            ),
        )
        self.add_widget(
            tr("Logs"),
            self._words(tr("Hold no text of your chats. Show Logs in the Help menu opens their folder.")),
        )
        self.add_widget(
            tr("Figures"),
            self._words(
                tr(
                    "Of each answer its speed and counts are kept, without any text, also when its chat is deleted. "
                    "Delete them in the Speed window under History."
                )
            ),
        )
        self.end()
