"""Runs reduce to statistics that add up and verdicts that they bear out; a report of exactness to one verdict."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.answer import AnswerStats
from mtplx_engine.decoding import Step
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import Doubt, MeasuredRun, PromptKind, Ratio, SpeedVerdict
from mtplx_engine.measure.results import Exactness, judge_exactness
from tests.support.measurements import PLAIN_S, PREFILL_S, TOKENS, measurement, report, run

if TYPE_CHECKING:
    from mtplx_engine.stats import DecodeStats


def reduced(*ratios: float, **fields):
    return results.results_of(measurement(*ratios, **fields))


def with_depths(**ratios_of: tuple[float, ...]):
    """A measurement of several depths over the same pairs, as in `d1=(2.0, 2.1, 2.2)`."""
    parts = [measurement(*ratios, depth=int(name[1:]), accepted_at=(16,)) for name, ratios in ratios_of.items()]
    plain = [each for each in parts[0].runs if not each.depth]
    drafted = [each for part in parts for each in part.runs if each.depth]
    depths = tuple(sorted({each.depth for each in drafted}))
    return results.results_of(dataclasses.replace(parts[0], runs=(*plain, *drafted), auto_depths=depths))


def test_drafting_that_takes_half_the_time_is_twice_as_fast() -> None:
    found = reduced(2.0, 2.0, 2.0)
    [depth] = found.depths
    assert depth.wall == Ratio(pytest.approx(2), pytest.approx(2), pytest.approx(2), 3)
    assert depth.verdict is SpeedVerdict.FASTER
    assert found.winner == depth.depth == 3
    assert found.headline is depth
    # The prefill takes as long either way, so decoding alone gains more than twice.
    assert depth.decode is not None
    assert depth.decode.median == pytest.approx(PLAIN_S / ((PREFILL_S + PLAIN_S) / 2 - PREFILL_S))
    assert (depth.wall_s, found.plain.wall_s) == (pytest.approx(0.3), pytest.approx(0.6))


def test_plain_decoding_is_told_in_its_own_figures() -> None:
    plain = reduced(2.0, 0.5, 1.0).plain
    assert plain.runs == 3
    assert plain.decode_tps == pytest.approx((TOKENS - 1) / PLAIN_S)
    assert plain.step_s == pytest.approx(PLAIN_S / (TOKENS - 1))
    assert plain.prefill_tps == pytest.approx(100 / PREFILL_S)
    assert plain.peak_bytes == 400_000_000


def test_a_loss_says_slower_and_turns_drafting_off() -> None:
    found = reduced(0.6, 0.61, 0.62)
    assert found.depths[0].verdict is SpeedVerdict.SLOWER
    assert found.winner == 0
    assert found.headline is found.depths[0]


@pytest.mark.parametrize("ratios", [(0.98, 1.0, 1.03), (1.0, 1.0, 1.0), (0.99, 0.98, 1.01), (3.0, 3.0)])
def test_what_is_unclear_decides_nothing(ratios: tuple[float, ...]) -> None:
    assert reduced(*ratios).winner is None


def test_the_fastest_of_the_faster_depths_wins() -> None:
    found = with_depths(d1=(1.3, 1.4, 1.5), d2=(1.6, 1.7, 1.8), d3=(0.9, 1.9, 2.0))
    assert [each.verdict for each in found.depths] == [
        SpeedVerdict.FASTER,
        SpeedVerdict.FASTER,
        SpeedVerdict.UNCLEAR,
    ]
    assert found.winner == 2
    assert found.headline is found.at(2)


def test_drafting_is_off_only_when_every_depth_is_slower() -> None:
    assert with_depths(d1=(0.9, 0.95, 0.99), d4=(0.5, 0.6, 0.7)).winner == 0
    assert with_depths(d1=(0.9, 0.95, 1.01), d4=(0.5, 0.6, 0.7)).winner is None
    assert with_depths(d1=(0.9, 0.95, 0.99), d4=(0.5, 0.6, 0.7)).headline.depth == 1


@pytest.mark.parametrize(
    ("fields", "temperature", "doubt"),
    [
        ({"depth": 8, "auto_depths": (1, 2, 3, 4)}, 0.0, Doubt.UNTRIED),
        ({"depth": 1, "auto_depths": (1, 2), "accepted_at": (16,)}, 0.0, Doubt.UNTRIED),
        ({"accepted_at": (15, 15, 14)}, 0.0, Doubt.FEW_STEPS),
        ({}, 1.0, Doubt.TEMPERATURE),
        ({}, 0.7, None),
        ({"depth": 1, "auto_depths": (1,), "accepted_at": (16,)}, 0.0, None),
    ],
)
def test_slower_turns_nothing_off_that_was_not_tried_well_enough(
    fields: dict[str, object], temperature: float, doubt: Doubt | None
) -> None:
    slower = dataclasses.replace(measurement(0.6, 0.61, 0.62, **fields), temperature=temperature)
    found = results.results_of(slower)
    assert found.slower
    assert found.doubt is doubt
    assert found.winner == (None if doubt else 0)
    assert results.turns_off(slower) is (doubt is None)
    assert not results.turns_off(dataclasses.replace(slower, lifted=True))


def test_kinds_have_ratios_of_their_own() -> None:
    kinds = (PromptKind.CHAT, PromptKind.CODE)
    [depth] = reduced(1.1, 2.0, 1.2, 2.1, 1.3, 2.2, kinds=kinds).depths
    by_kind = dict(depth.by_kind)
    assert list(by_kind) == list(kinds)
    assert by_kind[PromptKind.CHAT].median == pytest.approx(1.2)
    assert by_kind[PromptKind.CODE] == Ratio(pytest.approx(2.1), pytest.approx(2.0), pytest.approx(2.2), 3)
    assert depth.wall.pairs == 6


def test_acceptance_is_by_position_of_all_steps_and_the_histogram_by_step() -> None:
    [depth] = reduced(2.0, 2.0, 2.0, accepted_at=(16, 12, 9)).depths
    steps = TOKENS - 1 - 37
    assert (depth.verify_steps, depth.drafted, depth.accepted) == (3 * steps, 9 * steps, 111)
    assert depth.acceptance == pytest.approx((16 / steps, 12 / steps, 9 / steps))
    assert depth.histogram == (3 * (steps - 16), 12, 9, 27)
    assert depth.mean_acceptance_length == pytest.approx(1 + 37 / steps)
    assert depth.ceiling == 4
    assert not depth.few


def test_the_prediction_is_mean_length_times_step_over_cycle() -> None:
    [depth] = reduced(2.0, 2.0, 2.0).depths
    assert depth.predicted == pytest.approx(depth.mean_acceptance_length * depth.step_s / depth.cycle_s)
    steps = TOKENS - 1 - 37
    assert depth.cycle_s == pytest.approx(0.2 / (steps - 1))


def test_without_a_verify_step_there_are_no_figures_instead_of_zeros() -> None:
    plain, drafted = run(0, 0, decode_s=0.5), run(0, 2, decode_s=0.5)
    stats = dataclasses.replace(drafted.stats, verify_steps=0, plain_steps=60, drafted=0)
    whole = dataclasses.replace(measurement(1.0), runs=(plain, dataclasses.replace(drafted, stats=stats)))
    [depth] = results.results_of(whole).depths
    assert depth.acceptance == ()
    assert depth.mean_acceptance_length is depth.acceptance_rate is depth.predicted is None
    assert depth.few


def test_an_answer_that_ended_early_is_not_compared_by_its_time() -> None:
    short = run(0, 2, decode_s=0.1)
    short = dataclasses.replace(short, stats=dataclasses.replace(short.stats, emitted=20, decode_tokens=19))
    whole = dataclasses.replace(measurement(1.0), runs=(run(0, 0, decode_s=0.5), short))
    [depth] = results.results_of(whole).depths
    assert depth.wall is None
    assert depth.verdict is SpeedVerdict.TOO_FEW
    assert depth.decode.median == pytest.approx((19 / 0.1) / (60 / 0.5))
    assert results.results_of(whole).winner is None


def test_identical_answers_are_counted_where_they_were_compared() -> None:
    assert reduced(1.0, 1.0, 1.0, differing=1).depths[0].identical == (2, 3)
    runs = tuple(dataclasses.replace(each, identical=None) for each in measurement(1.0).runs)
    assert results.results_of(dataclasses.replace(measurement(1.0), runs=runs)).depths[0].identical is None


@pytest.mark.parametrize(
    "broken",
    [
        {"accepted_at": (5, 6), "accepted": 11},
        {"accepted_at": (5, 4), "accepted": 8},
        {"accepted_at": (99,), "accepted": 99},
        {"accepted_at": (5, -1), "accepted": 4},
        {"accepted_at": (3, 2, 1), "accepted": 6},
    ],
)
def test_counts_that_contradict_each_other_are_no_result(broken: dict[str, object]) -> None:
    drafted = run(0, 2, decode_s=0.5)
    drafted = dataclasses.replace(drafted, stats=dataclasses.replace(drafted.stats, **broken))
    with pytest.raises(ValueError, match="add up"):
        results.results_of(dataclasses.replace(measurement(1.0), runs=(run(0, 0, decode_s=0.5), drafted)))


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e300, 1e-300])
def test_times_that_cannot_be_are_no_result(seconds: float) -> None:
    plain = dataclasses.replace(run(0, 0, decode_s=0.5), wall_s=seconds)
    for broken in (plain, run(0, 0, decode_s=seconds)):
        with pytest.raises(ValueError, match="times"):
            results.results_of(dataclasses.replace(measurement(1.0), runs=(broken,)))


def test_a_pair_without_plain_decoding_is_no_result() -> None:
    with pytest.raises(ValueError, match="plain"):
        results.results_of(dataclasses.replace(measurement(1.0), runs=(run(1, 0, decode_s=1), run(0, 2, decode_s=1))))
    with pytest.raises(ValueError, match="plain"):
        results.results_of(dataclasses.replace(measurement(1.0), runs=()))


@st.composite
def answers(draw: st.DrawFn) -> tuple[int, DecodeStats, int]:
    """A depth, the figures of an answer drafted at most so deep, cut at its end, and the tokens shown of it."""
    depth = draw(st.integers(1, 8))
    tally, shown = AnswerStats(9, 0, 0, str(depth)), 0
    for _ in range(draw(st.integers(0, 20))):
        drafted = draw(st.integers(0, depth))
        accepted = draw(st.integers(0, drafted))
        tally.cycle(Step(tuple(range(accepted + 1)), drafted, accepted), accepted + 1)
        shown += accepted + 1
    cut = draw(st.integers(0, min(shown, depth + 1)))
    return depth, tally.stats(cut), shown - cut


@given(answers())
def test_acceptance_sums_to_a_over_v_and_the_histogram_to_v_and_tokens_to_those_shown(
    answer: tuple[int, DecodeStats, int],
) -> None:
    depth, stats, shown = answer
    plain = run(0, 0, decode_s=0.5)
    drafted = MeasuredRun(0, "chat-0", PromptKind.CHAT, depth, 0.4, stats, 1, None)
    [found] = results.results_of(dataclasses.replace(measurement(1.0), runs=(plain, drafted))).depths
    assert stats.emitted == shown
    assert sum(found.histogram) == found.verify_steps == stats.verify_steps
    assert sum(place * count for place, count in enumerate(found.histogram)) == found.accepted
    assert len(found.histogram) == found.ceiling
    assert min(found.histogram) >= 0
    if found.verify_steps:
        assert sum(found.acceptance) == pytest.approx(found.accepted / found.verify_steps)
        assert list(found.acceptance) == sorted(found.acceptance, reverse=True)
        assert 1 <= found.mean_acceptance_length <= found.ceiling


# ---------------------------------------------------------------- exactness


SAME = dataclasses.replace(report(), distance=0.0, logit_distance=0.0)


def test_identical_means_bit_for_bit() -> None:
    assert judge_exactness(SAME) is Exactness.IDENTICAL
    # Logits may differ where the distribution, after its own rounding, does not.
    assert judge_exactness(dataclasses.replace(SAME, logit_distance=1e-6)) is Exactness.ROUNDING


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"distance": 0.002, "first_choices": 30},
        {"greedy_same": 6, "greedy_ties": 2},
        {"p_value": 1e-2},
    ],
)
def test_rounding_is_no_fault(changes: dict[str, float]) -> None:
    assert judge_exactness(dataclasses.replace(report(), **changes)) is Exactness.ROUNDING


@pytest.mark.parametrize(
    "changes",
    [
        {"distance": 0.0021},
        {"greedy_same": 7},
        {"greedy_same": 6, "greedy_ties": 1},
        {"p_value": 0.9e-6},
        {"p_value": 0.0},
    ],
)
def test_more_than_rounding_and_chance_is_a_fault(changes: dict[str, float]) -> None:
    for sound in (SAME, report()):
        assert judge_exactness(dataclasses.replace(sound, **changes)) is Exactness.DIFFERENT


@pytest.mark.parametrize(
    ("p_value", "word"), [(None, Exactness.TOO_FEW), (0.9e-2, Exactness.ODD), (1.1e-6, Exactness.ODD)]
)
def test_draws_that_are_too_few_or_odd_are_no_good_news(p_value: float | None, word: Exactness) -> None:
    for sound in (SAME, report()):
        assert judge_exactness(dataclasses.replace(sound, p_value=p_value)) is word
        assert judge_exactness(dataclasses.replace(sound, p_value=p_value, greedy_same=7)) is Exactness.DIFFERENT
