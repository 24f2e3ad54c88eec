"""The actions behind the menu items, and when each of them is enabled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, QUrl, Slot
from PySide6.QtWidgets import QApplication, QWidget

from app import menus as menu_bar
from app.chat.conversation import Role
from app.chat.generation import RowAction, RowState
from app.i18n import tr
from app.services.engine_worker import EngineState
from app.widgets.dialogs import AboutBox, LinkSheet, ShortcutSheet

if TYPE_CHECKING:
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenu

    from app.chat.conversation import Message
    from app.chat_view.chat_pane import ChatPane
    from app.main_window import MainWindow
    from app.menus import Menus
    from app.session.actions import ChatActions
    from app.session.session import ChatSession
    from app.sidebar.chat_files import ChatFiles
    from app.sidebar.chat_list import ChatList
    from app.sidebar.controller import SidebarController


_ABOUT_ICON = 64


class Commands(QObject):
    """Connects the menus of the main window to the window, its controllers and the session.

    Signals come in bursts, so the menus are refreshed once, after the last of them. Only Stop is refreshed at once.
    """

    def __init__(
        self,
        window: MainWindow,
        session: ChatSession,
        actions: ChatActions,
        *,
        chats: ChatList,
        library: SidebarController,
        files: ChatFiles,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._session = session
        self._chats = chats
        self._engine = EngineState.CLOSED
        self._busy: frozenset[str] = frozenset()
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self.refresh)
        self.messages = MessageCommands(window.menus, window.pane, actions)
        self._connect_chats(library, files)
        self._connect_chat()
        self._connect_window()
        self._follow()
        self.refresh()

    def show_engine(self, state: EngineState) -> None:
        self._engine = state
        self._refresh_soon()

    @Slot()
    def refresh(self) -> None:
        """Enable each command only while it can act."""
        menus, session = self._window.menus, self._session
        shown = session.shown
        menus.stop.setEnabled(session.busy)
        menus.copy_answer.setEnabled(any(message.role is Role.ASSISTANT and message.text for message in shown.path()))
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

    # ------------------------------------------------------------ connecting

    def _connect_chats(self, library: SidebarController, files: ChatFiles) -> None:
        menus, session = self._window.menus, self._session
        menus.new_chat.triggered.connect(self._new_chat)
        menus.import_chats.triggered.connect(files.import_chats)
        menus.export_chat.triggered.connect(files.export_shown)
        menus.export_all.triggered.connect(files.export_all)
        menus.search.triggered.connect(self._focus_search)
        menus.rename_chat.triggered.connect(self._rename_shown)
        menus.pin_chat.triggered.connect(lambda: library.toggle_pin(session.shown.chat.id))
        menus.delete_chat.triggered.connect(lambda: library.delete([session.shown.chat.id]))
        menus.previous_chat.triggered.connect(lambda: self._step(-1))
        menus.next_chat.triggered.connect(lambda: self._step(+1))

    def _connect_chat(self) -> None:
        menus, pane = self._window.menus, self._window.pane
        menus.stop.triggered.connect(self._session.stop)
        menus.copy_answer.triggered.connect(pane.copy_last_answer)
        menus.focus_message.triggered.connect(pane.composer.setFocus)
        menus.choose_model.triggered.connect(self._choose_model)
        menus.edit.find.triggered.connect(pane.find_bar.open)
        menus.edit.find_next.triggered.connect(lambda: pane.find_bar.go(1))
        menus.edit.find_previous.triggered.connect(lambda: pane.find_bar.go(-1))

    def _connect_window(self) -> None:
        window, menus = self._window, self._window.menus
        menus.close_window.triggered.connect(lambda: self._active().close())
        menus.minimize.triggered.connect(lambda: self._active().showMinimized())
        menus.zoom.triggered.connect(lambda: _toggle(self._active(), Qt.WindowState.WindowMaximized))
        menus.full_screen.triggered.connect(self._toggle_full_screen)
        menus.main_window.triggered.connect(window.come_forward)
        menus.shortcuts.triggered.connect(lambda: ShortcutSheet(menus.commands(), window).open())
        menus.updates.triggered.connect(lambda: LinkSheet(QUrl(menu_bar.RELEASES), window).open())
        menus.about.triggered.connect(lambda: AboutBox(window.windowIcon().pixmap(_ABOUT_ICON), window).open())
        menus.edit.undo_requested.connect(window.toast.undo)
        window.toast.undoable.connect(menus.edit.allow_undo)

    def _follow(self) -> None:
        session = self._session
        for signal in (session.opened, session.rearranged, session.listed, session.added, session.changed):
            signal.connect(self._refresh_soon)
        session.activity.connect(self._note_activity)
        for signal in (self._chats.rowsInserted, self._chats.rowsRemoved):
            signal.connect(self._refresh_soon)

    def _note_activity(self, busy: frozenset[str]) -> None:
        self._busy = busy
        self._window.menus.stop.setEnabled(self._session.busy)
        self._refresh_soon()

    def _refresh_soon(self) -> None:
        self._soon.start()

    # ------------------------------------------------------------ actions

    def _neighbour(self, step: int) -> str:
        """Return the chat above or below the shown one in the list, "" at its end."""
        ids = self._chats.chat_ids()
        shown = self._session.shown.chat.id
        # The empty chat is above all others.
        index = (ids.index(shown) if shown in ids else -1) + step
        return ids[index] if 0 <= index < len(ids) else ""

    def _new_chat(self) -> None:
        self._session.new_chat()
        if not self._window.isVisible():  # closed, on a Mac
            self._window.come_forward()

    def _step(self, step: int) -> None:
        chat_id = self._neighbour(step)
        if chat_id:
            self._session.open_chat(chat_id)

    def _rename_shown(self) -> None:
        self._window.show_sidebar()
        self._window.sidebar.search.clear()
        self._window.sidebar.list.rename(self._session.shown.chat.id)

    def _focus_search(self) -> None:
        self._window.show_sidebar()
        self._window.sidebar.focus_search()

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


class MessageCommands(QObject):
    """Connects the commands about the last answer and the last question, and says when each of them can act."""

    def __init__(self, menus: Menus, pane: ChatPane, actions: ChatActions) -> None:
        super().__init__(menus)
        self._models_menu = menus.answer_with
        self._models: tuple[tuple[str, str], ...] | None = None  # None until they are listed
        self._chat_actions = actions
        self._pane = pane
        self._actions: dict[RowAction, QAction] = {
            RowAction.EDIT: menus.edit_last,
            RowAction.REGENERATE: menus.answer_again,
            RowAction.FOCUSED: menus.answer_focused,
            RowAction.VARIED: menus.answer_varied,
            RowAction.RESUME: menus.resume_answer,
            RowAction.PREVIOUS: menus.previous_version,
            RowAction.NEXT: menus.next_version,
            RowAction.DETAILS: menus.details,
            RowAction.DELETE: menus.delete_answer,
        }
        for action, command in self._actions.items():
            command.triggered.connect(lambda _=False, action=action: self._act(action))
        self._models_menu.aboutToShow.connect(self._offer_for_last)
        pane.transcript.models_wanted.connect(self._offer_models)
        menus.attach.triggered.connect(pane.composer.attach_requested)

    def refresh(self) -> None:
        states = self._chat_actions.states()
        for action, command in self._actions.items():
            message = self._message(action)
            state = states.get(message.id, RowState()) if message else RowState()
            command.setEnabled(action in state.offers)
        self._models_menu.setEnabled(self._actions[RowAction.REGENERATE].isEnabled())

    def show_models(self, choices: tuple[tuple[str, str], ...]) -> None:
        """Offer models to answer with: the name and the title of each."""
        self._models = choices

    def _act(self, action: RowAction) -> None:
        message = self._message(action)
        if message is not None:
            self._pane.act(action, message.id)

    def _offer_for_last(self) -> None:
        answer = self._chat_actions.last_answer()
        if answer is not None:
            self._offer_models(self._models_menu, answer.id)

    def _offer_models(self, menu: QMenu, answer_id: str) -> None:
        """Fill a menu with the installed models, each of which writes another answer to the same question."""
        menu.clear()
        for name, title in self._models or ():
            action = menu.addAction(title.replace("&", "&&"))
            action.triggered.connect(lambda _=False, name=name: self._pane.answer_with(answer_id, name))
        if menu.isEmpty():
            nothing = tr("Looking for models…") if self._models is None else tr("No model is installed")
            menu.addAction(nothing).setEnabled(False)

    def _message(self, action: RowAction) -> Message | None:
        chat = self._chat_actions
        return chat.last_question() if action is RowAction.EDIT else chat.last_answer()
