"""Paints what Qt cannot: code panels, rules, quote bars, list markers, inline code, highlights of ranges."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.render.blocks import (
    BULLET,
    TASK_DONE,
    TASK_OPEN,
    Code,
    ContainerKind,
    Heading,
    Mark,
    Paragraph,
    Rule,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from PySide6.QtGui import QTextBlock

    from app.render.blocks import Containers, Run
    from app.render.document import DocumentWriter, PlacedBlock
    from app.render.layout import Geometry
    from app.render.source_map import SourceSpan
    from app.render.style import Measures


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
        accepted: Drafted text that was accepted; empty while that is not shown.
        found: Matches of a search; `found_now` is the current one.
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
        """Paint the decoration of the leaves inside `clip`, in document coordinates."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for placed in self._geometry.in_view(clip.top(), clip.bottom()):
            leaf = placed.shape
            self._paint_quotes(painter, placed, leaf.containers)
            self._paint_markers(painter, placed, leaf.containers)
            match leaf:
                case Code():
                    self._paint_panel(painter, placed, leaf)
                case Rule():
                    self._paint_rule(painter, placed, leaf)
                case Table():
                    self._paint_table(painter, placed, leaf, clip)
                case Paragraph() | Heading():
                    block = self._geometry.first_block(placed)
                    self._paint_pills(painter, block, leaf.runs, size=self._writer.formats.text_size(leaf))
        style = self._writer.formats.style
        self.accepted.paint(painter, clip, style.accepted)
        self.found.paint(painter, clip, style.found)
        self.found_now.paint(painter, clip, style.found_now, framed=True)

    def cover(self, painter: QPainter, clip: QRectF) -> None:
        """Paint over text that reaches beyond its panel: lines that are not wrapped, tables that are too wide."""
        style = self._writer.formats.style
        for placed in self._geometry.in_view(clip.top(), clip.bottom()):
            if placed.table is not None and placed.table.overflow:
                self._cover_indent(painter, placed)
            if placed.code is None or placed.code.wrapped:
                continue
            panel = self._geometry.panel(placed).adjusted(0, self._measures.code_header, 0, -_PANEL_RADIUS)
            painter.fillRect(QRectF(0, panel.top(), panel.left(), panel.height()), QColor(style.window))
            for left in (panel.left(), panel.right() - self._measures.code_inset):
                painter.fillRect(
                    QRectF(left, panel.top(), self._measures.code_inset, panel.height()), QColor(style.code)
                )

    def _cover_indent(self, painter: QPainter, placed: PlacedBlock) -> None:
        top = self._geometry.top(placed)
        indent = self._measures.indent(placed.shape.containers)
        beside = QRectF(0, top, indent, self._geometry.bottom(placed) - top)
        painter.fillRect(beside, QColor(self._writer.formats.style.window))
        self._paint_quotes(painter, placed, placed.shape.containers)
        self._paint_markers(painter, placed, placed.shape.containers)

    def _paint_panel(self, painter: QPainter, placed: PlacedBlock, leaf: Code) -> None:
        style = self._writer.formats.style
        panel = self._geometry.panel(placed)
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

    def _paint_rule(self, painter: QPainter, placed: PlacedBlock, leaf: Rule) -> None:
        top = self._geometry.top(placed)
        left = self._measures.indent(leaf.containers)
        line = QRectF(left, top, self._geometry.width() - left, 1)
        painter.fillRect(line, QColor(self._writer.formats.style.rule))

    def _paint_table(self, painter: QPainter, placed: PlacedBlock, leaf: Table, clip: QRectF) -> None:
        table = placed.table
        if table is None:
            return
        style = self._writer.formats.style
        left = self._measures.indent(leaf.containers)
        width = self._geometry.table_right(placed) - left
        for row, y in self._geometry.rows_in_view(placed, clip.top(), clip.bottom()):
            if row:
                painter.fillRect(QRectF(left, y, width, 1), QColor(style.rule))
            for column, runs in enumerate(leaf.rows[row]):
                if any(Mark.CODE in run.marks for run in runs):
                    block = table.qt.cellAt(row, column).firstCursorPosition().block()
                    self._paint_pills(painter, block, runs, size=style.text_size)

    def _paint_quotes(self, painter: QPainter, placed: PlacedBlock, containers: Containers) -> None:
        if not any(each.kind is ContainerKind.QUOTE for each in containers):
            return
        before = self._geometry.before(placed)
        top, bottom = self._geometry.top(placed), self._geometry.bottom(placed)
        for index, each in enumerate(containers):
            if each.kind is not ContainerKind.QUOTE:
                continue
            above = before.shape.containers if before is not None else ()
            joins = before is not None and len(above) > index and above[index].kind is ContainerKind.QUOTE
            start = self._geometry.bottom(before) if joins and before is not None else top
            bar = QRectF(self._measures.indent(containers[:index]), start, _BAR, bottom - start)
            painter.fillRect(self._mirrored(bar, placed), QColor(self._writer.formats.style.rule))

    def _paint_markers(self, painter: QPainter, placed: PlacedBlock, containers: Containers) -> None:
        if not any(each.marker for each in containers):
            return
        line = self._writer.formats.line_of(placed.shape)
        baseline = self._geometry.top(placed) + _ABOVE_BASELINE * line
        for index, each in enumerate(containers):
            if each.marker:
                right = self._measures.indent(containers[: index + 1]) - self._measures.px(_MARKER_GAP)
                self._paint_marker(painter, each.marker, QPointF(right, baseline), placed)

    def _paint_marker(self, painter: QPainter, marker: str, corner: QPointF, placed: PlacedBlock) -> None:
        """Paint a list marker so that it ends at `corner`, on the baseline."""
        style = self._writer.formats.style
        font = self._writer.formats.text_font()
        metrics = QFontMetricsF(font)
        middle = corner.y() - metrics.xHeight() / 2
        if marker == BULLET:
            radius = _BULLET * self._measures.scale
            dot = QRectF(corner.x() - 2 * radius - 2, middle - radius, 2 * radius, 2 * radius)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(style.secondary))
            painter.drawEllipse(self._mirrored(dot, placed))
        elif marker in (TASK_OPEN, TASK_DONE):
            side = _BOX * self._measures.scale
            box = QRectF(corner.x() - side + 1, middle - side / 2, side, side)
            self._paint_task(painter, self._mirrored(box, placed), done=marker == TASK_DONE)
        else:
            width = metrics.horizontalAdvance(marker)
            box = QRectF(max(0.0, corner.x() - width), corner.y(), width, 0)
            painter.setPen(QColor(style.secondary))
            painter.setFont(font)
            painter.drawText(self._mirrored(box, placed).topLeft(), marker)

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

    def _mirrored(self, rect: QRectF, placed: PlacedBlock) -> QRectF:
        """Return `rect` mirrored when the leaf is written from right to left."""
        block = self._geometry.first_block(placed)
        if block.blockFormat().layoutDirection() != Qt.LayoutDirection.RightToLeft:
            return rect
        return QRectF(self._geometry.width() - rect.right(), rect.top(), rect.width(), rect.height())

    def _paint_pills(self, painter: QPainter, block: QTextBlock, runs: Iterable[Run], *, size: int) -> None:
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


