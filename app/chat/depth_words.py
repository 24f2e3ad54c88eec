"""How deep an answer is drafted, and why, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.translate import marked, tr
from mtplx_engine.measurement import times
from mtplx_engine.protocol import DepthReason

if TYPE_CHECKING:
    from mtplx_engine.protocol import DepthChosen

_DEEP = {
    DepthReason.MEASURING: marked("depth {depth}: still measuring what pays"),
    DepthReason.FASTEST: marked("depth {depth}: the fastest here"),
    DepthReason.CHOSEN: marked("depth {depth}: chosen by you"),
    DepthReason.REPEATABLE: marked("depth {depth}: kept, so that the seed gives the same text again"),
}
_PLAIN = {
    DepthReason.MEASURING: marked("not drafting: still measuring what pays"),
    DepthReason.FASTEST: marked("parked: drafting does not pay here"),
    DepthReason.PARKED: marked("parked: drafting does not pay here"),
    DepthReason.TURNED_OFF: marked("off: slower here, as a measurement on this machine found"),
    DepthReason.CHOSEN: marked("off: chosen by you"),
    DepthReason.REPEATABLE: marked("off: kept, so that the seed gives the same text again"),
    DepthReason.NO_DRAFTER: marked("plain decoding: this model has nothing to draft with"),
}
_GAINS_LITTLE = marked("parked: drafting is not clearly faster here")
# Why a depth is what it is says nothing of speed where nobody looks at it.
_PARKED = (DepthReason.FASTEST, DepthReason.PARKED)
_BY_SPEED = (*_PARKED, DepthReason.MEASURING)


def depth_words(chosen: DepthChosen) -> str:
    """Return one line, as in "depth 2: expected 1.40x" or "parked: drafting does not pay here (expected 0.93x)"."""
    expected = "" if chosen.expected is None else times(chosen.expected)
    if chosen.depth and expected and chosen.reason is DepthReason.FASTEST:
        return tr("depth {depth}: expected {expected}").format(depth=chosen.depth, expected=expected)
    words = _DEEP if chosen.depth and chosen.reason in _DEEP else _PLAIN
    says_no_loss = (chosen.expected or 0.0) > 1 and not chosen.depth and chosen.reason in _PARKED
    why = tr(_GAINS_LITTLE if says_no_loss else words[chosen.reason]).format(depth=chosen.depth)
    if expected and (chosen.depth or chosen.reason in _BY_SPEED):
        return tr("{why} (expected {expected})").format(why=why, expected=expected)
    return why
