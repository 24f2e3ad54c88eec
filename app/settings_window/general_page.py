"""How the program looks and feels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from app.services.settings import LARGEST_TEXT_PX, SMALLEST_TEXT_PX, Appearance, SendKey
from app.settings_window.page import Page
from app.theme import TEXT_PX
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.services.settings import Settings
    from app.theme import Theme


class GeneralPage(Page):
    """What sends a message, the appearance, the size of messages, the tint, and motion.

    Signals:
        changed(str, object): A field of `Settings`, and its new value.
    """

    changed = Signal(str, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.send_key = self.add_choice(tr("Send a message with"))
        self.add_note(tr("The other one of the two is a new line; so is Shift-Return."))
        self.appearance = self.add_choice(tr("Appearance"))
        self.text_px = self.add_choice(tr("Size of messages"))
        self.tint = self.add_switch(tr("Answers"), tr("Tint what was drafted"))
        self.add_note(tr("Shows which words the model had drafted ahead, and kept."))
        self.motion = self.add_switch(tr("Motion"), tr("Reduce motion"))
        self.add_note(tr("Nothing moves by itself while an answer is on its way."))
        self.end()
        self.send_key.chosen.connect(lambda key: self.changed.emit("send_key", key))
        self.appearance.chosen.connect(lambda look: self.changed.emit("appearance", look))
        self.text_px.chosen.connect(lambda pixels: self.changed.emit("text_px", pixels))
        self.tint.clicked.connect(lambda tinted: self.changed.emit("tint", tinted))
        self.motion.clicked.connect(lambda reduced: self.changed.emit("reduced_motion", reduced))

    def show_settings(self, settings: Settings) -> None:
        """Show what is set."""
        command = "⌘" if sys.platform == "darwin" else tr("Ctrl-")
        keys = (
            (SendKey.RETURN, tr("Return")),
            (SendKey.CTRL_RETURN, tr("{command}Return").format(command=command)),
        )
        self.send_key.set_choices(keys, settings.send_key)
        looks = (
            (Appearance.SYSTEM, tr("As the system")),
            (Appearance.LIGHT, tr("Light")),
            (Appearance.DARK, tr("Dark")),
        )
        self.appearance.set_choices(looks, settings.appearance)
        self.text_px.set_choices(_sizes(), settings.text_px)
        self.tint.setChecked(settings.tint)
        self.motion.setChecked(settings.reduced_motion)


def _sizes() -> tuple[tuple[int, str], ...]:
    def name(pixels: int) -> str:
        words = tr("{size} (usual)") if pixels == TEXT_PX else tr("{size}")
        return words.format(size=pixels)

    return tuple((pixels, name(pixels)) for pixels in range(SMALLEST_TEXT_PX, LARGEST_TEXT_PX + 1))
