"""Scroll bars below the tables of a message that are wider than its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QRect, Qt
from PySide6.QtWidgets import QScrollBar

from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QTextBrowser

    from app.render.document import DocumentWriter
    from app.render.geometry import Geometry
    from app.render.written import Written

_STEP = 40


class TableBars(QObject):
    """One bar for each table that does not fit."""

    def __init__(self, view: QTextBrowser, writer: DocumentWriter, geometry: Geometry) -> None:
        super().__init__(view)
        self._view = view
        self._writer = writer
        self._geometry = geometry
        self._bars: dict[Written, QScrollBar] = {}

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

    def _new(self, written: Written) -> QScrollBar:
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
