"""Straight edges lie on the pixels of the screen, whatever its scale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QImage, QPainter

from app.dashboard.charts.chart import callout_position, marks_of
from app.dashboard.charts.drawing import (
    GAP,
    LINE,
    Box,
    Canvas,
    Drawing,
    DrawingPainter,
    Fill,
    Ink,
    Rule,
    Spot,
    color,
    rule_box,
    snapped,
)
from app.palette import DARK, LIGHT
from tests.support.chart_gallery import FIGURES

places = st.floats(0, 500)


@given(places, places, st.floats(0, 90), st.floats(0, 90), st.sampled_from([1.0, 1.25, 1.5, 2.0, 3.0]))
def test_snapped_edges_are_whole_device_pixels_near_where_they_belong(x, y, width, height, scale):
    left, top, across, down = snapped(x, y, width, height, scale)
    for edge in (left, top, left + across, top + down):
        assert edge * scale == pytest.approx(round(edge * scale), abs=1e-6)
    assert min(across, down) * scale >= 1 - 1e-6
    assert abs(left - x) <= 0.51 / scale
    assert abs(left + across - x - width) <= 1.51 / scale


def image_of(shape, scale, palette=LIGHT):
    image = QImage(40 * scale, 40 * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(QColor(palette.window))
    painter = QPainter(image)
    DrawingPainter(painter, palette, scale).paint(Drawing((shape,), ()))
    painter.end()
    return image


@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize("at", [10.0, 10.3, 10.5])
def test_a_line_is_as_wide_as_it_is_and_never_blurred(scale, at):
    image = image_of(Rule(at, 0, at, 40, Ink.TEXT), scale)
    colors = [image.pixelColor(x, 20 * scale).name().upper() for x in range(image.width())]
    assert set(colors) == {LIGHT.window, LIGHT.text}
    assert colors.count(LIGHT.text) == scale


def test_lines_cover_a_pixel_around_their_points():
    assert rule_box(Rule(2, 8, 12, 8, Ink.TEXT)) == (2, 7.5, 10, 1)
    assert rule_box(Rule(5, 12, 5, 2, Ink.TEXT)) == (4.5, 2, 1, 10)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_fills_differ_without_their_colours(palette):
    """Grey pictures of the three fills are different, and each differs from the ground."""
    pictures = {
        fill: image_of(Box(4, 4, 30, 30, Ink.DRAFTED, fill), 1, palette).convertToFormat(
            QImage.Format.Format_Grayscale8
        )
        for fill in Fill
    }
    middles = {fill: [image.pixelColor(x, 20).value() for x in range(6, 30)] for fill, image in pictures.items()}
    assert len({tuple(row) for row in middles.values()}) == len(Fill)
    assert len(set(middles[Fill.SOLID])) == 1
    assert len(set(middles[Fill.HATCHED])) > 1


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ink", list(Ink))
def test_each_ink_has_a_colour(ink, palette):
    assert color(ink, palette).isValid()


@given(places, st.floats(0, 200), st.floats(10, 300), st.floats(10, 60))
def test_a_callout_is_inside_and_beside_its_point(x, y, width, height):
    left, top = callout_position(Spot(x, 0, 1, 200, (x, y)), width, height, (500, 200))
    assert left >= 0
    assert left + width <= 500
    assert top >= 0
    assert top + height <= 200


@pytest.mark.parametrize("name", [name for name, figures in FIGURES.items() if not figures.empty_text])
def test_a_callout_covers_its_own_point_nowhere_and_the_data_where_there_is_room_nowhere(name):
    figures = FIGURES[name]
    canvas = (480.0, float(figures.height))

    def text_width(text):
        return 6.0 * len(text)

    drawing = figures.drawing(Canvas(*canvas, text_width))
    marks = marks_of(drawing, text_width)
    assert marks
    for spot in (spot for spot in drawing.spots if spot.text):
        width, height = 6.0 * max(map(len, spot.text.split("\n"))), 2.0 * LINE
        left, top = callout_position(spot, width, height, canvas, marks)

        def covered(left, top, width=width, height=height):
            return sum(left < x < left + width and top < y < top + height for x, y in marks)

        assert not (left < spot.at[0] < left + width and top < spot.at[1] < top + height)
        # No worse than right above and right below.
        x, y = spot.at
        beside = min(max(0.0, x - width / 2), canvas[0] - width)
        for other in (y - GAP - height, y + GAP):
            if other >= 0 and other + height <= canvas[1]:
                assert covered(left, top) <= covered(beside, other) + 3


def test_a_callout_leaves_a_curve_in_sight_where_half_of_the_chart_is_free():
    marks = [(float(x), 30.0) for x in range(0, 500, 5)]
    for x in range(0, 500, 25):
        left, top = callout_position(Spot(x, 0, 1, 200, (x, 30.0)), 140, 40, (500, 200), marks)
        assert top > 30
        assert left >= 0
