"""Painted marks behind text: code boxes, highlights."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.render.blocks import BULLET, TASK_DONE, TASK_OPEN, Code, Heading, Kind, Mark, Paragraph, Rule, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from PySide6.QtGui import QTextBlock

    from app.render.blocks import Place, Run
    from app.render.document import DocumentWriter, PlacedBlock
    from app.render.layout import Geometry
    from app.render.selection import SourceSpan
    from app.render.style import Measures


_RADIUS = 3.0
_ABOVE, _BELOW = 1.0, 2.0


class Highlights:
    """Places of one document that have a colour behind them; nothing of the document is changed."""

    def __init__(self, writer: DocumentWriter, geometry: Geometry) -> None:
        self._writer = writer
        self._geometry = geometry
        self._places: dict[int, list[SourceSpan]] = {}

    def set(self, places: Iterable[SourceSpan]) -> None:
        """Have `places`, in their order in the document, and no others."""
        self._places = {}
        for place in places:
            known = self._places.setdefault(place.leaf, [])
            # Several parts of the source of one formula are at the same place; painted twice it would be darker.
            if known and known[-1].part == place.part and place.start <= known[-1].end:
                known[-1] = replace(known[-1], end=max(known[-1].end, place.end))
            else:
                known.append(place)

    def __bool__(self) -> bool:
        return bool(self._places)

    def paint(self, painter: QPainter, clip: QRectF, color: str, *, framed: bool = False) -> None:
        """Paint `color` behind what is inside `clip`, in the document's coordinates."""
        if not self._places:
            return
        painter.setPen(QPen(QColor(QColor(color).rgb()), 1.5) if framed else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(color))
        for rect in self._boxes_in(clip):
            painter.drawRoundedRect(rect, _RADIUS, _RADIUS)

    def boxes(self) -> list[QRectF]:
        """Return the boxes of all places."""
        written = self._writer.written
        leaves = ((written[leaf], places) for leaf, places in self._places.items() if leaf < len(written))
        return [box for each, places in leaves for place in places for box in self._boxes(each, place)]

    def _boxes_in(self, clip: QRectF) -> Iterator[QRectF]:
        for written in self._geometry.in_view(clip.top(), clip.bottom()):
            places: Sequence[SourceSpan] = self._places.get(self._geometry.index(written), ())
            if places and written.code is not None:
                lines = self._geometry.lines_in_view(written, clip.top(), clip.bottom())
                first = bisect_left(places, lines.start, key=lambda each: each.part)
                places = places[first : bisect_left(places, lines.stop, key=lambda each: each.part)]
            for place in places:
                yield from self._boxes(written, place)

    def _boxes(self, written: PlacedBlock, place: SourceSpan) -> Iterator[QRectF]:
        block = self._block(written, place.part)
        if block is None or not block.isValid():
            return
        for rect in self._geometry.boxes(block, place.start, place.end, self._metrics(written)):
            yield rect.adjusted(0, -_ABOVE, 0, _BELOW)

    def _block(self, written: PlacedBlock, part: int) -> QTextBlock | None:
        """Return the text block of a part of a leaf."""
        if written.code is not None:
            return written.code.block(part)
        if written.table is not None and isinstance(written.shape, Table):
            row, column = divmod(part, len(written.shape.aligns))
            if row >= written.table.qt.rows():
                return None
            return written.table.qt.cellAt(row, column).firstCursorPosition().block()
        return self._geometry.first_block(written)

    def _metrics(self, written: PlacedBlock) -> QFontMetricsF:
        formats = self._writer.formats
        if isinstance(written.shape, Code):
            return QFontMetricsF(formats.code_font)
        font = formats.text_font()
        if isinstance(written.shape, Heading):
            font.setPixelSize(formats.heading_size(written.shape.level))
        return QFontMetricsF(font)


_PANEL_RADIUS = 8.0
_PILL_RADIUS = 4.0
_PILL_X = 2.0
_PILL_Y = 1.5
_BAR = 3.0
_MARKER_GAP = 7.0
_BULLET = 2.5
_BOX = 13.0
_TICK = (QPointF(3.2, 6.8), QPointF(5.6, 9.2), QPointF(9.8, 4.2))
_ABOVE_BASELINE = 0.8  # where Qt puts the baseline in a line of fixed height


