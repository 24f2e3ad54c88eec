"""Colours behind parts of an answer: drafted text that was accepted, and what was searched for."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPen

from app.render.blocks import Code, Heading, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from PySide6.QtGui import QPainter, QTextBlock

    from app.render.document import DocumentWriter
    from app.render.geometry import Geometry
    from app.render.source_map import Place
    from app.render.written import Written

_RADIUS = 3.0
_ABOVE, _BELOW = 1.0, 2.0


class Highlights:
    """Places of one document that have a colour behind them; nothing of the document is changed."""

    def __init__(self, writer: DocumentWriter, geometry: Geometry) -> None:
        self._writer = writer
        self._geometry = geometry
        self._places: dict[int, list[Place]] = {}

    def set(self, places: Iterable[Place]) -> None:
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
            places: Sequence[Place] = self._places.get(self._geometry.index(written), ())
            if places and written.code is not None:
                lines = self._geometry.lines_in_view(written, clip.top(), clip.bottom())
                first = bisect_left(places, lines.start, key=lambda each: each.part)
                places = places[first : bisect_left(places, lines.stop, key=lambda each: each.part)]
            for place in places:
                yield from self._boxes(written, place)

    def _boxes(self, written: Written, place: Place) -> Iterator[QRectF]:
        block = self._block(written, place.part)
        if block is None or not block.isValid():
            return
        for rect in self._geometry.boxes(block, place.start, place.end, self._metrics(written)):
            yield rect.adjusted(0, -_ABOVE, 0, _BELOW)

    def _block(self, written: Written, part: int) -> QTextBlock | None:
        """Return the text block of a part of a leaf."""
        if written.code is not None:
            return written.code.block(part)
        if written.table is not None and isinstance(written.shape, Table):
            row, column = divmod(part, len(written.shape.aligns))
            if row >= written.table.qt.rows():
                return None
            return written.table.qt.cellAt(row, column).firstCursorPosition().block()
        return self._geometry.first_block(written)

    def _metrics(self, written: Written) -> QFontMetricsF:
        formats = self._writer.formats
        if isinstance(written.shape, Code):
            return QFontMetricsF(formats.code_font)
        font = formats.text_font()
        if isinstance(written.shape, Heading):
            font.setPixelSize(formats.heading_size(written.shape.level))
        return QFontMetricsF(font)
