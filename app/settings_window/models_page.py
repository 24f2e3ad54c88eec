"""What holds for every chat that says nothing else."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QWidget

from app.chat.presets import find
from app.settings_window.page import Page
from app.theme import SPACE_S
from app.translate import tr
from app.widgets.elided_label import ElidedLabel
from mtplx_engine.config import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.services.models_folder import ModelsFolder
    from app.services.settings import Settings
    from app.theme import Theme
    from mtplx_engine.config import Depth


_IDLE = (5, 15, 30, 60, 180, 0)


class ModelsPage(Page):
    """How far the model drafts ahead, the preset of new chats, how long a model stays, and where new ones go.

    Signals:
        changed(str, object): A field of `Settings`, and its new value.
    """

    changed = Signal(str, object)

    def __init__(self, theme: Theme, folder: ModelsFolder, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._folder = folder
        self.drafting = self.add_choice(tr("Drafting"))
        self.add_note(
            tr("Never changes what the model would say, only how fast. Automatic measures on this computer.")
        )
        self.preset = self.add_choice(tr("New chats begin with"))
        self.add_note(tr("Presets are made in the inspector of a chat: View, Show Inspector."))
        self.idle = self.add_choice(tr("Unload when idle"))
        self.add_note(tr("The model's memory is free again; the next question loads it by itself."))
        self._add_folder()
        self.end()
        self.idle.chosen.connect(lambda minutes: self.changed.emit("idle_minutes", minutes))
        self.drafting.chosen.connect(lambda depth: self.changed.emit("drafting", depth))
        self.preset.chosen.connect(lambda name: self.changed.emit("new_chat_preset", name))

    def _add_folder(self) -> None:
        self.place = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.place.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.add_widget(tr("New models go to"), self.place)
        self.add_note(
            tr("What is installed elsewhere stays there and is used from there, on another disk as well.")
        )
        self.choose = self._button(tr("Choose…"), self._ask)
        self.usual = self._button(tr("Use the Usual One"), lambda: self._folder.choose(None))
        self.show_folder = self._button(tr("Show Folder"), self._open_folder)
        buttons = QWidget(self)
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        for button in (self.choose, self.usual, self.show_folder):
            row.addWidget(button)
        row.addStretch(1)
        self.add_widget("", buttons)
        self.fault = self.add_fault()
        self._folder.changed.connect(self._show_folder)
        self._folder.failed.connect(self.fault.setText)

    def _button(self, text: str, act: Callable[[], object]) -> QPushButton:
        button = QPushButton(text, self)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.clicked.connect(act)
        return button

    def _ask(self) -> None:
        found = QFileDialog.getExistingDirectory(self, tr("Folder for new models"), str(self._folder.path))
        if found:
            self._folder.choose(Path(found))

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder.path)))

    def _show_folder(self) -> None:
        there = self._folder.is_there
        self.place.setText(str(self._folder.path))
        self.place.setToolTip(f"<p>{html.escape(str(self._folder.path))}</p>")
        self.usual.setEnabled(not self._folder.is_usual)
        self.show_folder.setEnabled(there)
        self.fault.setText("" if there else tr("This folder is not connected at the moment."))

    def show_settings(self, settings: Settings) -> None:
        """Show what is set."""
        self._show_folder()
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
