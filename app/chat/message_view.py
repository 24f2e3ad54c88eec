"""One message: the model's answer as formatted text, or the person's own words as they were typed."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from app.chat.code_buttons import CodeButtons
from app.render.decoration import Decoration
from app.render.document import DocumentWriter
from app.render.export import to_html, to_text
from app.render.geometry import Geometry
from app.render.intake import clean
from app.render.markdown_stream import StreamingMarkdown
from app.render.parser import whole
from app.render.plain import write_plain
from app.render.selection import selected_leaves
from app.render.source_map import SourceMap
from app.render.tint import accepted_runs
from app.widgets.fitted_text import FittedText
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.render.style import RenderStyle

_FLUSH_MS = 30
_REFINE_S = 0.008
_BUBBLE_SHARE = 0.8
_BUBBLE_RADIUS = 12
# Less above than below: Qt puts the room between two lines above the line.
_PADDING_X, _ABOVE, _BELOW = 14, 8, 10
# A pasted file would take seconds to lay out; its beginning is shown until all of it is asked for.
_SHOWN_LENGTH = 12_000
_SHOWN_LINES = 200


class AnswerView(FittedText):
    """A model's answer, which may still be growing.

    It is as high as its text and has no scroll bars: it belongs into a layout inside a scroll area.

    Signals:
        link_activated: An http, https or mailto link was chosen; whether it is opened is for the receiver to say.
        height_changed: The height is another one now, in pixels.
    """

    def __init__(self, style: RenderStyle, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Answer")
        self.setAccessibleDescription("Tab goes to the links and to the buttons that copy code")
        self._stream: StreamingMarkdown | None = StreamingMarkdown()
        self._pieces: list[str] = []
        self._flushed = 0
        self._marks: tuple[int, ...] = ()
        self._tinted = False
        self._found: tuple[tuple[int, int], ...] = ()
        self._found_now: int | None = None
        self._mapped = 0  # how much had been written when the highlights were placed
        self._writer = DocumentWriter(self.document(), style)
        self._geometry = Geometry(self.document(), self._writer)
        self._decoration = Decoration(self._writer, self._geometry)
        self._buttons = CodeButtons(self, self._writer, self._geometry)
        self._throttle = Throttle(_FLUSH_MS, self)
        self._throttle.due.connect(self._flush)
        self._refining = QTimer(self)
        self._refining.setInterval(0)
        self._refining.timeout.connect(self._refine_some)
        self.take_colors(style)

    def append(self, text: str) -> None:
        """Add text to the end of a streaming answer; it is shown within a few hundredths of a second.

        Raises:
            RuntimeError: The answer was finished, or set as a whole.
        """
        if self._stream is None:
            raise RuntimeError("this answer is finished")
        self._pieces.append(text)
        self._throttle.request()

    def finish(self) -> None:
        """Show everything that was appended, in its final form."""
        if self._stream is None:
            return
        self._throttle.cancel()
        self._flush()
        self._writer.show(self._stream.finish())
        self._stream = None
        self._written()

    def set_markdown(self, text: str) -> None:
        """Show a whole, finished message in place of what is shown."""
        self._throttle.cancel()
        self._stream = None
        self._pieces = [text]
        self._writer.show(whole(clean(text)))
        self._written()

    def set_marks(self, marks: Sequence[int]) -> None:
        """Take which parts of the source were drafted and accepted: lengths of runs, beginning with not drafted."""
        self._marks = tuple(marks)
        self._place_highlights()

    def set_tinted(self, *, on: bool) -> None:
        """Show, or do not show, what was drafted and accepted."""
        self._tinted = on
        self._place_highlights()

    def show_found(self, found: Sequence[tuple[int, int]], now: int | None) -> None:
        """Show what was searched for: parts of the cleaned source, and which one is looked at."""
        self._found, self._found_now = tuple(found), now
        self._place_highlights()

    def found_box(self) -> QRectF | None:
        """Return where what is looked at stands in the view; None when it is nowhere to be seen."""
        boxes = self._decoration.found_now.boxes()
        return QRectF(boxes[0]) if boxes else None

    def markdown(self) -> str:
        """Return the source, as it was given."""
        return "".join(self._pieces)

    def set_style(self, style: RenderStyle) -> None:
        """Show the same in another look."""
        self._writer.restyle(style)
        self.take_colors(style)
        self._written()

    def content_height(self) -> float:
        """Return the height of the text with what is painted below it."""
        return self._geometry.height()

    def createMimeDataFromSelection(self) -> QMimeData:
        """Return what is selected as text with its list signs, and as HTML without our colours."""
        leaves = selected_leaves(self._writer.written, self.textCursor())
        data = QMimeData()
        data.setText(to_text(leaves))
        data.setHtml(to_html(leaves))
        return data

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint panels, bars and markers behind the text."""
        painter = QPainter(self.viewport())
        self._decoration.paint(painter, QRectF(event.rect()))
        painter.end()
        super().paintEvent(event)

    def laid_out(self) -> None:
        """Put the columns and the buttons where they belong in the new width."""
        self._writer.fit_tables()
        super().laid_out()
        self._buttons.place()

    def showEvent(self, event: QShowEvent) -> None:
        """Find the area in which the view is scrolled."""
        super().showEvent(event)
        self._buttons.follow(self.scroll_area())

    def _flush(self) -> None:
        if self._stream is None:
            return
        text = "".join(self._pieces[self._flushed :])
        self._flushed = len(self._pieces)
        self._writer.apply(self._stream.feed(text))
        self._written()

    def _written(self) -> None:
        """Do what every change of the document asks for."""
        self._buttons.sync()
        self._refine_some()

    def _place_highlights(self) -> None:
        """Find where the parts of the source stand that have a colour behind them."""
        shown = self._decoration
        marks = self._marks if self._tinted and self._stream is None else ()
        if not (marks or self._found or shown.accepted or shown.found or shown.found_now):
            return
        source = self.markdown()
        mapping = SourceMap(clean(source), [each.leaf for each in self._writer.written])
        shown.accepted.set(place for run in accepted_runs(source, marks) for place in mapping.places(*run))
        shown.found.set(place for run in self._found for place in mapping.places(*run))
        now = () if self._found_now is None else mapping.places(*self._found[self._found_now])
        shown.found_now.set(now)
        self._mapped = self._writer.leaves_written
        self.viewport().update()

    def _refine_some(self) -> None:
        """Set formulas and colour code for a moment; what is left waits until events had their turn."""
        end = time.monotonic() + _REFINE_S
        left = self._writer.refine(lambda: time.monotonic() < end)
        if self._mapped != self._writer.leaves_written:
            self._place_highlights()
        self.fit()
        self._buttons.place()
        if left != self._refining.isActive():
            self._refining.start() if left else self._refining.stop()
        self.viewport().update()


