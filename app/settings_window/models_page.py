"""What holds for every chat that says nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from app.chat.presets import find
from app.settings_window.page import Page
from app.translate import tr
from mtplx_engine.config import MAX_DEPTH

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.services.settings import Settings
    from app.theme import Theme
    from mtplx_engine.config import Depth


_IDLE = (5, 15, 30, 60, 180, 0)


class ModelsPage(Page):
    """How far the model drafts ahead, the preset of new chats, and how long a model stays.

    Signals:
        changed(str, object): A field of `Settings`, and its new value.
    """

    changed = Signal(str, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.drafting = self.add_choice(tr("Drafting"))
        self.add_note(
            tr("Never changes what the model would say, only how fast. Automatic measures on this computer.")
        )
        self.preset = self.add_choice(tr("New chats begin with"))
        self.add_note(tr("Presets are made in the inspector of a chat: View, Show Inspector."))
        self.idle = self.add_choice(tr("Unload when idle"))
        self.add_note(tr("The model's memory is free again; the next question loads it by itself."))
        self.end()
        self.idle.chosen.connect(lambda minutes: self.changed.emit("idle_minutes", minutes))
        self.drafting.chosen.connect(lambda depth: self.changed.emit("drafting", depth))
        self.preset.chosen.connect(lambda name: self.changed.emit("new_chat_preset", name))

    def show_settings(self, settings: Settings) -> None:
        """Show what is set."""
        self.drafting.set_choices(_depths(), settings.drafting)
        names = [(preset.name, preset.name) for preset in settings.presets]
        preset = find(settings.presets, settings.new_chat_preset)
        self.preset.set_choices(
            [("", tr("What the model recommends")), *names], preset.name if preset else ""
        )
        self.idle.set_choices(
            [(minutes, _after(minutes)) for minutes in _IDLE],
            settings.idle_minutes,
            _after(settings.idle_minutes),
        )


def _after(minutes: int) -> str:
    return tr("After {minutes} minutes").format(minutes=minutes) if minutes else tr("Never")


def _depths() -> tuple[tuple[Depth, str], ...]:
    deeper = ((depth, tr("Depth {depth}").format(depth=depth)) for depth in range(1, MAX_DEPTH + 1))
    return (("auto", tr("Automatic")), (0, tr("Off")), *deeper)
