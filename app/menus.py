"""The menu bar of the main window: all its actions, without what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QMenu,
    QMenuBar,
    QPlainTextEdit,
    QTextEdit,
)

from app.i18n import marked, tr
from mtplx_engine.config import MAX_DEPTH

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from mtplx_engine.config import Depth
    from mtplx_engine.ipc.protocol import ModelInfo


RELEASES = ""
"""Web page of new versions, opened in the browser; nothing is looked up or installed by itself.

Empty hides the command: users are not sent to an address that somebody else may own.
"""

_Key = QKeySequence.StandardKey
_Role = QAction.MenuRole
_Field = QLineEdit | QPlainTextEdit | QTextEdit
# method of the text field, title, key
_EDITS = (
    ("undo", marked("Undo"), _Key.Undo),
    ("redo", marked("Redo"), _Key.Redo),
    ("", "", None),
    ("cut", marked("Cut"), _Key.Cut),
    ("copy", marked("Copy"), _Key.Copy),
    ("paste", marked("Paste"), _Key.Paste),
    ("selectAll", marked("Select All"), _Key.SelectAll),
)


class Menus(QObject):
    """All actions of the menu bar; `app.commands` connects and enables them.

    Attributes:
        chat: The Chat menu; the header shows it too, and `model` as well.

    Signals:
        drafting_chosen: A draft depth, "auto" or 0..8, for the next answers.
    """

    drafting_chosen = Signal(object)

    def __init__(self, bar: QMenuBar) -> None:
        super().__init__(bar)
        self._fill_file(bar.addMenu(tr("File")))
        self.edit = EditMenu(bar.addMenu(tr("Edit")))
        self._fill_view(bar.addMenu(tr("View")))
        self.chat = bar.addMenu(tr("Chat"))
        self._fill_chat(self.chat)
        self.model = bar.addMenu(tr("Model"))
        self._depths = self._fill_drafting(self.model.addMenu(tr("Drafting")))
        self._fill_model(self.model)
        self._fill_window(bar.addMenu(tr("Window")))
        self._fill_help(bar.addMenu(tr("Help")))
        self._bar = bar

    def drafting_action(self, depth: Depth) -> QAction:
        return self._depths[depth]

    def allow_drafting(self, model: ModelInfo) -> None:
        """Enable the draft depths of the loaded model: without a drafter only "off"."""
        for depth, action in self._depths.items():
            action.setEnabled(model.drafter != "none" or depth == 0)

    def judge_drafting(self, reason: str) -> None:
        """Show why drafting was turned off automatically, "" when it was not, and offer to turn it on."""
        automatic = tr("Automatic")
        self._depths["auto"].setText(f"{automatic} – {reason}" if reason else automatic)
        self.draft_again.setVisible(bool(reason))

    def commands(self) -> tuple[tuple[str, tuple[QAction, ...]], ...]:
        """Return the menus by title, each with its actions and those of its submenus."""
        menus = {menu.title(): menu for menu in self._bar.findChildren(QMenu) if menu.parent() is self._bar}
        return tuple((action.text(), _actions_in(menus[action.text()])) for action in self._bar.actions())

    # ------------------------------------------------------------ the menus

    def _fill_file(self, menu: QMenu) -> None:
        self.new_chat = add_command(menu, tr("New Chat"), "Ctrl+N")
        menu.addSeparator()
        self.import_chats = add_command(menu, tr("Import…"))
        self.export_chat = add_command(menu, tr("Export Chat…"))
        self.export_all = add_command(menu, tr("Export All Chats…"))
        menu.addSeparator()
        self.close_window = add_command(menu, tr("Close Window"), "Ctrl+W")
        menu.addSeparator()
        # A Mac takes these two into the program's own menu.
        self.settings = add_command(menu, tr("Settings…"), "Ctrl+,", role=_Role.PreferencesRole)
        self.quit = add_command(menu, tr("Quit MTPLX"), "Ctrl+Q", role=_Role.QuitRole)

    def _fill_view(self, menu: QMenu) -> None:
        self.sidebar = add_command(menu, tr("Show Sidebar"), "Ctrl+Alt+S")
        self.inspector = add_command(menu, tr("Show Inspector"), "Ctrl+Alt+I")
        menu.addSeparator()
        self.larger = add_command(menu, tr("Make Text Bigger"), "Ctrl++", "Ctrl+=")
        self.smaller = add_command(menu, tr("Make Text Smaller"), "Ctrl+-")
        self.usual_size = add_command(menu, tr("Usual Text Size"), "Ctrl+0")
        self.tint = add_command(menu, tr("Tint What Was Drafted"), "Ctrl+Alt+T")
        menu.addSeparator()
        self.focus_message = add_command(menu, tr("Go to Message Field"), "Ctrl+L")
        self.search = add_command(menu, tr("Search All Chats"), "Ctrl+Shift+F")
        self.previous_chat = add_command(menu, tr("Previous Chat"), "Ctrl+[")
        self.next_chat = add_command(menu, tr("Next Chat"), "Ctrl+]")
        menu.addSeparator()
        for action in (self.sidebar, self.inspector, self.tint):
            action.setCheckable(True)
        self.full_screen = add_command(menu, tr("Enter Full Screen"), _Key.FullScreen)

    def _fill_chat(self, menu: QMenu) -> None:
        self.stop = add_command(menu, tr("Stop"), "Ctrl+.", "Esc")
        self.stop.setEnabled(False)
        menu.addSeparator()
        self.copy_answer = add_command(menu, tr("Copy Answer"), "Ctrl+Shift+C")
        self.answer_again = add_command(menu, tr("Answer Again"), "Ctrl+R")
        self.answer_focused = add_command(menu, tr("Answer Again, More Focused"))
        self.answer_varied = add_command(menu, tr("Answer Again, More Varied"))
        self.answer_with = menu.addMenu(tr("Answer Again With"))
        self.resume_answer = add_command(menu, tr("Continue Answer"))
        self.previous_version = add_command(menu, tr("Previous Version"))
        self.next_version = add_command(menu, tr("Next Version"))
        self.details = add_command(menu, tr("Details of the Answer…"))
        self.delete_answer = add_command(menu, tr("Delete Answer"))
        menu.addSeparator()
        self.edit_last = add_command(menu, tr("Edit Last Message"))
        self.attach = add_command(menu, tr("Attach Files…"), "Ctrl+Shift+A")
        menu.addSeparator()
        self.rename_chat = add_command(menu, tr("Rename Chat"))
        self.pin_chat = add_command(menu, tr("Pin Chat"))
        self.delete_chat = add_command(menu, tr("Delete Chat"))

    def _fill_drafting(self, menu: QMenu) -> dict[Depth, QAction]:
        menu.addAction(tr("From the next answer on")).setEnabled(False)
        menu.addSeparator()
        group = QActionGroup(self)
        names: dict[Depth, str] = {"auto": tr("Automatic"), 0: tr("Off")}
        names.update({depth: tr("Depth {depth}").format(depth=depth) for depth in range(1, MAX_DEPTH + 1)})
        actions: dict[Depth, QAction] = {}
        for depth, name in names.items():
            actions[depth] = menu.addAction(name)
            actions[depth].setCheckable(True)
            actions[depth].setData(depth)
            group.addAction(actions[depth])
        group.triggered.connect(lambda action: self.drafting_chosen.emit(action.data()))
        self.draft_again = add_command(menu, tr("Let It Draft Again"))
        self.draft_again.setVisible(False)
        return actions

    def _fill_model(self, menu: QMenu) -> None:
        self.models = add_command(menu, tr("Models…"), "Ctrl+Shift+M")
        self.speed = add_command(menu, tr("Speed…"), "Ctrl+Shift+S")
        self.choose_model = add_command(menu, tr("Model of This Chat…"))
        menu.addSeparator()
        self.load_model = add_command(menu, tr("Load Model"))
        self.unload_model = add_command(menu, tr("Unload Model"))
        self.restart_engine = add_command(menu, tr("Restart Engine"))
        for action in (self.load_model, self.unload_model, self.restart_engine):
            action.setEnabled(False)  # there is no engine yet

    def _fill_window(self, menu: QMenu) -> None:
        self.minimize = add_command(menu, tr("Minimize"), "Ctrl+M")
        self.zoom = add_command(menu, tr("Zoom"))
        menu.addSeparator()
        self.main_window = add_command(menu, tr("Chats"), "Ctrl+1")

    def _fill_help(self, menu: QMenu) -> None:
        self.shortcuts = add_command(menu, tr("Keyboard Shortcuts"), "Ctrl+/")
        self.privacy = add_command(menu, tr("Privacy"))
        self.show_logs = add_command(menu, tr("Show Logs"))
        self.updates = add_command(menu, tr("Check for Updates…"), role=_Role.ApplicationSpecificRole)
        self.updates.setVisible(bool(RELEASES))
        self.about = add_command(menu, tr("About MTPLX"), role=_Role.AboutRole)


class EditMenu(QObject):
    """The Edit menu: its actions go to the focused text field, and are disabled there while the menu is open.

    Attributes:
        find: Find in the shown chat; `find_next` and `find_previous` continue.

    Signals:
        undo_requested: Undo was chosen, and the focused field has nothing to undo.
    """

    undo_requested = Signal()

    def __init__(self, menu: QMenu) -> None:
        super().__init__(menu)
        self._can_undo = False
        self._actions: dict[str, QAction] = {}
        for method, text, key in _EDITS:
            if key is None:
                menu.addSeparator()
                continue
            action = add_command(menu, tr(text), key)
            action.setData(method)
            action.triggered.connect(self._trigger)
            self._actions[method] = action
        menu.addSeparator()
        self.find = add_command(menu, tr("Find in Chat…"), _Key.Find)
        self.find_next = add_command(menu, tr("Find Next"), _Key.FindNext)
        self.find_previous = add_command(menu, tr("Find Previous"), _Key.FindPrevious)
        menu.aboutToShow.connect(self._refresh)
        menu.aboutToHide.connect(self._allow_all)
        QApplication.instance().focusChanged.connect(self._watch)  # type: ignore[union-attr]

    def allow_undo(self, can_undo: bool) -> None:  # noqa: FBT001 - a slot
        """Set whether something outside of text fields, such as a deletion, can be undone."""
        self._can_undo = can_undo

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_undo = isinstance(event, QKeyEvent) and event.matches(_Key.Undo)
        if is_undo and event.type() == QEvent.Type.ShortcutOverride and self._undoes_elsewhere(_field()):
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _watch(self, old: QWidget | None, new: QWidget | None) -> None:
        if old is not None:
            old.removeEventFilter(self)
        if new is not None:
            new.installEventFilter(self)

    def _undoes_elsewhere(self, field: _Field | None) -> bool:
        return self._can_undo and (field is None or (_is_empty(field) and "undo" not in _possible(field)))

    def _refresh(self) -> None:
        field = _field()
        possible = _possible(field)
        if self._undoes_elsewhere(field):
            possible |= {"undo"}
        for method, action in self._actions.items():
            action.setEnabled(method in possible)

    def _allow_all(self) -> None:
        # A disabled action would swallow its shortcut.
        for action in self._actions.values():
            action.setEnabled(True)

    def _trigger(self) -> None:
        action = self.sender()
        if not isinstance(action, QAction):
            return
        field = _field()
        if action.data() == "undo" and self._undoes_elsewhere(field):
            self.undo_requested.emit()
            return
        method = getattr(field or QApplication.focusWidget(), action.data(), None)
        if callable(method):
            method()


def add_command(
    menu: QMenu,
    text: str,
    *keys: QKeySequence.StandardKey | str,
    role: QAction.MenuRole = QAction.MenuRole.NoRole,
) -> QAction:
    """Add an action; the first of `keys` is shown. `role` keeps Qt from guessing its place on a Mac from the title."""
    action = menu.addAction(text)
    action.setMenuRole(role)
    action.setShortcuts([QKeySequence(key) for key in keys])
    return action


def _actions_in(menu: QMenu) -> tuple[QAction, ...]:
    submenus = {sub.menuAction(): sub for sub in menu.findChildren(QMenu)}
    found: list[QAction] = []
    for action in menu.actions():
        if action in submenus:
            found += _actions_in(submenus[action])
        elif not action.isSeparator():
            found.append(action)
    return tuple(found)


def _field() -> _Field | None:
    focused: QWidget | None = QApplication.focusWidget()
    if isinstance(focused, QAbstractSpinBox):
        return focused.lineEdit()
    return focused if isinstance(focused, QLineEdit | QPlainTextEdit | QTextEdit) else None


def _is_empty(field: _Field) -> bool:
    return not field.text() if isinstance(field, QLineEdit) else field.document().isEmpty()


def _possible(field: _Field | None) -> set[str]:
    """Return the edit methods that would have an effect on a field now."""
    if field is None:
        return set()
    writable = not field.isReadOnly()
    if isinstance(field, QLineEdit):
        undo, redo, selected, filled = (
            field.isUndoAvailable(),
            field.isRedoAvailable(),
            field.hasSelectedText(),
            bool(field.text()),
        )
    else:
        document = field.document()
        undo, redo = document.isUndoAvailable(), document.isRedoAvailable()
        selected, filled = field.textCursor().hasSelection(), not document.isEmpty()
    can = {
        "undo": writable and undo,
        "redo": writable and redo,
        "cut": writable and selected,
        "copy": selected,
        "paste": writable and bool(QGuiApplication.clipboard().text()),
        "selectAll": filled,
    }
    return {method for method, possible in can.items() if possible}
