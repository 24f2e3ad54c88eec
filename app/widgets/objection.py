"""Why something that was typed or pasted into a field is not taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QToolTip

from app.widgets.announce import announce

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


def object_to(field: QWidget, words: str) -> None:
    """Say `words` under a field, and to a screen reader."""
    QToolTip.showText(field.mapToGlobal(field.rect().bottomLeft()), words, field)
    announce(field, words)
