"""The order in which the Tab key goes through a window: as it is read, whatever was made first."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLayout, QScrollArea, QWidget, QWidgetItem

if TYPE_CHECKING:
    from collections.abc import Iterator


class ReadingOrder:
    """Keeps that order in a window whose parts come and go.

    Args:
        window: The window; what is in its layouts stands there in the order in which it is read.
    """

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self._order: list[QWidget] = []

    def keep(self) -> None:
        """Put the order right again, where it has changed."""
        order = list(_in_order(self._window))
        if order != self._order:
            self._order = order
            for former, following in pairwise(order):
                QWidget.setTabOrder(former, following)


def _in_order(widget: QWidget) -> Iterator[QWidget]:
    """Yield a widget and those in it, as they are read, as far as Tab may stop at them."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
        yield widget
    inner = widget.widget() if isinstance(widget, QScrollArea) else None
    if inner is not None:
        yield from _in_order(inner)
    elif (layout := widget.layout()) is not None:
        yield from _in_layout(layout)


def _in_layout(layout: QLayout) -> Iterator[QWidget]:
    for place in range(layout.count()):
        item = layout.itemAt(place)
        if isinstance(item, QLayout):
            yield from _in_layout(item)
        elif isinstance(item, QWidgetItem):
            yield from _in_order(item.widget())
