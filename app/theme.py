"""Fonts, sizes, palette and style sheet of the running app, light and dark."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING
from weakref import WeakMethod

from PySide6.QtCore import QObject, Qt, QTemporaryDir, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory
from shiboken6 import isValid

from app.palette import DARK, LIGHT, IconSet, Palette
from app.render.style import DARK_SYNTAX, LIGHT_SYNTAX, RenderStyle
from app.storage.settings import Appearance
from app.stylesheet import stylesheet, write_images
from mtplx_engine import paths

if TYPE_CHECKING:
    from collections.abc import Callable


class WeakCalls:
    """Weakly referenced callbacks of short-lived objects.

    In place of a signal: PySide keeps an entry for each connection for as long as the sender lives, so that every
    deleted object would leave one behind.
    """

    def __init__(self) -> None:
        self._methods: dict[WeakMethod[Callable[[], None]], None] = {}

    def __len__(self) -> int:
        return len(self._methods)

    def add(self, method: Callable[[], None]) -> None:
        """Call a method from now on, as long as its object lives."""
        self._methods[WeakMethod(method, self._forget)] = None

    def call(self) -> None:
        """Call all methods, in the order in which they were added."""
        for known in tuple(self._methods):
            method = known()
            if isinstance(method, MethodType) and isValid(method.__self__):
                method()

    def _forget(self, known: WeakMethod[Callable[[], None]]) -> None:
        self._methods.pop(known, None)


SPACE_XS, SPACE_S, SPACE_M, SPACE_L, SPACE_XL, SPACE_XXL = 4, 8, 12, 16, 24, 32
RADIUS, CARD_RADIUS = 8, 12
COLUMN_WIDTH = 720
SCROLL_BAR_WIDTH = 12
TEXT_PX, SMALL_PX, CODE_PX = 14, 12, 13

_SCHEMES = {
    Appearance.SYSTEM: Qt.ColorScheme.Unknown,
    Appearance.LIGHT: Qt.ColorScheme.Light,
    Appearance.DARK: Qt.ColorScheme.Dark,
}


@dataclass(frozen=True, slots=True)
class FontFamilies:
    """The family for text and the family for code."""

    text: str
    code: str


@cache
def load_fonts() -> FontFamilies:
    """Return the system's own fonts on a Mac; elsewhere the bundled ones, the same on every machine.

    Once in a process: a font that is added again counts as another one, and every text is measured anew.
    """
    if sys.platform == "darwin":
        system = QFontDatabase.SystemFont
        general, fixed = (
            QFontDatabase.systemFont(system.GeneralFont),
            QFontDatabase.systemFont(system.FixedFont),
        )
        return FontFamilies(general.family(), fixed.family())
    for path in sorted((paths.resources() / "fonts").glob("*.[ot]tf")):
        QFontDatabase.addApplicationFont(str(path))
    return FontFamilies("Inter", "JetBrains Mono")


class Theme(QObject):
    """The palette in use, applied to the whole program; follows the system's light or dark setting.

    Attributes:
        tinted: Whether what the model drafted itself is tinted in answers.
        reduced_motion: Whether animations are off.
        restyling: Callbacks of short-lived objects for `changed`; the signal is for objects that stay.

    Signals:
        changed: Colours or sizes have changed; widgets repaint.
    """

    changed = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self.fonts = load_fonts()
        self.icons = IconSet()
        self.restyling = WeakCalls()
        self.tinting = WeakCalls()
        self.changed.connect(self.restyling.call)
        self._images = QTemporaryDir()
        self.palette = LIGHT
        self.text_px = TEXT_PX
        self.tinted = False
        self.reduced_motion = False
        self._appearance = Appearance.SYSTEM
        app.setStyle(QStyleFactory.create("Fusion"))
        app.setFont(self.font(TEXT_PX))
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self.follow)
        self.follow(hints.colorScheme())

    def follow(self, scheme: Qt.ColorScheme) -> None:
        """Use the palette that the user chose, or else the one of the system's `scheme`."""
        dark = scheme == Qt.ColorScheme.Dark and self._appearance is Appearance.SYSTEM
        self.use(DARK if dark or self._appearance is Appearance.DARK else LIGHT)

    def set_appearance(self, appearance: Appearance) -> None:
        """Follow the system's colour scheme, or be light or dark regardless of it."""
        if appearance is not self._appearance:
            self._appearance = appearance
            hints = QGuiApplication.styleHints()
            hints.setColorScheme(_SCHEMES[appearance])  # for title bars and system dialogs
            self.follow(hints.colorScheme())

    def set_text_px(self, pixels: int) -> None:
        if pixels != self.text_px:
            self.text_px = pixels
            self.changed.emit()

    def use(self, palette: Palette) -> None:
        self.palette = palette
        self._app.setPalette(qt_palette(palette))
        images = Path(self._images.path()) / ("dark" if palette.dark else "light")
        if not images.is_dir():
            images.mkdir()
            write_images(palette, self.icons, images)
        self._app.setStyleSheet(stylesheet(palette, images))
        self.changed.emit()

    def set_tinted(self, *, on: bool) -> None:
        """Set whether accepted draft tokens are tinted in answers."""
        if on is not self.tinted:
            self.tinted = on
            self.tinting.call()

    def render_style(self) -> RenderStyle:
        """Return how messages look in the palette in use."""
        palette = self.palette
        return RenderStyle(
            window=palette.window,
            text=palette.text,
            secondary=palette.secondary,
            accent=palette.accent,
            code=palette.code,
            rule=palette.border,
            bubble=palette.bubble,
            selection=palette.accepted.name(QColor.NameFormat.HexArgb),
            accepted=palette.accepted.name(QColor.NameFormat.HexArgb),
            found=palette.found.name(QColor.NameFormat.HexArgb),
            found_now=palette.found_now.name(QColor.NameFormat.HexArgb),
            syntax=DARK_SYNTAX if palette.dark else LIGHT_SYNTAX,
            text_family=self.fonts.text,
            code_family=self.fonts.code,
            text_size=self.text_px,
            code_size=self.text_px + CODE_PX - TEXT_PX,
        )

    def font(self, pixels: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
        font = QFont(self.fonts.text)
        font.setPixelSize(pixels)
        font.setWeight(weight)
        return font

    def tabular_font(self, pixels: int) -> QFont:
        """Return the text font with tabular digits, so that changing numbers do not jitter."""
        font = self.font(pixels)
        font.setFeature(QFont.Tag("tnum"), 1)
        return font


def qt_palette(palette: Palette) -> QPalette:
    """Return the palette of what Fusion paints: menus, tooltips, selections, dialogs."""
    role = QPalette.ColorRole
    result = QPalette()
    colors = {
        role.Window: palette.window,
        role.Base: palette.window,
        role.AlternateBase: palette.sidebar,
        role.WindowText: palette.text,
        role.Text: palette.text,
        role.ButtonText: palette.text,
        role.BrightText: palette.text,
        role.Button: palette.raised,
        role.ToolTipBase: palette.raised,
        role.ToolTipText: palette.text,
        role.Highlight: palette.accent,
        role.HighlightedText: palette.on_accent,
        role.Link: palette.accent,
        role.LinkVisited: palette.accent,
        role.PlaceholderText: palette.tertiary,
        role.Light: palette.raised,
        role.Midlight: palette.border,
        role.Mid: palette.border,
        role.Dark: palette.border,
        role.Shadow: palette.border,
        role.Accent: palette.accent,
    }
    for color_role, color in colors.items():
        result.setColor(color_role, QColor(color))
    disabled = QPalette.ColorGroup.Disabled
    for color_role in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(disabled, color_role, QColor(palette.tertiary))
    return result
