"""The window never opens where no screen is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect, QSize

from app.widgets.window_geometry import DEFAULT_SIZE, MINIMUM_SIZE, fitted_geometry

LAPTOP = QRect(0, 25, 1440, 875)
DESK = QRect(1440, 0, 2560, 1440)


def test_first_time_is_centred_on_the_main_screen():
    place = fitted_geometry(None, [LAPTOP, DESK])
    assert place.size() == DEFAULT_SIZE
    assert abs(place.center().x() - LAPTOP.center().x()) <= 1


@pytest.mark.parametrize("wanted", [QRect(100, 100, 900, 600), QRect(1500, 10, 1800, 1200)])
def test_place_on_a_screen_is_kept(wanted):
    assert fitted_geometry(wanted, [LAPTOP, DESK]) == wanted


def test_place_on_a_screen_that_was_unplugged_is_pulled_back():
    place = fitted_geometry(QRect(1500, 10, 1200, 800), [LAPTOP])
    assert LAPTOP.contains(place)
    assert place.size() == QSize(1200, 800)


numbers = st.integers(-10_000, 10_000)


@given(numbers, numbers, st.integers(0, 10_000), st.integers(0, 10_000))
def test_title_is_always_in_reach(x, y, width, height):
    place = fitted_geometry(QRect(x, y, width, height), [LAPTOP, DESK])
    title = QRect(place.left(), place.top(), place.width(), 28)
    assert any(screen.intersected(title).width() >= 120 for screen in (LAPTOP, DESK))
    assert place.width() >= MINIMUM_SIZE.width()
    assert place.height() >= MINIMUM_SIZE.height()
