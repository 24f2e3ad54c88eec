"""The height-fitted streamed document of one message."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QObject, QPoint, QRect, QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QShowEvent, QWheelEvent
from PySide6.QtWidgets import QScrollBar

from app.chat_view.code_buttons import CodeButtons
from app.i18n import tr
from app.render.decoration import Decoration
from app.render.document import DocumentWriter, portions
from app.render.export import to_html, to_text
from app.render.layout import Geometry
from app.render.markdown import whole
from app.render.markdown_stream import StreamingMarkdown, clean
from app.render.selection import SourceMap, selected_leaves
from app.render.style import accepted_runs
from app.widgets.fitted_text import FittedText
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtWidgets import QTextBrowser, QWidget

    from app.render.document import PlacedBlock
    from app.render.markdown_stream import Update
    from app.render.style import RenderStyle


_STEP = 40


class TableBars(QObject):
    """One bar for each table that does not fit."""

    def __init__(self, view: QTextBrowser, writer: DocumentWriter, geometry: Geometry) -> None:
        super().__init__(view)
        self._view = view
        self._writer = writer
        self._geometry = geometry
        self._bars: dict[PlacedBlock, QScrollBar] = {}

    def place(self) -> None:
        """Make and remove bars as tables ask for them, and put each below its table."""
        wide = [each for each in self._writer.written if each.table is not None and each.table.overflow]
        for gone in self._bars.keys() - wide:
            bar = self._bars.pop(gone)
            bar.hide()
            bar.deleteLater()
        measures = self._writer.formats.measures
        for written in wide:
            bar = self._bars.get(written) or self._new(written)
            left = measures.indent(written.shape.place)
            room = round(self._geometry.width() - left)
            bar.setPageStep(room)
            bar.setMaximum(written.table.overflow if written.table is not None else 0)
            top = round(self._geometry.bottom(written))
            bar.setGeometry(QRect(round(left), top, room, measures.code_bottom))

    def move_sideways(self, point: QPoint, pixels: int) -> bool:
        """Move the table under `point`, if it is too wide; return whether it is."""
        for written, bar in self._bars.items():
            if self._geometry.top(written) <= point.y() <= bar.geometry().bottom():
                bar.setValue(bar.value() + pixels)
                return True
        return False

    def _new(self, written: PlacedBlock) -> QScrollBar:
        if written.table is None:
            raise TypeError("only tables have a bar")
        bar = QScrollBar(Qt.Orientation.Horizontal, self._view.viewport())
        bar.setAccessibleName(tr("Moves the table sideways"))
        bar.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        bar.setSingleStep(_STEP)
        bar.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent, on=False)  # the window shows through
        bar.valueChanged.connect(written.table.shift)
        bar.show()
        self._bars[written] = bar
        return bar


_FLUSH_MS = 30
_REFINE_S = 0.008


class AnswerView(FittedText):
    """A model's answer, which may still be growing.

    It is as high as its text and has no scroll bars: it belongs into a layout inside a scroll area.

    Signals:
        link_activated: An http, https or mailto link was chosen; whether it is opened is for the receiver to say.
        height_changed: The height is another one now, in pixels.
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
        self._mapping: SourceMap | None = None
        self._mapped = 0  # how much had been written when the mapping was made
        self._writer = DocumentWriter(self.document(), style)
        self._geometry = Geometry(self.document(), self._writer)
        self._decoration = Decoration(self._writer, self._geometry)
        self._buttons = CodeButtons(self, self._writer, self._geometry)
        self._buttons.wrapped.connect(self.laid_out)
        self._tables = TableBars(self, self._writer, self._geometry)
        self._throttle = Throttle(_FLUSH_MS, self)
        self._throttle.due.connect(self._flush)
        self._refining = QTimer(self)
        self._refining.setInterval(0)
        self._refining.timeout.connect(self._refine_some)
        self._portions: Iterator[Update] = iter(())
        self._writing = QTimer(self)
        self._writing.setInterval(0)
        self._writing.timeout.connect(self._write_portion)
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
        self._writer.show(())
        self._portions = portions(whole(clean(text)))
        self._write_portion()

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
        painter = QPainter(self.viewport())
        self._decoration.cover(painter, QRectF(event.rect()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Move sideways what is too wide: tables, and code that is not wrapped. The rest is for the area around."""
        sideways = event.pixelDelta().x() or event.angleDelta().x() // 2
        point = event.position().toPoint()
        is_sideways = abs(event.angleDelta().x()) > abs(event.angleDelta().y())
        movers = (self._buttons, self._tables)
        if not (is_sideways and any(mover.move_sideways(point, -sideways) for mover in movers)):
            super().wheelEvent(event)

    def laid_out(self) -> None:
        """Put the columns and the buttons where they belong in the new width."""
        self._writer.fit_tables()
        super().laid_out()
        self._buttons.place()
        self._tables.place()

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

    def _write_portion(self) -> None:
        """Write what fits into a moment; the rest of a long message comes when events have had their turn."""
        update = next(self._portions, None)
        if update is not None:
            self._writer.apply(update)
        if (update is not None) != self._writing.isActive():
            self._writing.start() if update is not None else self._writing.stop()
        self._written()

    def _place_highlights(self) -> None:
        """Find where the parts of the source stand that have a colour behind them."""
        shown = self._decoration
        marks = self._marks if self._tinted and self._stream is None else ()
        if not (marks or self._found or shown.accepted or shown.found or shown.found_now):
            return
        source = self.markdown()
        if self._mapping is None or self._mapped != self._writer.leaves_written:
            self._mapping = SourceMap(clean(source), [each.leaf for each in self._writer.written])
            self._mapped = self._writer.leaves_written
        mapping = self._mapping
        shown.accepted.set(place for run in accepted_runs(source, marks) for place in mapping.places(*run))
        shown.found.set(place for run in self._found for place in mapping.places(*run))
        now = () if self._found_now is None else mapping.places(*self._found[self._found_now])
        shown.found_now.set(now)
        self.viewport().update()

    def _refine_some(self) -> None:
        """Set formulas and colour code for a moment; what is left waits until events had their turn."""
        end = time.monotonic() + _REFINE_S
        before = self._writer.leaves_written
        left = self._writer.refine(lambda: time.monotonic() < end)
        if self._mapped != self._writer.leaves_written:
            self._place_highlights()
        self.fit()
        self._tables.place()
        if self._writer.leaves_written != before:
            self._buttons.place()  # formulas above them take another height than their sources
        if left != self._refining.isActive():
            self._refining.start() if left else self._refining.stop()
        self.viewport().update()
