"""The style sheet's selectors on properties, which Qt looks at only when a widget is polished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


def restyle(widget: QWidget) -> None:
    """Let a widget look as its properties say by now."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def outline(frame: QWidget, event: QEvent) -> None:
    """Outline the frame around a field while that has the focus, by the events of the field."""
    if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
        frame.setProperty("focused", event.type() == QEvent.Type.FocusIn)
        restyle(frame)
