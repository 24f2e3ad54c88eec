"""The menu bar: every command of the program, with its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar

from app import releases
from app.command import add_command
from app.edit_menu import EditMenu
from app.translate import tr
from mtplx_engine.config import MAX_DEPTH

if TYPE_CHECKING:
    from mtplx_engine.config import Depth
    from mtplx_engine.protocol import ModelInfo

_Key = QKeySequence.StandardKey
_Role = QAction.MenuRole


class Menus(QObject):
    """The commands. Whoever creates the bar connects them, and says when each of them can act.

    Attributes:
        edit: The Edit menu.
        chat: The menu about the chat; the header shows it too, and `model` as well.

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
        """Return the command that chooses a draft depth."""
        return self._depths[depth]

    def allow_drafting(self, model: ModelInfo) -> None:
        """Offer what the loaded model can do: without a drafter there is nothing to choose."""
        for depth, action in self._depths.items():
            action.setEnabled(model.drafter != "none" or depth == 0)

    def judge_drafting(self, words: str) -> None:
        """Say why drafting is off by itself for the loaded model, "" when it is not, and offer the way back."""
        automatic = tr("Automatic")
        self._depths["auto"].setText(f"{automatic} – {words}" if words else automatic)
        self.draft_again.setVisible(bool(words))

    def commands(self) -> tuple[tuple[str, tuple[QAction, ...]], ...]:
        """Return the menus by name, each with its commands and those of its submenus."""
        menus = {menu.title(): menu for menu in self._bar.findChildren(QMenu) if menu.parent() is self._bar}
        return tuple((action.text(), _within(menus[action.text()])) for action in self._bar.actions())

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
        self.updates.setVisible(bool(releases.PAGE))
        self.about = add_command(menu, tr("About MTPLX"), role=_Role.AboutRole)


def _within(menu: QMenu) -> tuple[QAction, ...]:
    """Return the commands of a menu and of the menus in it."""
    submenus = {sub.menuAction(): sub for sub in menu.findChildren(QMenu)}
    found: list[QAction] = []
    for action in menu.actions():
        if action in submenus:
            found += _within(submenus[action])
        elif not action.isSeparator():
            found.append(action)
    return tuple(found)
