"""The style of messages, made from a palette without a running program."""

from __future__ import annotations

from app.palette import LIGHT, Palette
from app.render.style import DARK_SYNTAX, LIGHT_SYNTAX, RenderStyle


def style(palette: Palette = LIGHT) -> RenderStyle:
    return RenderStyle(
        text=palette.text,
        secondary=palette.secondary,
        accent=palette.accent,
        code=palette.code,
        rule=palette.border,
        bubble=palette.bubble,
        selection=palette.accent,
        syntax=DARK_SYNTAX if palette.dark else LIGHT_SYNTAX,
        text_family="Inter",
        code_family="JetBrains Mono",
    )
