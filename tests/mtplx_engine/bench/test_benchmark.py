"""Measurements of methods whose true figures are known: each number and each verdict is right."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.bench.benchmark import WIDEST, BenchmarkPrompt, BenchmarkRuns, CostMeter, PairedBenchmark
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.draft.prompt_lookup import PromptLookupDrafter
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import PromptKind, Ratio, SpeedVerdict, times
from tests.support.fresh import check_caches
from tests.support.measurements import measurement
from tests.support.scripted_method import Clock, ScriptedMethod
from tests.support.tiny import tiny_head_drafter, tiny_target
from tests.support.tiny_hybrid import hybrid_head_drafter, hybrid_target

if TYPE_CHECKING:
    from mtplx_engine.bench.benchmark import Progress
    from mtplx_engine.draft.mtp_head import MTPDrafter
    from mtplx_engine.measure.measurement import MeasuredRun
    from mtplx_engine.measure.results import Results
    from mtplx_engine.models.target import Target


STEP_S, PREFILL_S, TOKENS = 1 / 128, 1 / 8, 64  # binary, so that equal times are exactly equal
OTHERS_S = 1 / 100
KINDS = (PromptKind.CHAT, PromptKind.CODE, PromptKind.CHAT)
NEVER = threading.Event()


def paired(clock: Clock, *drafting: dict, plain: dict | None = None, **fields) -> PairedBenchmark:
    """Plain decoding at 128 tokens a second against drafting as it is given, by depth; three prompts."""
    methods = [
        ScriptedMethod(
            f"mtp depth {given.get('depth', 1)}",
            clock,
            **{"depth": 1, "cycle_s": STEP_S, "prefill_s": PREFILL_S, **given},
        )
        for given in drafting
    ]
    prompts = [BenchmarkPrompt(f"{kind}-{n}", kind, [1] * 10) for n, kind in enumerate(KINDS)]
    return PairedBenchmark(
        **{
            "base": ScriptedMethod("depth 0", clock, **{"cycle_s": STEP_S, "prefill_s": PREFILL_S, **(plain or {})}),
            "others": methods,
            "reference": ScriptedMethod("mlx-lm", clock, cycle_s=OTHERS_S, prefill_s=PREFILL_S),
            "prompts": prompts,
            "temperature": 0.0,
            "tokens": TOKENS,
            **fields,
        }
    )


def run_all(
    given: PairedBenchmark, clock: Clock, cancelled: threading.Event = NEVER
) -> tuple[list[Progress], BenchmarkRuns | None]:
    steps = list(given.run(cancelled, pause_s=0, clock=clock))
    if isinstance(steps[-1], BenchmarkRuns):
        return steps[:-1], steps[-1]
    return steps, None


def runs(outcome: BenchmarkRuns) -> tuple[MeasuredRun, ...]:
    return tuple(entry.run for entry in outcome.entries if entry.method != "mlx-lm")


def measured(*drafting: dict, plain: dict | None = None, **fields) -> Results:
    clock = Clock()
    _told, outcome = run_all(paired(clock, *drafting, plain=plain, **fields), clock)
    tried = tuple(sorted({run.depth for run in runs(outcome)} - {0}))
    return results.results_of(dataclasses.replace(measurement(1.0), runs=runs(outcome), auto_depths=tried))


def exactly(value: float, pairs: int = 3) -> Ratio:
    return Ratio(*[pytest.approx(value)] * 3, pairs)


def test_drafting_that_is_twice_as_fast() -> None:
    found = measured({"accepted": (1,)})
    [depth] = found.depths
    assert depth.decode == exactly(2.0)
    assert depth.wall == exactly((PREFILL_S + 64 * STEP_S) / (PREFILL_S + 32 * STEP_S))
    assert depth.verdict is SpeedVerdict.FASTER
    assert found.winner == 1
    assert found.plain.decode_tps == pytest.approx(128)
    assert (depth.step_s, depth.cycle_s) == (pytest.approx(STEP_S), pytest.approx(STEP_S))
    assert depth.acceptance == (1.0,)
    assert depth.histogram == (0, 96)
    assert depth.mean_acceptance_length == depth.predicted == pytest.approx(2.0)
    assert depth.identical == (3, 3)


def test_drafting_that_takes_the_time_of_more_tokens_than_it_gives_is_slower() -> None:
    found = measured({"accepted": (1,), "cycle_s": 2 * STEP_S / 0.6})
    [depth] = found.depths
    assert depth.decode == exactly(0.6)
    assert depth.wall.high < 1
    assert depth.verdict is SpeedVerdict.SLOWER
    assert depth.predicted == pytest.approx(0.6)
    assert found.winner == 0


@pytest.mark.parametrize("slower", [(0.98, 1.0, 1.03), (1.0, 1.0, 1.0)])
def test_equal_within_noise_is_no_clear_difference(slower: tuple[float, ...]) -> None:
    found = measured({"accepted": (1,), "cycle_s": 2 * STEP_S, "slower": slower})
    assert found.depths[0].verdict is SpeedVerdict.UNCLEAR
    assert found.winner is None


def test_ranges_that_overlap_decide_nothing_whatever_the_median() -> None:
    found = measured({"accepted": (1,), "slower": (0.5, 1.0, 2.1)})
    [depth] = found.depths
    assert depth.wall.low < 1 < 1.6 < depth.wall.median
    assert depth.verdict is SpeedVerdict.UNCLEAR
    assert found.winner is None


def test_a_loss_of_a_thousandth_is_shown_as_one() -> None:
    [depth] = measured({"accepted": (1,), "cycle_s": 2 * STEP_S * 1.001}).depths
    assert depth.verdict is SpeedVerdict.SLOWER
    assert times(depth.wall.median) == "0.99x"


def test_an_answer_that_drafting_ends_early_does_not_count_as_fast() -> None:
    found = measured({"accepted": (1,), "cycle_s": 2 * STEP_S, "ends_at": 21})
    [depth] = found.depths
    assert depth.wall is None
    assert depth.verdict is SpeedVerdict.TOO_FEW
    assert found.winner is None
    # 21 tokens in 11 blocks of 2, the last one cut: 10 blocks after the first one took two steps each.
    assert depth.decode_tps == pytest.approx(19 / (10 * 2 * STEP_S))
    assert depth.identical == (0, 3)


def test_without_acceptance_each_step_gives_one_token() -> None:
    found = measured({"depth": 2, "accepted": (0,), "cycle_s": 1.2 * STEP_S})
    [depth] = found.depths
    assert depth.acceptance == (0.0, 0.0)
    assert depth.mean_acceptance_length == 1.0
    assert depth.acceptance_rate == 0.0
    assert depth.decode == exactly(1 / 1.2)
    assert found.winner == 0
    # The last token of each answer is decoded plainly: there is no room for a draft.
    assert depth.histogram == (3 * (TOKENS - 1), 0, 0)


def test_an_end_in_a_block_credits_no_draft_after_it() -> None:
    """An answer of 34 tokens: 8 whole blocks of 4, and 2 tokens of a ninth one, both of them accepted drafts."""
    found = measured({"depth": 3, "accepted": (3,), "ends_at": 34}, plain={"ends_at": 34})
    [depth] = found.depths
    assert depth.accepted_at == (27, 27, 24)
    assert (depth.verify_steps, depth.accepted, depth.drafted) == (27, 78, 81)
    assert depth.histogram == (0, 0, 3, 24)
    assert depth.wall == exactly((PREFILL_S + 34 * STEP_S) / (PREFILL_S + 9 * STEP_S))
    assert depth.decode == exactly((30 / (8 * STEP_S)) / 128)
    assert depth.identical == (3, 3)


def test_the_depth_that_gains_most_wins_and_memory_is_kept_apart() -> None:
    found = measured(
        {"depth": 1, "accepted": (1,), "peak": 1100},
        {"depth": 3, "accepted": (3, 1), "cycle_s": 1.1 * STEP_S, "peak": 1300},
        {"depth": 4, "accepted": (0,), "cycle_s": 1.5 * STEP_S, "peak": 1400},
    )
    assert [depth.verdict for depth in found.depths] == [
        SpeedVerdict.FASTER,
        SpeedVerdict.FASTER,
        SpeedVerdict.SLOWER,
    ]
    assert found.winner == 3
    assert (found.plain.peak_bytes, found.at(3).peak_bytes) == (1000, 1300)
    assert found.at(3).acceptance == pytest.approx((1, 11 / 21, 11 / 21))


def test_plain_decoding_is_checked_against_that_of_others_in_three_pairs() -> None:
    clock = Clock()
    prompts = [BenchmarkPrompt(f"chat-{n}", PromptKind.CHAT, [1]) for n in range(5)]
    given = paired(clock, {"accepted": (1,)}, prompts=prompts)
    _told, outcome = run_all(given, clock)
    assert results.decode_ratio(outcome.pairs(given.reference, given.base)) == exactly(1.28)
    assert [prompt for prompt, _ in given.reference.asked] == [0, 0, 1, 2]  # its warm-up, and three pairs
    assert {run.pair for run in runs(outcome)} == set(range(5))
    assert {run.depth for run in runs(outcome)} == {0, 1}


def test_each_round_begins_with_another_method_and_a_short_warm_up_is_dropped() -> None:
    clock = Clock()
    given = paired(clock, {"accepted": (1,)}, {"depth": 2, "accepted": (0,)}, reference=None)
    told, outcome = run_all(given, clock)
    assert [(entry.run.pair, entry.run.depth) for entry in outcome.entries] == [
        *((0, depth) for depth in (0, 1, 2)),
        *((1, depth) for depth in (1, 2, 0)),
        *((2, depth) for depth in (2, 0, 1)),
    ]
    for method in (given.base, *given.others):
        assert method.asked == [(0, 16), (0, TOKENS), (1, TOKENS), (2, TOKENS)]
    assert len(told) == 3 + 9


def test_answers_with_other_tokens_than_those_of_the_base_are_counted() -> None:
    clock = Clock()
    given = paired(clock, {"accepted": (1,), "ends_at": 60})
    _told, outcome = run_all(given, clock)
    assert {entry.run.identical for entry in outcome.entries if entry.method == "depth 0"} == {None}
    assert {entry.run.identical for entry in outcome.entries if entry.method == "mtp depth 1"} == {False}


def test_sampled_answers_are_not_compared() -> None:
    found = measured({"accepted": (1,)}, temperature=0.7)
    assert found.depths[0].identical is None


def test_kinds_are_told_apart() -> None:
    [depth] = measured({"accepted": (1,)}).depths
    assert [(kind, ratio.pairs) for kind, ratio in depth.by_kind] == [
        (PromptKind.CHAT, 2),
        (PromptKind.CODE, 1),
    ]


def test_progress_only_grows_and_the_time_left_is_that_of_the_turns_left() -> None:
    clock = Clock()
    told, _outcome = run_all(paired(clock, {"accepted": (1,)}), clock)
    assert len(told) == 3 + 3 * 3
    fractions = [step.fraction for step in told]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0.0
    assert fractions[-1] < 1
    assert {step.what for step in told[:3]} == {"warming up"}
    assert [step.left_s for step in told[:4]] == [None] * 4
    assert {step.what for step in told[3:]} == {
        f"{who}, {kind}" for who in ("plain decoding", "depth 1", "plain mlx-lm") for kind in ("chat", "code")
    }
    # Once each has answered, what is left is known exactly.
    walls = {
        "plain decoding": PREFILL_S + 64 * STEP_S,
        "depth 1": PREFILL_S + 32 * STEP_S,
        "plain mlx-lm": PREFILL_S + 64 * OTHERS_S,
    }
    left = [walls.get(step.what.partition(",")[0], 0.0) for step in told]
    for place, step in itertools.islice(enumerate(told), 6, None):
        assert step.left_s == pytest.approx(sum(left[place:]))


@pytest.mark.parametrize("at", [0, 1, 40, 200, 400])
def test_cancelled_in_the_middle_nothing_is_measured(at: int) -> None:
    clock, cancelled, calls = Clock(), threading.Event(), itertools.count()

    def count() -> None:
        if next(calls) == at:
            cancelled.set()

    given = paired(clock, {"accepted": (0,), "at_each": count}, plain={"at_each": count})
    told, outcome = run_all(given, clock, cancelled)
    assert cancelled.is_set()
    assert outcome is None
    assert next(calls) == at + 1  # not a cycle more
    assert told


def test_a_pause_ends_when_it_is_cancelled() -> None:
    clock, cancelled = Clock(), threading.Event()
    steps = paired(clock, {"accepted": (1,)}).run(cancelled, pause_s=600, clock=clock)
    next(steps)
    threading.Timer(0.02, cancelled.set).start()
    assert next(steps, None) is None


VOCABULARY = 64
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