_HIGHLIGHT_RADIUS = 3.0
_ABOVE, _BELOW = 1.0, 2.0


class Highlights:
    """Ranges of one document with a colour behind them; the document itself is not changed."""

    def __init__(self, writer: DocumentWriter, geometry: Geometry) -> None:
        self._writer = writer
        self._geometry = geometry
        self._spans: dict[int, list[SourceSpan]] = {}

    def set(self, spans: Iterable[SourceSpan]) -> None:
        """Replace the ranges by `spans`, which are in document order."""
        self._spans = {}
        for span in spans:
            known = self._spans.setdefault(span.leaf, [])
            # Several ranges of the source of one formula are the same here; painted twice it would be darker.
            if known and known[-1].part == span.part and span.start <= known[-1].end:
                known[-1] = replace(known[-1], end=max(known[-1].end, span.end))
            else:
                known.append(span)

    def __bool__(self) -> bool:
        return bool(self._spans)

    def paint(self, painter: QPainter, clip: QRectF, color: str, *, framed: bool = False) -> None:
        """Paint `color` behind the ranges inside `clip`, in document coordinates."""
        if not self._spans:
            return
        painter.setPen(QPen(QColor(QColor(color).rgb()), 1.5) if framed else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(color))
        for rect in self._boxes_in(clip):
            painter.drawRoundedRect(rect, _HIGHLIGHT_RADIUS, _HIGHLIGHT_RADIUS)

    def boxes(self) -> list[QRectF]:
        placed = self._writer.placed
        leaves = ((placed[leaf], spans) for leaf, spans in self._spans.items() if leaf < len(placed))
        return [box for each, spans in leaves for span in spans for box in self._boxes(each, span)]

    def _boxes_in(self, clip: QRectF) -> Iterator[QRectF]:
        for placed in self._geometry.in_view(clip.top(), clip.bottom()):
            spans: Sequence[SourceSpan] = self._spans.get(self._geometry.index(placed), ())
            if spans and placed.code is not None:
                lines = self._geometry.lines_in_view(placed, clip.top(), clip.bottom())
                first = bisect_left(spans, lines.start, key=lambda each: each.part)
                spans = spans[first : bisect_left(spans, lines.stop, key=lambda each: each.part)]
            for span in spans:
                yield from self._boxes(placed, span)

    def _boxes(self, placed: PlacedBlock, span: SourceSpan) -> Iterator[QRectF]:
        block = self._block(placed, span.part)
        if block is None or not block.isValid():
            return
        for rect in self._geometry.boxes(block, span.start, span.end, self._metrics(placed)):
            yield rect.adjusted(0, -_ABOVE, 0, _BELOW)

    def _block(self, placed: PlacedBlock, part: int) -> QTextBlock | None:
        """Return the text block of a line of code or a cell of a table, else of the leaf."""
        if placed.code is not None:
            return placed.code.block(part)
        if placed.table is not None and isinstance(placed.shape, Table):
            row, column = divmod(part, len(placed.shape.aligns))
            if row >= placed.table.qt.rows():
                return None
            return placed.table.qt.cellAt(row, column).firstCursorPosition().block()
        return self._geometry.first_block(placed)

    def _metrics(self, placed: PlacedBlock) -> QFontMetricsF:
        formats = self._writer.formats
        if isinstance(placed.shape, Code):
            return QFontMetricsF(formats.code_font)
        font = formats.text_font()
        font.setPixelSize(formats.text_size(placed.shape))
        return QFontMetricsF(font)
