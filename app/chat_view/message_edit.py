"""The field in which messages are typed: keys, input methods, pasting, height."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QMimeData, QTimer, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QInputMethodEvent, QKeyEvent, QResizeEvent, Qt, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy

from app.chat_view.attachments import local_files
from app.i18n import marked, tr
from app.storage.settings import SendKey
from app.stylesheet import restyle

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


_MAX_LINES = 8
_PAGE_STEPS: dict[int, int] = {Qt.Key.Key_PageUp: -1, Qt.Key.Key_PageDown: 1}
# Qt lays out a run of 300,000 characters without a space in seconds, unless it may break it anywhere, and takes half
# as long for one of a million where it need not look for pairs of characters that belong closer together.
_LONG_RUN = 4096
_SPACE = re.compile(r"\s")
_PLACEHOLDER = marked("Message")


class MessageEdit(QPlainTextEdit):
    """A plain text field that is as high as its text, up to eight lines.

    Attributes:
        longest_paste: Characters; a longer text is offered, not pasted. None where nothing receives it.

    Signals:
        submitted: The send key was pressed, and no input method was composing.
        files_offered(list[Path]): Files were pasted or dropped.
        page_requested(int): The area around is to scroll a page down, or with -1 up: the field itself has one page.
    """

    submitted = Signal()
    files_offered = Signal(object)
    image_offered = Signal()
    page_requested = Signal(int)
    long_text_offered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.send_key = SendKey.RETURN
        self.longest_paste: int | None = None
        self._composing = False
        self._just_composed = False
        self._long_runs = False
        self.setObjectName("message")
        self.setPlaceholderText(tr(_PLACEHOLDER))
        self.setAccessibleName(tr(_PLACEHOLDER))
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(0)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Always there, so that a text which becomes longer than the field is not laid out twice; seen when of use.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.verticalScrollBar().setEnabled(False)
        self.verticalScrollBar().rangeChanged.connect(self._range_changed)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.textChanged.connect(self._fit)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        page = _PAGE_STEPS.get(event.key())
        if page and not event.modifiers() and not self.verticalScrollBar().isEnabled():
            self.page_requested.emit(page)
            return
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        with_control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if not is_return or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().keyPressEvent(event)
        elif with_control is not (self.send_key is SendKey.CTRL_RETURN):
            self.textCursor().insertBlock()
            self.ensureCursorVisible()
        elif not self._composing and not self._just_composed:
            self.submitted.emit()

    def event(self, event: QEvent) -> bool:
        """Keep Escape from the menus while an input method is composing: it must not stop an answer then."""
        is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if is_escape and event.type() == QEvent.Type.ShortcutOverride and self._composing:
            event.accept()
            return True
        return super().event(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        was_composing, self._composing = self._composing, bool(event.preeditString())
        if was_composing and not self._composing:
            self._just_composed = True
            QTimer.singleShot(0, self, self._composition_over)
        # Qt would paint it below the composed text.
        self.setPlaceholderText("" if self._composing else tr(_PLACEHOLDER))
        super().inputMethodEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        files = local_files(source)
        if files:
            self.files_offered.emit(files)
            return
        if source.hasImage() and not source.hasText():
            self.image_offered.emit()
            return
        text = source.text()
        if self.longest_paste is not None and len(text) > self.longest_paste:
            self.long_text_offered.emit(text)
            return
        if _has_long_run(text):
            self._allow_long_runs(on=True)
        super().insertFromMimeData(source)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(local_files(source)) or source.hasImage() or super().canInsertFromMimeData(source)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    @property
    def composing(self) -> bool:
        """Whether an input method has a composition open."""
        return self._composing

    def set_text(self, text: str) -> None:
        is_long = _has_long_run(text)
        if is_long:
            self._allow_long_runs(on=True)
        self.setPlainText(text)
        if not is_long:  # not before: the old text would be laid out once more, in the slow way
            self._allow_long_runs(on=False)
        cursor = self.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.setTextCursor(cursor)

    def is_blank(self) -> bool:
        """Return whether the text has only spaces; reads no further than the first line that has more."""
        block = self.document().begin()
        while block.isValid() and not block.text().strip():
            block = block.next()
        return not block.isValid()

    def _allow_long_runs(self, *, on: bool) -> None:
        """Turn on a layout that is quick for text with long runs, or the usual one."""
        if on is self._long_runs:
            return
        self._long_runs = on
        modes = QTextOption.WrapMode
        self.setWordWrapMode(modes.WrapAnywhere if on else modes.WrapAtWordBoundaryOrAnywhere)
        font = QFont()  # sets neither family nor size
        if on:
            font.setKerning(False)
            font.setStyleStrategy(QFont.StyleStrategy.PreferNoShaping)
        self.setFont(font)

    def _composition_over(self) -> None:
        self._just_composed = False

    def _range_changed(self, _minimum: int, maximum: int) -> None:
        self.verticalScrollBar().setEnabled(maximum > 0)

    def _fit(self) -> None:
        # A plain text document measures its height in lines.
        lines = min(max(round(self.document().size().height()), 1), _MAX_LINES)
        self.setFixedHeight(round(lines * QFontMetricsF(self.font()).lineSpacing()) + 2)


def _has_long_run(text: str) -> bool:
    starts = range(0, len(text) - _LONG_RUN + 1, _LONG_RUN)
    return not all(_SPACE.search(text, start, start + _LONG_RUN) for start in starts)


def outline(frame: QWidget, event: QEvent) -> None:
    """Outline the frame around a field while the field has the focus; `event` is one of the field's."""
    if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
        frame.setProperty("focused", event.type() == QEvent.Type.FocusIn)
        restyle(frame)
