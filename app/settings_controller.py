"""The stored settings in effect: applied to the windows, the theme and the queue whenever they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.chat.settings import ChatSettings, find_preset
from app.storage.settings import LARGEST_TEXT_PX, SMALLEST_TEXT_PX
from app.theme import TEXT_PX

if TYPE_CHECKING:
    from app.chat.conversation import Conversation
    from app.main_window import MainWindow
    from app.session.observers import IdleUnload
    from app.session.queue import GenerationQueue
    from app.session.session import ChatSession
    from app.storage.settings import SettingsFile
    from app.theme import Theme


class SettingsController(QObject):
    """Changes settings from the menus, and applies all of them; a new chat begins with the chosen preset."""

    changed = Signal()

    def __init__(
        self,
        file: SettingsFile,
        theme: Theme,
        window: MainWindow,
        session: ChatSession,
        *,
        queue: GenerationQueue,
        idle_unload: IdleUnload,
    ) -> None:
        super().__init__(window)
        self._file = file
        self._theme = theme
        self._window = window
        self._session = session
        self._queue = queue
        self._idle_unload = idle_unload
        menus = window.menus
        menus.drafting_chosen.connect(lambda depth: self.set(drafting=depth))
        menus.tint.triggered.connect(lambda tinted: self.set(tint=tinted))
        menus.larger.triggered.connect(lambda: self._set_text_px(theme.text_px + 1))
        menus.smaller.triggered.connect(lambda: self._set_text_px(theme.text_px - 1))
        menus.usual_size.triggered.connect(lambda: self._set_text_px(TEXT_PX))
        session.opened.connect(self._use_preset)
        self.apply()

    def set(self, **fields: object) -> None:
        """Store fields of `Settings` and apply them."""
        self._file.change(**fields)
        self._apply()
        self.changed.emit()

    def apply(self) -> None:
        self._apply()
        self._use_preset(self._session.shown)

    def _apply(self) -> None:
        settings, menus = self._file.value, self._window.menus
        self._theme.set_appearance(settings.appearance)
        self._theme.set_text_px(settings.text_px)
        self._theme.set_tinted(on=settings.tint)
        self._theme.reduced_motion = settings.reduced_motion
        self._window.pane.set_send_key(settings.send_key)
        self._queue.drafting = settings.drafting
        self._idle_unload.set_minutes(settings.idle_minutes)
        self._window.inspector.show_drafting(settings.drafting)
        menus.drafting_action(settings.drafting).setChecked(True)
        menus.tint.setChecked(settings.tint)
        menus.larger.setEnabled(settings.text_px < LARGEST_TEXT_PX)
        menus.smaller.setEnabled(settings.text_px > SMALLEST_TEXT_PX)
        menus.usual_size.setEnabled(settings.text_px != TEXT_PX)

    def _use_preset(self, conversation: Conversation) -> None:
        """Give an empty chat in which nothing is set the preset for new chats."""
        preset = find_preset(self._file.value.presets, self._file.value.new_chat_preset)
        if preset is not None and not conversation.messages and conversation.settings == ChatSettings():
            self._session.set_settings(preset.applied_to(conversation.settings))

    def _set_text_px(self, pixels: int) -> None:
        self.set(text_px=min(max(pixels, SMALLEST_TEXT_PX), LARGEST_TEXT_PX))
