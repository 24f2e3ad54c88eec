"""The main window: sidebar, chat and inspector side by side, and the menu bar."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDesktopServices, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QMenuBar, QWidget

from app.chat_view.chat_pane import ChatPane
from app.i18n import tr
from app.inspector.inspector import WIDTH as INSPECTOR_WIDTH
from app.inspector.inspector import Inspector
from app.menus import Menus
from app.sidebar.sidebar import WIDTH as SIDEBAR_WIDTH
from app.sidebar.sidebar import Sidebar
from app.widgets.dialogs import LinkSheet
from app.widgets.feedback import UndoToast
from app.widgets.window_geometry import geometry_of, restore_geometry

if TYPE_CHECKING:
    from pathlib import Path

    from app.chat.conversation import ChatSummary, Conversation
    from app.chat.settings import Preset
    from app.chat_view.model_status import ModelStatus
    from app.session.actions import ChatActions
    from app.session.session import ChatSession
    from app.sidebar.chat_list import ChatList
    from app.storage.settings import SettingsFile
    from app.theme import Theme


_ON_MAC = sys.platform == "darwin"
_LEAST_PANE = 380  # pixels for the chat beside the sidebar and the inspector


class MainWindow(QMainWindow):
    """Lays out the parts and connects them to the session.

    The actions of `menus` are in `app.commands`; `toast` shows notices that belong to no message.
    """

    model_action_pressed = Signal()

    def __init__(
        self,
        theme: Theme,
        session: ChatSession,
        actions: ChatActions,
        chats: ChatList,
        settings: SettingsFile,
        *,
        log_dir: Path,
    ) -> None:
        super().__init__()
        self._session = session
        self._chats = chats
        self._settings = settings
        self._log_dir = log_dir
        self.setWindowTitle("MTPLX")
        self.sidebar = Sidebar(theme, chats)
        self.pane = ChatPane(theme, session, actions)
        self.inspector = Inspector(theme, settings)
        body = QWidget(self)
        row = QHBoxLayout(body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.sidebar)
        row.addWidget(self.pane, 1)
        row.addWidget(self.inspector)
        self.setCentralWidget(body)
        # On a Mac the bar belongs to the program: it stays when this window is closed.
        self.menus = Menus(QMenuBar() if _ON_MAC else self.menuBar())
        self.toast = UndoToast(self.pane.pages)
        self.pane.header.set_menus(self.menus.chat, self.menus.model)
        self.menus.sidebar.setChecked(settings.value.sidebar)
        self.menus.inspector.setChecked(settings.value.inspector)
        self._connect()
        self._show_sides()
        restore_geometry(self, settings.value.place)

    def show_model(self, status: ModelStatus) -> None:
        self.pane.header.set_model(status.title, status.fraction)
        self.pane.show_model(status)

    def show_notice(self, sentence: str) -> None:
        """Show a notice that belongs to no message."""
        self.toast.offer(sentence, tr("Show Logs"), self._open_logs)

    def put_chats(self, chats: tuple[ChatSummary, ...]) -> None:
        self._chats.put(*chats)
        self.sidebar.search_again()

    def come_forward(self) -> None:
        """Show the window in front of all others."""
        self.setWindowState(self.windowState() & ~self.windowState().WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def show_sidebar(self) -> None:
        """Show the sidebar, and hide the inspector where there is no room for both."""
        self.menus.sidebar.setChecked(True)
        if self.sidebar.isHidden():
            self.menus.inspector.setChecked(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_sides()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.inspector.settle()
        self._settings.change(place=geometry_of(self))
        super().closeEvent(event)

    def _connect(self) -> None:
        session, menus, sidebar = self._session, self.menus, self.sidebar
        sidebar.chosen.connect(session.open_chat)
        sidebar.new_chat_requested.connect(session.new_chat)
        session.opened.connect(self._opened)
        session.listed.connect(self._listed)
        session.activity.connect(self._chats.set_busy)
        session.notice.connect(self.show_notice)
        menus.sidebar.toggled.connect(self._show_sides)
        menus.inspector.toggled.connect(self._show_sides)
        menus.show_logs.triggered.connect(self._open_logs)
        self.pane.header.sidebar_button.clicked.connect(self._press_sidebar)
        self.pane.header.inspector_button.clicked.connect(menus.inspector.toggle)
        self.inspector.close_requested.connect(menus.inspector.toggle)
        self.inspector.show_chat(session.chat_id, session.settings)
        self.inspector.changed.connect(session.set_settings_of)
        self.inspector.presets.deleted.connect(self._preset_deleted)
        session.settings_changed.connect(self.inspector.show_settings)
        self.pane.transcript.link_activated.connect(lambda url: LinkSheet(url, self).open())
        self.pane.undo_offered.connect(self.toast.offer_undo)
        self.pane.model_action_pressed.connect(self.model_action_pressed)

    def _opened(self, conversation: Conversation) -> None:
        self.sidebar.show_chosen(conversation.chat.id)
        self.inspector.show_chat(conversation.chat.id, conversation.settings)
        self._settings.change(last_chat=conversation.chat.id if conversation.messages else "")

    def _listed(self, chat: ChatSummary) -> None:
        self._chats.put(chat)
        if chat.id == self._session.shown.chat.id:
            self.sidebar.show_chosen(chat.id)
            self._settings.change(last_chat=chat.id)

    def _preset_deleted(self, preset: Preset) -> None:
        text = tr("Deleted preset “{name}”").format(name=preset.name)
        self.toast.offer_undo(text, lambda: self.inspector.presets.restore(preset))

    def _show_sides(self) -> None:
        """Show the chosen side panels; the sidebar is hidden where both leave too little for the chat."""
        sidebar, inspector = self.menus.sidebar.isChecked(), self.menus.inspector.isChecked()
        room = self.width() - INSPECTOR_WIDTH - SIDEBAR_WIDTH >= _LEAST_PANE
        shown = sidebar and (room or not inspector)
        self.sidebar.setVisible(shown)
        self.inspector.setVisible(inspector)
        header = self.pane.header
        header.sidebar_button.set_face("sidebar", tr("Hide the sidebar") if shown else tr("Show the sidebar"))
        header.inspector_button.set_face(
            "inspector", tr("Hide the inspector") if inspector else tr("Show the inspector")
        )
        self._settings.change(sidebar=sidebar, inspector=inspector)

    def _press_sidebar(self) -> None:
        """Toggle the sidebar; where the inspector has displaced it, hide the inspector instead."""
        if self.menus.sidebar.isChecked() and self.sidebar.isHidden():
            self.menus.inspector.setChecked(False)
        else:
            self.menus.sidebar.toggle()

    def _open_logs(self) -> None:
        self._log_dir.mkdir(parents=True, exist_ok=True)
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._log_dir)))


def quits_with_its_window() -> bool:
    """Return whether closing the window ends the program: a Mac keeps it in the Dock."""
    return not _ON_MAC
