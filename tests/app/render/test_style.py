"""Code is legible in every colour."""

from __future__ import annotations

from dataclasses import fields

import pytest

from app.palette import DARK, LIGHT
from app.render.style import DARK_SYNTAX, LIGHT_SYNTAX


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("syntax", "palette"), [(LIGHT_SYNTAX, LIGHT), (DARK_SYNTAX, DARK)])
@pytest.mark.parametrize("role", [field.name for field in fields(LIGHT_SYNTAX)])
def test_syntax_colours_meet_aa_on_the_code_panel(syntax, palette, role):
    assert contrast(getattr(syntax, role), palette.code) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_labels_and_quotes_meet_aa_where_they_stand(palette):
    assert contrast(palette.secondary, palette.code) >= 4.5
    assert contrast(palette.secondary, palette.window) >= 4.5
    assert contrast(palette.text, palette.bubble) >= 4.5
    assert contrast(palette.accent, palette.bubble) >= 4.5
