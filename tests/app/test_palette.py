"""Everything that is read can be read, in light and in dark."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QColor

from app.palette import DARK, LIGHT, over, tint
from app.stylesheet import stylesheet


def luminance(color):
    def linear(value):
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    c = QColor(color)
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF())


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def pairs(palette):
    for below in ("window", "sidebar", "raised", "bubble", "code"):
        for color in ("text", "secondary"):
            yield color, getattr(palette, color), below, getattr(palette, below)
    for below in ("window", "sidebar", "raised"):
        for color in ("tertiary", "accent", "faster", "slower", "warning"):
            yield color, getattr(palette, color), below, getattr(palette, below)
    for below in ("window", "sidebar"):
        for layer in ("hover", "selected"):
            yield (
                "text",
                palette.text,
                f"{layer} on {below}",
                over(getattr(palette, layer), getattr(palette, below)),
            )
    yield "on_accent", palette.on_accent, "accent", palette.accent
    yield "on_accent", palette.on_accent, "accent pointed at", over(palette.hover, palette.accent)
    yield "toast_text", palette.toast_text, "toast", palette.toast
    yield "toast_action", palette.toast_action, "toast", palette.toast


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
    sheet = stylesheet(palette)
    assert "$" not in sheet
    assert palette.accent in sheet
    assert sheet.count("{") == sheet.count("}")
