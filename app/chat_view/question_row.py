"""The row of a question: the user's message in a bubble, or the editor in its place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent, QTextCharFormat
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QTextEdit, QWidget

from app.chat.generation import RowAction, RowState
from app.chat_view.attachments import AttachmentChips
from app.chat_view.message_editor import EditedMessage, MessageEditor
from app.chat_view.message_row import MessageRow, RowFooter
from app.i18n import tr
from app.render.document import text_chunks
from app.render.markdown import sanitize
from app.render.plain_text import append_plain, selection_of, write_plain
from app.render.style import Formats
from app.theme import SPACE_S
from app.widgets.fitted_text import FittedText
from app.widgets.layouts import hbox

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtGui import QTextDocument

    from app.chat.conversation import Message
    from app.render.style import RenderStyle
    from app.storage.settings import SendKey
    from app.theme import Theme


_ACTIONS = (RowAction.EDIT, RowAction.COPY, RowAction.DELETE)


class QuestionRow(MessageRow):
    """A user's message; an editor takes its place while it is edited.

    Signals:
        edited(str, EditedMessage): The message with this id is to be sent with other text and files.
        editing_ended: The editor has closed, and nothing has the keyboard focus.
    """

    edited = Signal(str, object)
    editing_ended = Signal()

    def __init__(self, theme: Theme, message: Message, parent: QWidget | None = None) -> None:
        super().__init__(theme, message, parent)
        self.editor: MessageEditor | None = None
        self.boundary = self._boundary_line()
        self.files = AttachmentChips(theme, self, right=True)
        self.files.set_attachments(message.attachments)
        self.bubble = UserBubble(message.text, theme.render_style(), self)
        self.footer = RowFooter(theme, _ACTIONS, _labels(), self, right=True)
        self.footer.chosen.connect(self._choose)
        for widget in (self.boundary, self.files, self.bubble, self.footer):
            self._layout.addWidget(widget)
        self.bubble.setVisible(bool(message.text))
        theme.restyling.add(self._restyle)

    def set_state(self, state: RowState) -> None:
        super().set_state(state)
        self.boundary.setVisible(state.boundary)

    @property
    def said(self) -> EditedMessage:
        """Text and files of the message as it was sent."""
        return EditedMessage(self.message.text, self.message.attachments)

    @property
    def unsent(self) -> EditedMessage | None:
        """The edited message; None when it is not being edited, or not changed."""
        written = self.editor.written if self.editor is not None else self.said
        return None if written == self.said else written

    def edit(self, send_key: SendKey, written: EditedMessage) -> None:
        """Replace the message by an editor, unless there is one already."""
        if self.editor is not None:
            return
        self.editor = MessageEditor(self._theme, written, self)
        self.editor.edit.send_key = send_key
        self.editor.submitted.connect(lambda written: self.edited.emit(self.message.id, written))
        self.editor.cancelled.connect(self.stop_editing)
        self._layout.insertWidget(self._layout.indexOf(self.footer), self.editor)
        self.files.hide()
        self.bubble.hide()
        self.footer.hide()
        self.editor.show()

    def stop_editing(self) -> None:
        if self.editor is not None:
            self._layout.removeWidget(self.editor)
            self.editor.hide()
            self.editor.deleteLater()
            self.editor = None
            self.files.setVisible(bool(self.message.attachments))
            self.bubble.setVisible(bool(self.message.text))
            self.footer.show()
            self.editing_ended.emit()

    def _boundary_line(self) -> QWidget:
        line = QWidget(self)
        label = QLabel(tr("The model does not read what is above"), line)
        label.setProperty("tone", "secondary")
        read_all = QPushButton(tr("Read everything"), line)
        read_all.setObjectName("quiet")
        read_all.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        read_all.clicked.connect(lambda: self.chosen.emit(RowAction.READ_ALL, self.message.id))
        hbox(1, label, read_all, 1, parent=line, margins=(0, 0, 0, SPACE_S))
        line.hide()
        return line

    def _restyle(self) -> None:
        self.bubble.set_style(self._theme.render_style())


def _labels() -> dict[RowAction, str]:
    return {
        RowAction.EDIT: tr("Edit message"),
        RowAction.COPY: tr("Copy message"),
        RowAction.DELETE: tr("Delete message and what follows"),
    }


_BUBBLE_SHARE = 0.8
_BUBBLE_RADIUS = 12
# Less above than below: Qt adds the line spacing above a line.
_PADDING_X, _PADDING_TOP, _PADDING_BOTTOM = 14, 8, 10
# A pasted file would take seconds to lay out; only its first part is shown until the user asks for the rest.
_SHOWN_LENGTH = 12_000
_SHOWN_LINES = 200


class UserBubble(QWidget):
    """The text of a message as it was typed, in a bubble at the right of the row that the widget fills."""

    def __init__(self, text: str, style: RenderStyle, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._style = style
        self._text = text
        self._all = False
        self._shown = ""
        self._found: tuple[tuple[int, int], ...] = ()
        self._found_now: int | None = None
        self._view = FittedText(self)
        self._view.setAccessibleName(tr("Your message"))
        self._more = QPushButton(self)
        self._more.setObjectName("quiet")
        self._more.clicked.connect(self._show_all)
        self._rest: Iterator[str] = iter(())
        self._writing = QTimer(self, interval=0)
        self._writing.timeout.connect(self._write_more)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._write()

    def text(self) -> str:
        return self._text

    def set_text(self, text: str) -> None:
        self._text = text
        self._all = False
        self._found, self._found_now = (), None
        self._write()

    def set_style(self, style: RenderStyle) -> None:
        self._style = style
        self._write()

    def show_found(self, found: Sequence[tuple[int, int]], now: int | None) -> None:
        """Highlight matches, which are ranges of the sanitized text; `now` is the index of the current one."""
        self._found, self._found_now = tuple(found), now
        hidden = len(self._shown)
        if now is not None and self._found[now][1] > hidden:
            self._show_all()
        else:
            self._select_found()

    def found_box(self) -> QRectF | None:
        """Return the box of the current match in the widget; None when it is not visible."""
        if self._found_now is None:
            return None
        cursor = selection_of(self._view.document(), self._shown, *self._found[self._found_now])
        return QRectF(self._view.cursorRect(cursor)).translated(QPointF(self._view.pos()))

    def _select_found(self) -> None:
        selections = []
        for number, (start, end) in enumerate(self._found):
            if end > len(self._shown):
                break
            is_now = number == self._found_now
            color = QColor(self._style.found_now if is_now else self._style.found)
            selection: Any = QTextEdit.ExtraSelection()  # its attributes are missing in the stubs
            selection.cursor = selection_of(self._view.document(), self._shown, start, end)
            selection.format = QTextCharFormat()
            selection.format.setBackground(color)
            if is_now:  # so that it differs by more than a shade
                selection.format.setFontUnderline(True)
                selection.format.setUnderlineColor(QColor(color.rgb()))
            selections.append(selection)
        self._view.setExtraSelections(selections)

    def bubble(self) -> QRectF:
        below = self._more.height() if self._more.isVisibleTo(self) else 0
        return QRectF(self._view.geometry()).adjusted(-_PADDING_X, -_PADDING_TOP, _PADDING_X, _PADDING_BOTTOM + below)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._style.bubble))
        painter.drawRoundedRect(self.bubble(), _BUBBLE_RADIUS, _BUBBLE_RADIUS)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _write(self) -> None:
        text = sanitize(self._text)
        self._shown = shown = _first_part(text)
        self._writing.stop()
        write_plain(self._view.document(), shown, self._style)
        self._select_found()
        self._view.take_colors(self._style)
        self._more.setText(tr("Show all {length}").format(length=_length_of(text)))
        self._more.setVisible(len(shown) < len(text))
        self._arrange()
        if self._all:
            self._show_all()

    def _show_all(self) -> None:
        """Show the hidden rest, in chunks when it is long."""
        self._all = True
        self._more.hide()
        self._rest = text_chunks(sanitize(self._text)[len(self._shown) :])
        self._writing.start()
        self._write_more()

    def _write_more(self) -> None:
        piece = next(self._rest, None)
        if piece is None:
            self._writing.stop()
            self._select_found()
            return
        self._shown += piece
        append_plain(self._view.document(), piece, Formats(self._style))
        self._arrange()

    def _arrange(self) -> None:
        """Make the bubble as wide as its longest line, up to its share of the row."""
        most = max(1, round(self.width() * _BUBBLE_SHARE) - 2 * _PADDING_X)
        _set_width(self._view.document(), most)
        # A long text keeps its width while the rest is written: another width would lay all of it out again.
        is_long = len(self._text) > _SHOWN_LENGTH or self._text.count("\n") >= _SHOWN_LINES
        wanted = most if is_long else min(most, math.ceil(self._view.document().idealWidth()) + 1)
        _set_width(self._view.document(), wanted)
        self._view.setFixedWidth(wanted)
        self._view.fit()
        self._view.move(self.width() - _PADDING_X - wanted, _PADDING_TOP)
        self._more.adjustSize()
        self._more.move(self._view.x() - 8, self._view.geometry().bottom() + 4)
        self.setFixedHeight(round(self.bubble().height()))
        self.update()


def _set_width(document: QTextDocument, width: int) -> None:
    if document.textWidth() != width:  # Qt lays everything out again, whatever the width was
        document.setTextWidth(width)


def _length_of(text: str) -> str:
    """Return the length of a text in words: in lines, or in characters when there are few lines."""
    lines = text.count("\n") + 1
    if lines > _SHOWN_LINES:
        return tr("{count} lines").format(count=f"{lines:,}")
    return tr("{count} characters").format(count=f"{len(text):,}")


def _first_part(text: str) -> str:
    if len(text) <= _SHOWN_LENGTH and text.count("\n") < _SHOWN_LINES:
        return text
    return "\n".join(text[:_SHOWN_LENGTH].split("\n")[:_SHOWN_LINES])