class UserBubble(QWidget):
    """The person's message as it was typed, in a bubble on the right of the row that the widget fills."""

    def __init__(self, text: str, style: RenderStyle, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._style = style
        self._text = text
        self._all = False
        self._view = FittedText(self)
        self._view.setAccessibleName("Your message")
        self._more = QPushButton(self)
        self._more.setObjectName("quiet")
        self._more.clicked.connect(self._show_all)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._write()

    def text(self) -> str:
        """Return the message."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show another message."""
        self._text = text
        self._all = False
        self._write()

    def set_style(self, style: RenderStyle) -> None:
        """Show the same in another look."""
        self._style = style
        self._write()

    def bubble(self) -> QRectF:
        """Return the bubble's place in the widget."""
        below = self._more.height() if self._more.isVisibleTo(self) else 0
        return QRectF(self._view.geometry()).adjusted(-_PADDING_X, -_ABOVE, _PADDING_X, _BELOW + below)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the bubble behind the text."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._style.bubble))
        painter.drawRoundedRect(self.bubble(), _BUBBLE_RADIUS, _BUBBLE_RADIUS)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the bubble to the new width."""
        super().resizeEvent(event)
        self._arrange()

    def _write(self) -> None:
        text = clean(self._text)
        shown = text if self._all else _beginning(text)
        write_plain(self._view.document(), shown, self._style)
        self._view.take_colors(self._style)
        self._more.setText(f"Show all {_length_of(text)}")
        self._more.setVisible(len(shown) < len(text))
        self._arrange()

    def _show_all(self) -> None:
        self._all = True
        self._write()

    def _arrange(self) -> None:
        """Make the text as narrow as its longest line, at most the bubble's share of the row."""
        most = max(1, round(self.width() * _BUBBLE_SHARE) - 2 * _PADDING_X)
        document = self._view.document()
        document.setTextWidth(most)
        is_cut = self._more.isVisibleTo(self)
        wanted = most if is_cut else min(most, math.ceil(document.idealWidth()) + 1)
        document.setTextWidth(wanted)
        self._view.setFixedWidth(wanted)
        self._view.fit()
        self._view.move(self.width() - _PADDING_X - wanted, _ABOVE)
        self._more.adjustSize()
        self._more.move(self._view.x() - 8, self._view.geometry().bottom() + 4)
        self.setFixedHeight(round(self.bubble().height()))
        self.update()


def _length_of(text: str) -> str:
    """Say how long a text is: in lines, unless it is few and long ones."""
    lines = text.count("\n") + 1
    return f"{lines:,} lines" if lines > _SHOWN_LINES else f"{len(text):,} characters"


def _beginning(text: str) -> str:
    """Return what is shown of a long text at first: whole lines where there are any."""
    if len(text) <= _SHOWN_LENGTH and text.count("\n") < _SHOWN_LINES:
        return text
    return "\n".join(text[:_SHOWN_LENGTH].split("\n")[:_SHOWN_LINES])
