"""Everything that is read can be read, in light and in dark."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from PySide6.QtGui import QColor

from app.palette import DARK, LIGHT, over, tint
from app.render.style import DARK_SYNTAX, LIGHT_SYNTAX
from app.stylesheet import stylesheet


def luminance(color):
    def linear(value):
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    c = QColor(color)
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF())


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


LABELS = ("text", "secondary", "tertiary", "accent", "faster", "slower", "warning")


def pairs(palette):
    """Yield every text colour and what it may stand on: surfaces, and layers on the surfaces that take them."""
    running = ("text", "secondary")
    # What is pointed at, chosen or tinted holds running text; tinted answers hold links too.
    grounds = [
        *((name, getattr(palette, name), LABELS) for name in ("window", "sidebar", "raised", "bubble", "code")),
        *((*laid(palette, "hover", below), running) for below in ("window", "sidebar", "raised")),
        *((*laid(palette, "selected", below), running) for below in ("window", "sidebar", "raised")),
        (*laid(palette, "accepted", "window"), (*running, "accent")),
        *((*laid(palette, "accepted", below), ("text",)) for below in ("bubble", "code", "raised")),
        *(
            (*laid(palette, found, below), colors)
            for found in ("found", "found_now")
            for below, colors in (
                ("window", (*running, "accent")),
                ("bubble", ("text",)),
                ("code", ("text",)),
            )
        ),
        ("accent", palette.accent, ("on_accent",)),
        (*laid(palette, "hover", "accent"), ("on_accent",)),
        ("toast", palette.toast, ("toast_text", "toast_action")),
    ]
    for name, background, colors in grounds:
        for color in colors:
            yield color, getattr(palette, color), name, background
    syntax = DARK_SYNTAX if palette.dark else LIGHT_SYNTAX
    for field in dataclasses.fields(syntax):
        layers = (laid(palette, layer, "code") for layer in ("accepted", "found", "found_now"))
        for name, background in (("code", palette.code), *layers):
            yield field.name, getattr(syntax, field.name), name, background


def laid(palette, layer, below):
    """Return what a layer gives on a surface, with its name."""
    return f"{layer} on {below}", over(getattr(palette, layer), getattr(palette, below))


@pytest.mark.parametrize(
    ("color", "value", "below", "background"),
    [*pairs(LIGHT), *pairs(DARK)],
)
def test_contrast_is_at_least_aa(color, value, below, background):
    assert contrast(value, background) >= 4.5, f"{color} {value} on {below} {background}"


def test_layers_mix_like_paint():
    assert over(tint("#000000", 0.2), "#FFFFFF") == "#CCCCCC"
    assert over(tint("#FF0000", 1.0), "#123456") == "#FF0000"


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_style_sheet_leaves_no_placeholder(palette):
    sheet = stylesheet(palette, Path("pictures"))
    assert "$" not in sheet
    assert palette.accent in sheet
    assert sheet.count("{") == sheet.count("}")


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_style_sheet_has_no_colour_of_its_own(palette):
    known = {value for value in dataclasses.asdict(palette).values() if isinstance(value, str)}
    mixed = {over(layer, below) for layer in (palette.hover, palette.selected) for below in known}
    mixed.add(over(tint(palette.accent, 0.55), palette.border))  # the ring around the composer
    assert set(re.findall(r"#[0-9A-F]{6}\b", stylesheet(palette, Path("pictures")))) <= known | mixed


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("below", ["window", "sidebar", "raised"])
def test_focus_ring_and_icons_stand_out(palette, below):
    for color in ("accent", "secondary"):
        assert contrast(getattr(palette, color), getattr(palette, below)) >= 3.0