class Decoration:
    """Paints behind the text of one document.

    Attributes:
        accepted: What was drafted and accepted; empty when that is not to be seen.
        found: What was searched for, `found_now` the one of them that is looked at.
    """

    def __init__(self, writer: DocumentWriter, geometry: Geometry) -> None:
        self._writer = writer
        self._geometry = geometry
        self.accepted = Highlights(writer, geometry)
        self.found = Highlights(writer, geometry)
        self.found_now = Highlights(writer, geometry)

    @property
    def _measures(self) -> Measures:
        return self._writer.formats.measures

    def paint(self, painter: QPainter, clip: QRectF) -> None:
        """Paint what belongs to the leaves inside `clip`, in the document's coordinates."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for written in self._geometry.in_view(clip.top(), clip.bottom()):
            leaf = written.shape
            self._paint_quotes(painter, written, leaf.place)
            self._paint_markers(painter, written, leaf.place)
            match leaf:
                case Code():
                    self._paint_panel(painter, written, leaf)
                case Rule():
                    self._paint_rule(painter, written, leaf)
                case Table():
                    self._paint_table(painter, written, leaf, clip)
                case Paragraph() | Heading():
                    block = self._geometry.first_block(written)
                    self._paint_pills(painter, block, leaf.runs, size=self._size(leaf))
        style = self._writer.formats.style
        self.accepted.paint(painter, clip, style.accepted)
        self.found.paint(painter, clip, style.found)
        self.found_now.paint(painter, clip, style.found_now, framed=True)

    def cover(self, painter: QPainter, clip: QRectF) -> None:
        """Paint over what reaches beyond the sides of a code panel: lines that are not wrapped."""
        style = self._writer.formats.style
        for written in self._geometry.in_view(clip.top(), clip.bottom()):
            if written.table is not None and written.table.overflow:
                self._cover_indent(painter, written)
            if written.code is None or written.code.wrapped:
                continue
            panel = self._geometry.panel(written).adjusted(0, self._measures.code_header, 0, -_PANEL_RADIUS)
            painter.fillRect(QRectF(0, panel.top(), panel.left(), panel.height()), QColor(style.window))
            for left in (panel.left(), panel.right() - self._measures.code_inset):
                painter.fillRect(
                    QRectF(left, panel.top(), self._measures.code_inset, panel.height()), QColor(style.code)
                )

    def _cover_indent(self, painter: QPainter, written: PlacedBlock) -> None:
        top = self._geometry.top(written)
        indent = self._measures.indent(written.shape.place)
        beside = QRectF(0, top, indent, self._geometry.bottom(written) - top)
        painter.fillRect(beside, QColor(self._writer.formats.style.window))
        self._paint_quotes(painter, written, written.shape.place)
        self._paint_markers(painter, written, written.shape.place)

    def _size(self, leaf: Paragraph | Heading) -> int:
        formats = self._writer.formats
        return formats.heading_size(leaf.level) if isinstance(leaf, Heading) else formats.style.text_size

    def _paint_panel(self, painter: QPainter, written: PlacedBlock, leaf: Code) -> None:
        style = self._writer.formats.style
        panel = self._geometry.panel(written)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(style.code))
        painter.drawRoundedRect(panel, _PANEL_RADIUS, _PANEL_RADIUS)
        font = self._writer.formats.text_font()
        font.setPixelSize(self._measures.label)
        painter.setFont(font)
        painter.setPen(QColor(style.secondary))
        header = QRectF(
            panel.left() + self._measures.code_inset,
            panel.top(),
            panel.width() - 2 * self._measures.code_inset,
            self._measures.code_header,
        )
        label = QFontMetricsF(font).elidedText(leaf.language, Qt.TextElideMode.ElideRight, header.width() / 2)
        painter.drawText(header, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, label)

    def _paint_rule(self, painter: QPainter, written: PlacedBlock, leaf: Rule) -> None:
        top = self._geometry.top(written)
        left = self._measures.indent(leaf.place)
        line = QRectF(left, top, self._geometry.width() - left, 1)
        painter.fillRect(line, QColor(self._writer.formats.style.rule))

    def _paint_table(self, painter: QPainter, written: PlacedBlock, leaf: Table, clip: QRectF) -> None:
        table = written.table
        if table is None:
            return
        style = self._writer.formats.style
        left = self._measures.indent(leaf.place)
        width = self._geometry.table_right(written) - left
        for row, y in self._geometry.rows_in_view(written, clip.top(), clip.bottom()):
            if row:
                painter.fillRect(QRectF(left, y, width, 1), QColor(style.rule))
            for column, runs in enumerate(leaf.rows[row]):
                if any(Mark.CODE in run.marks for run in runs):
                    block = table.qt.cellAt(row, column).firstCursorPosition().block()
                    self._paint_pills(painter, block, runs, size=style.text_size)

    def _paint_quotes(self, painter: QPainter, written: PlacedBlock, place: Place) -> None:
        if not any(each.kind is Kind.QUOTE for each in place):
            return
        before = self._geometry.before(written)
        top, bottom = self._geometry.top(written), self._geometry.bottom(written)
        for index, each in enumerate(place):
            if each.kind is not Kind.QUOTE:
                continue
            above = before.shape.place if before is not None else ()
            joins = before is not None and len(above) > index and above[index].kind is Kind.QUOTE
            start = self._geometry.bottom(before) if joins and before is not None else top
            bar = QRectF(self._measures.indent(place[:index]), start, _BAR, bottom - start)
            painter.fillRect(self._mirrored(bar, written), QColor(self._writer.formats.style.rule))

    def _paint_markers(self, painter: QPainter, written: PlacedBlock, place: Place) -> None:
        if not any(each.marker for each in place):
            return
        line = self._writer.formats.line_of(written.shape)
        baseline = self._geometry.top(written) + _ABOVE_BASELINE * line
        for index, each in enumerate(place):
            if each.marker:
                right = self._measures.indent(place[: index + 1]) - self._measures.px(_MARKER_GAP)
                self._paint_marker(painter, each.marker, QPointF(right, baseline), written)

    def _paint_marker(self, painter: QPainter, marker: str, corner: QPointF, written: PlacedBlock) -> None:
        """Paint the sign of an item so that it ends at `corner`, on the baseline."""
        style = self._writer.formats.style
        font = self._writer.formats.text_font()
        metrics = QFontMetricsF(font)
        middle = corner.y() - metrics.xHeight() / 2
        if marker == BULLET:
            radius = _BULLET * self._measures.scale
            dot = QRectF(corner.x() - 2 * radius - 2, middle - radius, 2 * radius, 2 * radius)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(style.secondary))
            painter.drawEllipse(self._mirrored(dot, written))
        elif marker in (TASK_OPEN, TASK_DONE):
            side = _BOX * self._measures.scale
            box = QRectF(corner.x() - side + 1, middle - side / 2, side, side)
            self._paint_task(painter, self._mirrored(box, written), done=marker == TASK_DONE)
        else:
            width = metrics.horizontalAdvance(marker)
            box = QRectF(max(0.0, corner.x() - width), corner.y(), width, 0)
            painter.setPen(QColor(style.secondary))
            painter.setFont(font)
            painter.drawText(self._mirrored(box, written).topLeft(), marker)

    def _paint_task(self, painter: QPainter, box: QRectF, *, done: bool) -> None:
        style = self._writer.formats.style
        painter.setPen(Qt.PenStyle.NoPen)
        if not done:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(style.secondary), 1.2))
            painter.drawRoundedRect(box.adjusted(0.6, 0.6, -0.6, -0.6), 3.5, 3.5)
            return
        painter.setBrush(QColor(style.accent))
        painter.drawRoundedRect(box, 3.5, 3.5)
        pen = QPen(QColor(style.code), 1.6)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        corner, scale = box.topLeft(), self._measures.scale
        painter.drawPolyline([corner + point * scale for point in _TICK])

    def _mirrored(self, rect: QRectF, written: PlacedBlock) -> QRectF:
        """Return `rect` on the other side when the leaf reads from right to left."""
        block = self._geometry.first_block(written)
        if block.blockFormat().layoutDirection() != Qt.LayoutDirection.RightToLeft:
            return rect
        return QRectF(self._geometry.width() - rect.right(), rect.top(), rect.width(), rect.height())

    def _paint_pills(self, painter: QPainter, block: QTextBlock, runs: Iterable[Run], *, size: int) -> None:
        """Paint behind the inline code of one text block."""
        start = 0
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._writer.formats.style.bubble))
        metrics = QFontMetricsF(self._writer.formats.inline_code_font(size))
        for run in runs:
            end = start + run.length
            if Mark.CODE in run.marks:
                for rect in self._geometry.boxes(block, start, end, metrics):
                    left = min(_PILL_X, rect.left())
                    pill = rect.adjusted(-left, -_PILL_Y, _PILL_X, _PILL_Y)
                    painter.drawRoundedRect(pill, _PILL_RADIUS, _PILL_RADIUS)
            start = end
