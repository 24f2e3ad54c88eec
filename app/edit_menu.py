"""The Edit menu: what it says is done by the field that has the focus; an empty one leaves Undo to the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QPlainTextEdit, QTextEdit

from app.command import add_command
from app.translate import marked, tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu, QWidget

_Key = QKeySequence.StandardKey
_Field = QLineEdit | QPlainTextEdit | QTextEdit
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

    Signals:
        undo_requested: Undo was chosen, and no field with anything of its own to undo has the focus.
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
            action.triggered.connect(self._do)
            self._actions[method] = action
        menu.addSeparator()
        self.find = add_command(menu, tr("Find in Chat…"), _Key.Find)
        self.find_next = add_command(menu, tr("Find Next"), _Key.FindNext)
        self.find_previous = add_command(menu, tr("Find Previous"), _Key.FindPrevious)
        menu.aboutToShow.connect(self._refresh)
        menu.aboutToHide.connect(self._allow_all)
        QApplication.instance().focusChanged.connect(self._watch)  # type: ignore[union-attr]

    def allow_undo(self, can_undo: bool) -> None:  # noqa: FBT001 - a slot
        """Note whether something else than a field has anything to undo."""
        self._can_undo = can_undo

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the key of Undo through to the menu where the field that has the focus would swallow it."""
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
        """Whether Undo is about what was deleted, not about what was typed."""
        return self._can_undo and (field is None or (_is_empty(field) and "undo" not in _possible(field)))

    def _refresh(self) -> None:
        field = _field()
        possible = _possible(field)
        if self._undoes_elsewhere(field):
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
        field = _field()
        if action.data() == "undo" and self._undoes_elsewhere(field):
            self.undo_requested.emit()
            return
        method = getattr(field or QApplication.focusWidget(), action.data(), None)
        if callable(method):
            method()


def _field() -> _Field | None:
    """Return the field that has the focus."""
    focused: QWidget | None = QApplication.focusWidget()
    if isinstance(focused, QAbstractSpinBox):
        return focused.lineEdit()
    return focused if isinstance(focused, QLineEdit | QPlainTextEdit | QTextEdit) else None


def _is_empty(field: _Field) -> bool:
    return not field.text() if isinstance(field, QLineEdit) else field.document().isEmpty()


def _possible(field: _Field | None) -> set[str]:
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
