"""The light and the dark palette, and the icons drawn in their colours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from mtplx_engine import paths

if TYPE_CHECKING:
    from pathlib import Path


# A yellow marker, light enough that links and code can be read on it.
_MARKER = "#F5C211"


class Tone(StrEnum):
    """The colour of a text by its meaning; the value names a field of `Palette`."""

    QUIET = "secondary"
    GOOD = "faster"
    DOUBT = "warning"
    BAD = "slower"


@dataclass(frozen=True, slots=True)
class Palette:
    """Every colour of the program, as "#RRGGBB".

    Attributes:
        window: Behind the transcript.
        raised: The composer and cards, outlined with `border`.
        bubble: Behind the user's own messages.
        text: Main text; `secondary` and `tertiary` are quieter.
        accent: Buttons, links, focus; `on_accent` is legible on it.
        faster: A gain, always with a word beside it; `slower` a loss, `warning` a doubt.
        toast: A short notice that floats above everything, with `toast_text` and `toast_action` on it.
        hover: `text` mixed faintly into what lies below; `selected` a little more.
    """

    dark: bool
    window: str
    sidebar: str
    raised: str
    border: str
    bubble: str
    code: str
    text: str
    secondary: str
    tertiary: str
    accent: str
    on_accent: str
    faster: str
    slower: str
    warning: str
    toast: str
    toast_text: str
    toast_action: str
    accepted_alpha: float
    hover_alpha: float
    selected_alpha: float
    found_alpha: float
    found_now_alpha: float

    @property
    def hover(self) -> QColor:
        """Overlay under the pointer."""
        return tint(self.text, self.hover_alpha)

    @property
    def selected(self) -> QColor:
        """Overlay of the selected row and of a pressed button."""
        return tint(self.text, self.selected_alpha)

    @property
    def accepted(self) -> QColor:
        """Background of accepted draft tokens and of selected text."""
        return tint(self.accent, self.accepted_alpha)

    @property
    def found(self) -> QColor:
        """Background of search matches."""
        return tint(_MARKER, self.found_alpha)

    @property
    def found_now(self) -> QColor:
        """Background of the current search match, which has a frame or a line of the same colour too."""
        return tint(_MARKER, self.found_now_alpha)


LIGHT = Palette(
    dark=False,
    window="#FFFFFF",
    sidebar="#F5F5F7",
    raised="#FFFFFF",
    border="#E3E3E8",
    bubble="#EEF0F4",
    code="#F6F6F8",
    text="#1D1D1F",
    secondary="#5F5F66",
    tertiary="#686870",
    accent="#0A66D6",
    on_accent="#FFFFFF",
    faster="#187A3D",
    slower="#B3401E",
    warning="#8A5A00",
    toast="#2C2C2E",
    toast_text="#F2F2F5",
    toast_action="#8FC1FF",
    accepted_alpha=0.12,
    hover_alpha=0.045,
    selected_alpha=0.085,
    found_alpha=0.24,
    found_now_alpha=0.35,
)
DARK = Palette(
    dark=True,
    window="#1E1E1F",
    sidebar="#252527",
    raised="#2C2C2E",
    border="#3A3A3D",
    bubble="#323237",
    code="#262629",
    text="#F2F2F5",
    secondary="#ABABB3",
    tertiary="#9D9DA5",
    accent="#4C9DFF",
    on_accent="#0B1A2B",
    faster="#4CC27A",
    slower="#FF8A66",
    warning="#F0B44C",
    toast="#3F3F44",
    toast_text="#F2F2F5",
    toast_action="#8FC1FF",
    accepted_alpha=0.17,
    hover_alpha=0.055,
    selected_alpha=0.10,
    found_alpha=0.12,
    found_now_alpha=0.12,
)


def tint(color: str, alpha: float) -> QColor:
    """Return `color` with an opacity of `alpha`, 0..1."""
    tinted = QColor(color)
    tinted.setAlphaF(alpha)
    return tinted


def over(top: QColor, below: str) -> str:
    """Return the opaque colour that `top` gives when it is laid over `below`."""
    base, alpha = QColor(below), top.alphaF()
    pairs = ((top.red(), base.red()), (top.green(), base.green()), (top.blue(), base.blue()))
    return "#{:02X}{:02X}{:02X}".format(*(round(alpha * upper + (1 - alpha) * lower) for upper, lower in pairs))


_SCALES = (1, 2, 3)
_APP_SIZES = (16, 32, 64, 128, 256)


@cache
def shared_icons() -> IconSet:
    return IconSet()


class IconSet:
    """The icons of `resources/icons`, tinted by replacing `currentColor` in their source."""

    def __init__(self) -> None:
        self._pixmaps: dict[tuple[str, str, int, int], QPixmap] = {}

    def pixmap(self, name: str, color: str, size: int, scale: int) -> QPixmap:
        """Return the icon `name` in `color`, `size` logical pixels wide, for a screen of `scale`."""
        key = (name, color, size, scale)
        if key not in self._pixmaps:
            self._pixmaps[key] = _paint(name, color, size, scale)
        return self._pixmaps[key]

    def icon(self, name: str, color: str, disabled_color: str, size: int) -> QIcon:
        """Return the icon of a button, in one colour when enabled and another when disabled."""
        icon = QIcon()
        for scale in _SCALES:
            icon.addPixmap(self.pixmap(name, color, size, scale))
            icon.addPixmap(self.pixmap(name, disabled_color, size, scale), QIcon.Mode.Disabled)
        return icon

    def write(self, name: str, color: str, path: Path) -> None:
        """Write the icon `name` in `color` to an SVG file for the style sheet."""
        path.write_text(_source(name, color), encoding="utf-8")

    def app_icon(self, color: str) -> QIcon:
        """Return the program's icon for the task bar and the window list."""
        icon = QIcon()
        for size in _APP_SIZES:
            icon.addPixmap(self.pixmap("app", color, size, 1))
        return icon


def _source(name: str, color: str) -> str:
    source = (paths.resources() / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    return source.replace("currentColor", color)


def _paint(name: str, color: str, size: int, scale: int) -> QPixmap:
    renderer = QSvgRenderer(QByteArray(_source(name, color).encode()))
    pixmap = QPixmap(size * scale, size * scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size * scale, size * scale))
    painter.end()
    pixmap.setDevicePixelRatio(scale)
    return pixmap
