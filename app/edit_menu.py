"""The Edit menu: what it says is done by the field that has the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QPlainTextEdit, QTextEdit

from app.command import add_command
from app.translate import marked, tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu, QWidget

_Key = QKeySequence.StandardKey
# name of the field's own method, what the menu calls it, its key
_EDITS = (
    ("undo", marked("Undo"), _Key.Undo),
    ("redo", marked("Redo"), _Key.Redo),
    ("", "", None),
    ("cut", marked("Cut"), _Key.Cut),
    ("copy", marked("Copy"), _Key.Copy),
    ("paste", marked("Paste"), _Key.Paste),
    ("selectAll", marked("Select All"), _Key.SelectAll),
)


class EditMenu(QObject):
    """Fills the menu. While it is open, only what can be done is offered.

    Attributes:
        find: Find in the chat that is shown; `find_next` and `find_previous` go on with it.
        can_undo: Whether something else than a field has anything to undo.

    Signals:
        undo_requested: Undo was chosen, and what has the focus is no field.
    """

    undo_requested = Signal()

    def __init__(self, menu: QMenu) -> None:
        super().__init__(menu)
        self.can_undo = False
        self._actions: dict[str, QAction] = {}
        for method, text, key in _EDITS:
            if key is None:
                menu.addSeparator()
                continue
            action = add_command(menu, tr(text), key)
            action.setData(method)
            action.triggered.connect(self._do)
            self._actions[method] = action
        menu.addSeparator()
        self.find = add_command(menu, tr("Find in Chat…"), _Key.Find)
        self.find_next = add_command(menu, tr("Find Next"), _Key.FindNext)
        self.find_previous = add_command(menu, tr("Find Previous"), _Key.FindPrevious)
        menu.aboutToShow.connect(self._refresh)
        menu.aboutToHide.connect(self._allow_all)

    def _refresh(self) -> None:
        possible = _possible(_field())
        if self.can_undo and _field() is None:
            possible |= {"undo"}
        for method, action in self._actions.items():
            action.setEnabled(method in possible)

    def _allow_all(self) -> None:
        """Let the keys through to whatever has the focus by then."""
        for action in self._actions.values():
            action.setEnabled(True)

    def _do(self) -> None:
        action = self.sender()
        if not isinstance(action, QAction):
            return
        method = getattr(_field() or QApplication.focusWidget(), action.data(), None)
        if callable(method):
            method()
        elif action.data() == "undo":
            self.undo_requested.emit()


def _field() -> QLineEdit | QPlainTextEdit | QTextEdit | None:
    """Return the field that has the focus."""
    focused: QWidget | None = QApplication.focusWidget()
    if isinstance(focused, QAbstractSpinBox):
        return focused.lineEdit()
    return focused if isinstance(focused, QLineEdit | QPlainTextEdit | QTextEdit) else None


def _possible(field: QLineEdit | QPlainTextEdit | QTextEdit | None) -> set[str]:
    """Return the methods of a field that would do something now."""
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
