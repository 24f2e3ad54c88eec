"""How deep is drafted, and why, in words."""

from __future__ import annotations

import pytest

from app.chat.depth_words import depth_words
from mtplx_engine.protocol import DepthChosen, DepthReason


@pytest.mark.parametrize(
    ("depth", "reason", "expected", "words"),
    [
        (2, DepthReason.FASTEST, 1.409, "depth 2: expected 1.40x"),
        (2, DepthReason.FASTEST, None, "depth 2: the fastest here"),
        (0, DepthReason.PARKED, None, "parked: drafting does not pay here"),
        (0, DepthReason.PARKED, 0.997, "parked: drafting does not pay here (expected 0.99x)"),
        (0, DepthReason.PARKED, 1.04, "parked: drafting is not clearly faster here (expected 1.04x)"),
        (0, DepthReason.FASTEST, 1.04, "parked: drafting is not clearly faster here (expected 1.04x)"),
        (0, DepthReason.FASTEST, 1.0, "parked: drafting does not pay here (expected 1.00x)"),
        (0, DepthReason.TURNED_OFF, 0.6, "off: slower here, as a measurement on this machine found"),
        (3, DepthReason.CHOSEN, None, "depth 3: chosen by you"),
        (3, DepthReason.CHOSEN, 0.9, "depth 3: chosen by you (expected 0.90x)"),
        (0, DepthReason.CHOSEN, 1.4, "off: chosen by you"),
        (1, DepthReason.MEASURING, None, "depth 1: still measuring what pays"),
    ],
)
def test_the_reason_is_said_and_no_loss_is_rounded_away(depth, reason, expected, words):
    assert depth_words(DepthChosen(1, depth, reason, expected)) == words


@pytest.mark.parametrize("reason", list(DepthReason))
@pytest.mark.parametrize("depth", [0, 2])
def test_every_reason_has_words(depth, reason):
    assert depth_words(DepthChosen(1, depth, reason))
