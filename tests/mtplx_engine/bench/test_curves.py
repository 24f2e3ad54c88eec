"""What verifying costs is timed without a trace: cache and drafter are then as if nothing had been tried."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.bench.curves import WIDEST, CostMeter
from mtplx_engine.cache import TokenCache
from mtplx_engine.draft.prompt_lookup import PromptLookupDrafter
from tests.support.fresh import check_caches
from tests.support.tiny import tiny_head_drafter, tiny_target
from tests.support.tiny_hybrid import hybrid_head_drafter, hybrid_target

if TYPE_CHECKING:
    from mtplx_engine.draft.mtp_head import MTPDrafter
    from mtplx_engine.models.target import Target

VOCABULARY = 64
NEVER = threading.Event()
TEXT = [(7 * n + n * n) % VOCABULARY for n in range(60)]


def model(kind: str) -> tuple[Target, MTPDrafter]:
    if kind == "plain":
        target = tiny_target(VOCABULARY, layers=2, hidden=64)
        return target, tiny_head_drafter(target)
    target = hybrid_target(kind, VOCABULARY)
    return target, hybrid_head_drafter(kind, target)


@pytest.mark.parametrize("kind", ["plain", "qwen3_5", "qwen3_next"])
def test_cache_and_drafter_end_where_they_were(kind: str) -> None:
    target, drafter = model(kind)
    cache = TokenCache(target.new_layers())
    meter = CostMeter(target, cache, drafter)
    for length in (20, 37):
        assert list(meter.read(TEXT, length, chunk=8))[-1] == length
        curve = meter.curve(TEXT[length:], NEVER)
        assert curve.context == length
        assert len(curve.seconds) == WIDEST
        assert min(*curve.seconds, curve.draft_s) > 0
        assert drafter.pairs == length
    # The drafter's last pair is that of the token that comes next.
    check_caches(target, TEXT[:37], cache, None, lambda: drafter)
    drafter.trim_to(36)
    check_caches(target, TEXT[:37], cache, drafter, lambda: model(kind)[1])


def test_medians_are_of_turns_and_the_first_round_is_dropped() -> None:
    """On a clock that gives the n-th reading n squared, each duration is known."""
    target, drafter = model("plain")
    readings = (float(n * n) for n in itertools.count())
    meter = CostMeter(target, TokenCache(target.new_layers()), drafter, lambda: next(readings))
    list(meter.read(TEXT, 10, chunk=16))
    curve = meter.curve(TEXT[10:], NEVER)
    # A round reads the clock twice for each width and twice for a draft; the median round is the fourth.
    first = 3 * 2 * (WIDEST + 1)
    durations = [(first + 2 * place + 1) ** 2 - (first + 2 * place) ** 2 for place in range(WIDEST + 1)]
    assert curve.seconds == tuple(durations[:WIDEST])
    assert curve.draft_s == durations[WIDEST] / 4


def test_a_drafter_that_has_nothing_to_propose_costs_nothing_that_is_known() -> None:
    target, _head = model("plain")
    text = list(range(40))  # nothing in it comes twice
    meter = CostMeter(target, TokenCache(target.new_layers()), PromptLookupDrafter(VOCABULARY))
    list(meter.read(text, 20, chunk=8))
    assert meter.curve(text[20:], NEVER).draft_s is None


def test_it_stops_when_it_is_cancelled() -> None:
    target, drafter = model("plain")
    meter = CostMeter(target, TokenCache(target.new_layers()), drafter)
    list(meter.read(TEXT, 10, chunk=16))
    cancelled = threading.Event()
    cancelled.set()
    assert meter.curve(TEXT[10:], cancelled) is None
