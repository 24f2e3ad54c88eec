"""What was streamed ends as if it had been read whole: three hundred texts, the short ones cut at every position."""

from __future__ import annotations

import random

import pytest

from tests.support.page import Page
from tests.support.written_texts import COUNT, all_texts, by_hand

SHORT = 45  # of this length and less, every position is tried in `make test`


def test_there_are_three_hundred_different_ones():
    assert len(set(all_texts())) == COUNT
    assert len(by_hand()) >= 60


@pytest.mark.parametrize("first", range(0, COUNT, 30))
def test_streamed_texts_end_equal_to_whole_ones(qapp, first):
    dice = random.Random(first)
    for text in all_texts()[first : first + 30]:
        sizes = [dice.randint(1, 24) for _ in range(7)]
        assert Page().stream(text, sizes).look() == Page().show(text).look(), (text, sizes)


def cut_everywhere(text):
    expected = Page().show(text).final()
    for position in range(1, len(text)):
        page = Page().stream(text, [position, len(text)])
        assert page.final() == expected, (text, position)


@pytest.mark.parametrize("text", [text for text in by_hand() if len(text) <= SHORT])
def test_short_texts_may_be_cut_at_every_position(qapp, text):
    cut_everywhere(text)


@pytest.mark.long
@pytest.mark.parametrize("text", [text for text in all_texts() if SHORT < len(text) <= 200])
def test_longer_texts_may_be_cut_at_every_position(qapp, text):
    cut_everywhere(text)
