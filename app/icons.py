"""Our line icons: SVG files with a 1.5 px stroke, painted in any colour and sharp at any scale."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from mtplx_engine import paths

if TYPE_CHECKING:
    from pathlib import Path

_SCALES = (1, 2, 3)
_APP_SIZES = (16, 32, 64, 128, 256)


@cache
def shared_icons() -> IconSet:
    """Return the icons of what paints itself in the colours of a message."""
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
        """Return the icon for a button, in one colour when it can be pressed and another when not."""
        icon = QIcon()
        for scale in _SCALES:
            icon.addPixmap(self.pixmap(name, color, size, scale))
            icon.addPixmap(self.pixmap(name, disabled_color, size, scale), QIcon.Mode.Disabled)
        return icon

    def write(self, name: str, color: str, path: Path) -> None:
        """Write the icon `name` in `color` into a file, for the style sheet, which takes pictures from nowhere else."""
        path.write_text(_source(name, color), encoding="utf-8")

    def app_icon(self, color: str) -> QIcon:
        """Return the program's own icon, for the task bar and the window list."""
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
