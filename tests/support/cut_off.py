"""What of a page cannot be seen however far it is scrolled."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QAbstractScrollArea, QLabel, QWidget


def cut_off(page: QAbstractScrollArea) -> list[str]:
    """Return the visible widgets of a page that reach over its sides, or are narrower than they can be."""
    room = page.viewport().width()
    found = []
    for widget in page.widget().findChildren(QWidget):
        if not widget.isVisible() or _is_in_a_view(widget, page):
            continue
        left = widget.mapTo(page.viewport(), QPoint(0, 0)).x()
        least = widget.minimumSizeHint().width()
        text = widget.text() if isinstance(widget, QLabel) else ""
        if left < 0 or left + widget.width() > room or widget.width() < least:
            found.append(f"{type(widget).__name__} {widget.accessibleName() or text}: {left}+{widget.width()}/{least}")
    return found


def _is_in_a_view(widget: QWidget, page: QAbstractScrollArea) -> bool:
    """Whether it is part of something that scrolls by itself."""
    parent = widget.parentWidget()
    while parent is not None and parent is not page:
        if isinstance(parent, QAbstractScrollArea):
            return True
        parent = parent.parentWidget()
    return False
