"""The view of an answer: a rendered document as high as its text, which may still be streaming."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QObject, QPoint, QRect, QRectF, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QShowEvent, QWheelEvent

from app.chat_view.code_buttons import CodeButtons, sideways_bar
from app.i18n import tr
from app.render.decoration import Decoration
from app.render.document import DocumentWriter, chunks
from app.render.export import selected_leaves, to_html, to_text
from app.render.layout import Geometry
from app.render.markdown import parse_markdown, sanitize
from app.render.markdown_stream import StreamingMarkdown
from app.render.source_map import SourceMap, accepted_spans
from app.widgets.fitted_text import FittedText
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtWidgets import QScrollBar, QTextBrowser, QWidget

    from app.render.document import PlacedBlock
    from app.render.markdown_stream import Update
    from app.render.style import RenderStyle


_FLUSH_MS = 30
_REFINE_S = 0.008


class AnswerView(FittedText):
    """A model's answer, which may still be streaming.

    It is as high as its text and has no scroll bars: it belongs into a layout inside a scroll area. Work is done in
    slices of a few milliseconds, so that events are handled in between: pieces that stream are collected by a throttle,
    a long finished answer is written in chunks, and formulas and the colours of code follow when there is time.

    Signals:
        link_activated(QUrl): An http, https or mailto link was chosen; the receiver decides whether it is opened.
    """

    def __init__(self, style: RenderStyle, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Answer"))
        self.setAccessibleDescription(tr("Tab goes to the links and to the buttons that copy code"))
        self._stream: StreamingMarkdown | None = StreamingMarkdown()
        self._pieces: list[str] = []
        self._flushed = 0
        self._marks: tuple[int, ...] = ()
        self._tinted = False
        self._found: tuple[tuple[int, int], ...] = ()
        self._found_now: int | None = None
        self._source_map: SourceMap | None = None
        self._mapped = 0  # `leaves_written` when the source map was made
        self._writer = DocumentWriter(self.document(), style)
        self._geometry = Geometry(self.document(), self._writer)
        self._decoration = Decoration(self._writer, self._geometry)
        self._buttons = CodeButtons(self, self._writer, self._geometry)
        self._buttons.wrapped.connect(self.laid_out)
        self._tables = TableBars(self, self._writer, self._geometry)
        self._throttle = Throttle(_FLUSH_MS, self)
        self._throttle.due.connect(self._flush)
        self._refining = QTimer(self, interval=0)
        self._refining.timeout.connect(self._refine_some)
        self._chunks: Iterator[Update] = iter(())
        self._writing = QTimer(self, interval=0)
        self._writing.timeout.connect(self._write_chunk)
        self.take_colors(style)

    def append(self, text: str) -> None:
        """Append text to a streaming answer; it is shown within a few hundredths of a second.

        Raises:
            RuntimeError: The answer is finished, or was set as a whole.
        """
        if self._stream is None:
            raise RuntimeError("this answer is finished")
        self._pieces.append(text)
        self._throttle.request()

    def finish(self) -> None:
        if self._stream is None:
            return
        self._throttle.cancel()
        self._flush()
        self._writer.show(self._stream.finish())
        self._stream = None
        self._written()

    def set_markdown(self, text: str) -> None:
        """Replace the answer by a finished one."""
        self._throttle.cancel()
        self._stream = None
        self._pieces = [text]
        self._writer.show(())
        self._chunks = chunks(parse_markdown(sanitize(text)))
        self._write_chunk()

    def set_marks(self, marks: Sequence[int]) -> None:
        """Set which text was drafted and accepted, as lengths of ranges that are in turn not accepted and accepted."""
        self._marks = tuple(marks)
        self._place_highlights()

    def set_tinted(self, *, on: bool) -> None:
        """Highlight the text that was drafted and accepted, or do not."""
        self._tinted = on
        self._place_highlights()

    def show_found(self, found: Sequence[tuple[int, int]], now: int | None) -> None:
        """Highlight matches, which are ranges of the sanitized source; `now` is the index of the current one."""
        self._found, self._found_now = tuple(found), now
        self._place_highlights()

    def found_box(self) -> QRectF | None:
        """Return the box of the current match in the view; None when it is not visible."""
        boxes = self._decoration.found_now.boxes()
        return QRectF(boxes[0]) if boxes else None

    def markdown(self) -> str:
        """Return the source, as it was appended or set."""
        return "".join(self._pieces)

    def set_style(self, style: RenderStyle) -> None:
        self._writer.restyle(style)
        self.take_colors(style)
        self._written()

    def content_height(self) -> float:
        """Return the height of the document, with the panel below its last line."""
        return self._geometry.height()

    def createMimeDataFromSelection(self) -> QMimeData:
        leaves = selected_leaves(self._writer.placed, self.textCursor())
        data = QMimeData()
        data.setText(to_text(leaves))
        data.setHtml(to_html(leaves))
        return data

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        self._decoration.paint(painter, QRectF(event.rect()))
        painter.end()
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        self._decoration.cover(painter, QRectF(event.rect()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        sideways = event.pixelDelta().x() or event.angleDelta().x() // 2
        point = event.position().toPoint()
        is_sideways = abs(event.angleDelta().x()) > abs(event.angleDelta().y())
        scrollers = (self._buttons, self._tables)
        if not (is_sideways and any(each.move_sideways(point, -sideways) for each in scrollers)):
            super().wheelEvent(event)

    def laid_out(self) -> None:
        self._writer.fit_tables()
        super().laid_out()
        self._buttons.place()
        self._tables.place()

    def showEvent(self, event: QShowEvent) -> None:
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
        self._buttons.sync()
        self._refine_some()

    def _write_chunk(self) -> None:
        """Write the next chunk of a long answer; the others follow after other events."""
        update = next(self._chunks, None)
        if update is not None:
            self._writer.apply(update)
        if (update is not None) != self._writing.isActive():
            self._writing.start() if update is not None else self._writing.stop()
        self._written()

    def _place_highlights(self) -> None:
        shown = self._decoration
        marks = self._marks if self._tinted and self._stream is None else ()
        if not (marks or self._found or shown.accepted or shown.found or shown.found_now):
            return
        source = self.markdown()
        if self._source_map is None or self._mapped != self._writer.leaves_written:
            self._source_map = SourceMap(sanitize(source), [each.leaf for each in self._writer.placed])
            self._mapped = self._writer.leaves_written
        source_map = self._source_map
        shown.accepted.set(span for run in accepted_spans(source, marks) for span in source_map.spans(*run))
        shown.found.set(span for run in self._found for span in source_map.spans(*run))
        now = () if self._found_now is None else source_map.spans(*self._found[self._found_now])
        shown.found_now.set(now)
        self.viewport().update()

    def _refine_some(self) -> None:
        """Typeset formulas and colour code for some milliseconds; the rest follows after other events."""
        end = time.monotonic() + _REFINE_S
        before = self._writer.leaves_written
        left = self._writer.refine(lambda: time.monotonic() < end)
        if self._mapped != self._writer.leaves_written:
            self._place_highlights()
        self.fit()
        self._tables.place()
        if self._writer.leaves_written != before:
            self._buttons.place()  # formulas above them have another height than their sources
        if left != self._refining.isActive():
            self._refining.start() if left else self._refining.stop()
        self.viewport().update()


class TableBars(QObject):
    """A scroll bar for each table that is too wide."""

    def __init__(self, view: QTextBrowser, writer: DocumentWriter, geometry: Geometry) -> None:
        super().__init__(view)
        self._view = view
        self._writer = writer
        self._geometry = geometry
        self._bars: dict[PlacedBlock, QScrollBar] = {}

    def place(self) -> None:
        """Make and remove bars as needed, and place each below its table."""
        wide = [each for each in self._writer.placed if each.table is not None and each.table.overflow]
        for gone in self._bars.keys() - wide:
            bar = self._bars.pop(gone)
            bar.hide()
            bar.deleteLater()
        measures = self._writer.formats.measures
        for placed in wide:
            bar = self._bars.get(placed) or self._new(placed)
            left = measures.indent(placed.shape.containers)
            room = round(self._geometry.width() - left)
            bar.setPageStep(room)
            bar.setMaximum(placed.table.overflow if placed.table is not None else 0)
            top = round(self._geometry.bottom(placed))
            bar.setGeometry(QRect(round(left), top, room, measures.code_bottom))

    def move_sideways(self, point: QPoint, pixels: int) -> bool:
        """Scroll the table at `point` if it is too wide; return whether it is."""
        for placed, bar in self._bars.items():
            if self._geometry.top(placed) <= point.y() <= bar.geometry().bottom():
                bar.setValue(bar.value() + pixels)
                return True
        return False

    def _new(self, placed: PlacedBlock) -> QScrollBar:
        if placed.table is None:
            raise TypeError("only tables have a bar")
        bar = sideways_bar(self._view.viewport(), tr("Moves the table sideways"), placed.table.shift)
        bar.show()
        self._bars[placed] = bar
        return bar
