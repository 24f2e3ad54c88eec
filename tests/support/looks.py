"""The style of messages, made from a palette without a running program."""

from __future__ import annotations

from PySide6.QtGui import QColor

from app.palette import LIGHT, Palette
from app.render.style import DARK_SYNTAX, LIGHT_SYNTAX, RenderStyle


def style(palette: Palette = LIGHT) -> RenderStyle:
    return RenderStyle(
        window=palette.window,
        text=palette.text,
        secondary=palette.secondary,
        accent=palette.accent,
        code=palette.code,
        rule=palette.border,
        bubble=palette.bubble,
        selection=palette.accent,
        accepted=palette.accepted.name(QColor.NameFormat.HexArgb),
        found=palette.found.name(QColor.NameFormat.HexArgb),
        found_now=palette.found_now.name(QColor.NameFormat.HexArgb),
        syntax=DARK_SYNTAX if palette.dark else LIGHT_SYNTAX,
        text_family="Inter",
        code_family="JetBrains Mono",
    )
