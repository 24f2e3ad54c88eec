"""The menu bar: every command of the program, with its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu, QMenuBar

from mtplx_engine.config import MAX_DEPTH

if TYPE_CHECKING:
    from mtplx_engine.config import Depth
    from mtplx_engine.protocol import ModelInfo

_Key = QKeySequence.StandardKey
# name of the text field's own method, what the menu calls it, its key
_EDITS = (
    ("undo", "Undo", _Key.Undo),
    ("redo", "Redo", _Key.Redo),
    ("", "", None),
    ("cut", "Cut", _Key.Cut),
    ("copy", "Copy", _Key.Copy),
    ("paste", "Paste", _Key.Paste),
    ("selectAll", "Select All", _Key.SelectAll),
)


class Menus(QObject):
    """The commands. Whoever creates the bar connects them.

    Attributes:
        chat: The menu about the chat; the header shows it too, and `model` as well.

    Signals:
        drafting_chosen: A draft depth, "auto" or 0..8, for the next answers.
    """

    drafting_chosen = Signal(object)

    def __init__(self, bar: QMenuBar) -> None:
        super().__init__(bar)
        self._bar = bar
        file = bar.addMenu("File")
        self.new_chat = _add(file, "New Chat", "Ctrl+N")
        self.close_window = _add(file, "Close Window", "Ctrl+W")
        file.addSeparator()
        self.quit = _add(file, "Quit MTPLX", "Ctrl+Q", role=QAction.MenuRole.QuitRole)
        self._fill_edit(bar.addMenu("Edit"))
        view = bar.addMenu("View")
        self.sidebar = _add(view, "Show Sidebar", "Ctrl+Alt+S")
        self.sidebar.setCheckable(True)
        self.inspector = _add(view, "Show Inspector", "Ctrl+Alt+I")
        self.inspector.setCheckable(True)
        self.focus_message = _add(view, "Go to Message Field", "Ctrl+L")
        self.chat = bar.addMenu("Chat")
        self.stop = _add(self.chat, "Stop", "Ctrl+.", "Esc")
        self.stop.setEnabled(False)
        self.copy_answer = _add(self.chat, "Copy Answer", "Ctrl+Shift+C")
        self.chat.addSeparator()
        self.delete_chat = _add(self.chat, "Delete Chat")
        self.model = bar.addMenu("Model")
        self._depths = self._fill_model(self.model)
        self.restart_engine = _add(self.model, "Restart Engine")
        help_menu = bar.addMenu("Help")
        self.show_logs = _add(help_menu, "Show Logs")
        self.about = _add(help_menu, "About MTPLX", role=QAction.MenuRole.AboutRole)

    def drafting_action(self, depth: Depth) -> QAction:
        """Return the command that chooses a draft depth."""
        return self._depths[depth]

    def allow_drafting(self, model: ModelInfo) -> None:
        """Offer what the loaded model can do: without a drafter there is nothing to choose."""
        for depth, action in self._depths.items():
            action.setEnabled(model.drafter != "none" or depth == 0)

    def _fill_edit(self, menu: QMenu) -> None:
        for method, text, key in _EDITS:
            if key is None:
                menu.addSeparator()
            else:
                action = _add(menu, text, key)
                action.setData(method)
                action.triggered.connect(self._edit)

    def _edit(self) -> None:
        """Do to the field that has the focus what the menu says."""
        action = self.sender()
        if isinstance(action, QAction):
            method = getattr(QApplication.focusWidget(), action.data(), None)
            if callable(method):
                method()

    def _fill_model(self, menu: QMenu) -> dict[Depth, QAction]:
        drafting = menu.addMenu("Drafting")
        drafting.addAction("From the next answer on").setEnabled(False)
        drafting.addSeparator()
        group = QActionGroup(self)
        names: dict[Depth, str] = {"auto": "Automatic", 0: "Off"}
        names.update({depth: f"Depth {depth}" for depth in range(1, MAX_DEPTH + 1)})
        actions: dict[Depth, QAction] = {}
        for depth, name in names.items():
            actions[depth] = drafting.addAction(name)
            actions[depth].setCheckable(True)
            actions[depth].setData(depth)
            group.addAction(actions[depth])
        group.triggered.connect(lambda action: self.drafting_chosen.emit(action.data()))
        return actions


def _add(
    menu: QMenu,
    text: str,
    *keys: QKeySequence.StandardKey | str,
    role: QAction.MenuRole = QAction.MenuRole.NoRole,
) -> QAction:
    action = menu.addAction(text)
    action.setMenuRole(role)
    action.setShortcuts([QKeySequence(key) for key in keys])
    return action
