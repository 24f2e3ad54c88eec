"""The inks of a drawing in the colours of a palette."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QColor

from app.dashboard.charts.drawing import Ink
from app.palette import Palette, tint

if TYPE_CHECKING:
    from collections.abc import Callable

# Marks are a little softer than words of the same colour, so that ranges can be read on top of them.
_MARK = 0.72

_COLORS: dict[Ink, Callable[[Palette], QColor]] = {
    Ink.TEXT: lambda palette: QColor(palette.text),
    Ink.SECONDARY: lambda palette: QColor(palette.secondary),
    Ink.TERTIARY: lambda palette: QColor(palette.tertiary),
    Ink.AXIS: lambda palette: QColor(palette.tertiary),
    Ink.GRID: lambda palette: QColor(palette.border),
    Ink.TRACK: lambda palette: palette.selected,
    Ink.BAND: lambda palette: palette.accepted,
    Ink.DRAFTED: lambda palette: tint(palette.accent, _MARK),
    Ink.PLAIN: lambda palette: tint(palette.tertiary, _MARK),
    Ink.FASTER: lambda palette: tint(palette.faster, _MARK),
    Ink.SLOWER: lambda palette: tint(palette.slower, _MARK),
}


def color(ink: Ink, palette: Palette) -> QColor:
    """Return what an ink is in a palette."""
    return _COLORS[ink](palette)
