"""What the commands of the menu bar do in the main window, and when each of them can act."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, QUrl, Slot
from PySide6.QtWidgets import QApplication, QWidget

from app import releases
from app.chat.conversation import Role
from app.message_commands import MessageCommands
from app.services.engine_link import EngineState
from app.translate import tr
from app.widgets.about_box import AboutBox
from app.widgets.link_sheet import LinkSheet
from app.widgets.shortcut_sheet import ShortcutSheet

if TYPE_CHECKING:
    from app.library.chat_list import ChatList
    from app.main_window import MainWindow
    from app.session.session import ChatSession

_ABOUT_ICON = 64


class Commands(QObject):
    """Connects the menus of a window to it and to the session.

    Much of what happens comes in a row of signals: they are looked at once, when all have come. Stop alone can be
    chosen at once.

    Attributes:
        messages: Those about the newest messages.
    """

    def __init__(self, window: MainWindow, session: ChatSession, chats: ChatList) -> None:
        super().__init__(window)
        self._window = window
        self._session = session
        self._chats = chats
        self._engine = EngineState.CLOSED
        self._busy: frozenset[str] = frozenset()
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self.refresh)
        menus = window.menus
        menus.new_chat.triggered.connect(self._new_chat)
        menus.stop.triggered.connect(session.stop)
        menus.copy_answer.triggered.connect(window.pane.copy_last_answer)
        menus.focus_message.triggered.connect(window.pane.composer.setFocus)
        menus.previous_chat.triggered.connect(lambda: self._step(-1))
        menus.next_chat.triggered.connect(lambda: self._step(+1))
        menus.close_window.triggered.connect(lambda: self._active().close())
        menus.minimize.triggered.connect(lambda: self._active().showMinimized())
        menus.zoom.triggered.connect(lambda: _toggle(self._active(), Qt.WindowState.WindowMaximized))
        menus.full_screen.triggered.connect(self._toggle_full_screen)
        menus.main_window.triggered.connect(window.come_forward)
        menus.choose_model.triggered.connect(self._choose_model)
        menus.shortcuts.triggered.connect(lambda: ShortcutSheet(menus.commands(), window).open())
        menus.updates.triggered.connect(lambda: LinkSheet(QUrl(releases.PAGE), window).open())
        menus.about.triggered.connect(
            lambda: AboutBox(window.windowIcon().pixmap(_ABOUT_ICON), window).open()
        )
        menus.edit.find.triggered.connect(window.pane.find_bar.open)
        menus.edit.find_next.triggered.connect(lambda: window.pane.find_bar.go(1))
        menus.edit.find_previous.triggered.connect(lambda: window.pane.find_bar.go(-1))
        self.messages = MessageCommands(menus, window.pane, session)
        menus.edit.undo_requested.connect(window.toast.undo)
        window.toast.undoable.connect(menus.edit.allow_undo)
        for signal in (session.opened, session.rearranged, session.listed, session.added, session.changed):
            signal.connect(self._refresh_soon)
        session.activity.connect(self._note_activity)
        for signal in (chats.rowsInserted, chats.rowsRemoved):
            signal.connect(self._refresh_soon)
        self.refresh()

    def show_engine(self, state: EngineState) -> None:
        """Offer what can be done with the engine as it is now."""
        self._engine = state
        self._refresh_soon()

    @Slot()
    def refresh(self) -> None:
        """Let each command be chosen only while it can act."""
        menus, session = self._window.menus, self._session
        shown = session.shown
        menus.stop.setEnabled(session.busy)
        menus.copy_answer.setEnabled(
            any(message.role is Role.ASSISTANT and message.text for message in shown.path())
        )
        self.messages.refresh()
        listed = self._chats.chat(shown.chat.id)
        for action in (menus.rename_chat, menus.pin_chat, menus.delete_chat):
            action.setEnabled(listed is not None)
        menus.pin_chat.setText(tr("Unpin Chat") if listed and listed.pinned else tr("Pin Chat"))
        menus.export_chat.setEnabled(bool(shown.messages))
        menus.export_all.setEnabled(bool(self._chats.chat_ids()))
        menus.previous_chat.setEnabled(bool(self._neighbour(-1)))
        menus.next_chat.setEnabled(bool(self._neighbour(+1)))
        for action in (menus.edit.find, menus.edit.find_next, menus.edit.find_previous):
            action.setEnabled(bool(shown.messages))
        loaded = self._engine is EngineState.READY
        menus.load_model.setEnabled(self._engine is EngineState.NO_MODEL)
        loading = self._engine is EngineState.LOADING
        menus.unload_model.setText(tr("Stop Loading") if loading else tr("Unload Model"))
        menus.unload_model.setEnabled(loading or (loaded and not self._busy))
        menus.restart_engine.setEnabled(self._engine is not EngineState.CLOSED)

    def _note_activity(self, busy: frozenset[str]) -> None:
        self._busy = busy
        self._window.menus.stop.setEnabled(self._session.busy)
        self._refresh_soon()

    def _refresh_soon(self) -> None:
        self._soon.start()

    def _neighbour(self, step: int) -> str:
        """Return the chat above or below the shown one in the list, "" at its end."""
        ids = self._chats.chat_ids()
        shown = self._session.shown.chat.id
        # The empty chat stands above all others.
        place = (ids.index(shown) if shown in ids else -1) + step
        return ids[place] if 0 <= place < len(ids) else ""

    def _new_chat(self) -> None:
        self._session.new_chat()
        if not self._window.isVisible():  # closed, on a Mac
            self._window.come_forward()

    def _step(self, step: int) -> None:
        chat_id = self._neighbour(step)
        if chat_id:
            self._session.open_chat(chat_id)

    def _choose_model(self) -> None:
        self._window.menus.inspector.setChecked(True)
        self._window.inspector.model.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _toggle_full_screen(self) -> None:
        _toggle(self._window, Qt.WindowState.WindowFullScreen)
        full = self._window.isFullScreen()
        self._window.menus.full_screen.setText(tr("Exit Full Screen") if full else tr("Enter Full Screen"))

    def _active(self) -> QWidget:
        return QApplication.activeWindow() or self._window


def _toggle(window: QWidget, state: Qt.WindowState) -> None:
    window.setWindowState(window.windowState() ^ state)
