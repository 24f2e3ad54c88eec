"""Statistics of an answer, and which of its text is marked as thinking and as drafted, however it was decoded."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.answer import AnswerStats
from mtplx_engine.config import SamplerConfig
from mtplx_engine.decoding import Step
from mtplx_engine.text.segments import Kind, Markup, Segment, Segmenter
from tests.support.tiny import Decoded, DistortedDrafter, decode, letters, tiny_target


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def step(drafted: int, accepted: int) -> Step:
    return Step(tuple(range(accepted + 1)), drafted, accepted)


@st.composite
def cycles(draw: st.DrawFn) -> list[tuple[Step, int, float]]:
    """Cycles as (step, tokens kept, seconds); only the last one may be cut."""
    listed = []
    for _ in range(draw(st.integers(0, 12))):
        drafted = draw(st.integers(0, 8))
        accepted = draw(st.integers(0, drafted))
        listed.append((step(drafted, accepted), accepted + 1, draw(st.floats(0.001, 1))))
    if listed:
        last, whole, seconds = listed[-1]
        listed[-1] = (last, draw(st.integers(0, whole)), seconds)
    return listed


def test_fast_chunks_after_a_slow_prefill() -> None:
    """120 tokens in 40 chunks over 2 seconds after a prefill of 3: 60 tokens a second, not 24 and not 20."""
    clock = Clock()
    counter = AnswerStats(300, 100, 7, "2", clock)
    clock.now += 0.5
    counter.start_prefill()
    clock.now += 3.0
    for chunk in range(40):
        clock.now += 0.05 if chunk else 0.0
        counter.cycle(step(2, 2), 3)
        if chunk == 1:
            counter.text_shown()
            clock.now += 0.05  # what showing takes belongs to the next cycle
    stats = counter.stats()
    assert stats.emitted == 120
    assert (stats.decode_tokens, stats.decode_s) == (117, pytest.approx(39 * 0.05 + 0.05))
    assert stats.decode_tps == pytest.approx(60, rel=0.05)
    assert stats.prefill_s == pytest.approx(3.0)
    assert stats.prefill_tps == pytest.approx(200 / 3.0)
    assert stats.ttft_s == pytest.approx(0.5 + 3.0 + 0.05)
    assert (stats.verify_steps, stats.drafted, stats.accepted) == (40, 80, 80)
    assert (stats.acceptance_rate, stats.mean_acceptance_length) == (1.0, 3.0)
    assert (stats.prompt_tokens, stats.cached_tokens, stats.seed, stats.depth) == (300, 100, 7, "2")


@given(cycles())
def test_the_sums_agree(listed: list[tuple[Step, int, float]]) -> None:
    clock = Clock()
    counter = AnswerStats(10, 4, 0, "auto", clock)
    counter.start_prefill()
    times = []
    for one, kept, seconds in listed:
        clock.now += seconds
        times.append((clock.now, kept))
        counter.cycle(one, kept)
    stats = counter.stats()
    assert stats.emitted == sum(kept for _, kept, _ in listed)
    assert stats.verify_steps + stats.plain_steps == len(listed)
    assert stats.verify_steps == sum(one.drafted > 0 for one, _, _ in listed)
    assert stats.drafted == sum(one.drafted for one, _, _ in listed)
    assert stats.accepted == sum(min(one.accepted, kept) for one, kept, _ in listed)
    assert stats.accepted == sum(stats.accepted_at)
    assert len(stats.accepted_at) == max((one.drafted for one, _, _ in listed), default=0)
    assert list(stats.accepted_at) == sorted(stats.accepted_at, reverse=True)
    assert stats.emitted <= stats.accepted + len(listed)
    events = [(now, kept) for now, kept in times if kept]
    assert stats.prefill_s == (pytest.approx(times[0][0] - 100.0) if times else None)
    assert stats.decode_s == (pytest.approx(events[-1][0] - events[0][0]) if len(events) > 1 else None)
    assert stats.decode_tokens == sum(kept for _, kept in events[1:])


def test_an_answer_that_ends_at_once_has_no_speed() -> None:
    clock = Clock()
    counter = AnswerStats(10, 0, 0, "0", clock)
    counter.start_prefill()
    clock.now += 2.0
    counter.cycle(step(0, 0), 0)
    stats = counter.stats()
    assert (stats.emitted, stats.plain_steps, stats.prefill_s) == (0, 1, 2.0)
    assert (stats.decode_s, stats.decode_tps, stats.ttft_s) == (None, None, None)


def test_the_cycle_of_the_end_token_is_not_decoding_time() -> None:
    clock = Clock()
    counter = AnswerStats(10, 0, 0, "0", clock)
    for kept in (1, 1, 1, 0):
        clock.now += 1.0
        counter.cycle(step(0, 0), kept)
    assert (counter.stats().decode_s, counter.stats().decode_tps) == (2.0, 1.0)


def test_before_anything_happened_nothing_is_measured() -> None:
    stats = AnswerStats(10, 0, 0, "0", Clock()).stats()
    assert {value for value in dataclasses.astuple(stats) if isinstance(value, float)} == set()


def test_only_the_first_text_counts_for_ttft() -> None:
    clock = Clock()
    counter = AnswerStats(1, 0, 0, "0", clock)
    for _ in range(3):
        clock.now += 1.0
        counter.text_shown()
    assert counter.stats().ttft_s == 1.0
    assert counter.now() == 3.0


MARKUP = Markup("ab", "ca")  # both across tokens


def check_marks(answer: Decoded, segments: list[Segment]) -> None:
    """Here a token is a character, so what was drafted is known of each."""
    flags = [index < event.accepted for event in answer.events for index in range(len(event.token_ids))]
    shown = [
        [index % 2 == 1 for index, length in enumerate(event.marks) for _ in range(length)]
        for event in (*answer.events, answer.finished)
    ]
    assert [len(each) for each in shown] == [len(e.text) for e in (*answer.events, answer.finished)]
    said = [segment for segment in segments if segment.kind is Kind.ANSWER]
    expected = [flags[segment.start + index] for segment in said for index in range(len(segment.text))]
    assert list(itertools.chain(*shown)) == expected


@pytest.mark.parametrize("depth", [0, 3])
def test_thinking_and_answer_are_separated(depth: int) -> None:
    target, prompt = tiny_target(3), [0, 1, 2]
    drafted = 0
    kinds: set[str] = set()
    for seed in range(8):
        config = SamplerConfig(temperature=1, speculative_depth=depth)
        drafter = DistortedDrafter(target, prompt[0]) if depth else None
        answer = decode(target, drafter, prompt, config, seed=seed, max_tokens=30, markup=MARKUP)
        segmenter = Segmenter(MARKUP)
        segments = segmenter.push(letters(answer.tokens)) + segmenter.finish()
        events = [*answer.events, answer.finished]
        for kind, shown in (
            (Kind.ANSWER, [event.text for event in events]),
            (Kind.THINKING, [event.thinking for event in events]),
        ):
            expected = "".join(segment.text for segment in segments if segment.kind is kind)
            assert "".join(shown) == expected
            kinds |= {kind} if expected else set()
        check_marks(answer, segments)
        drafted += answer.finished.stats.accepted
    assert kinds == {Kind.ANSWER, Kind.THINKING}
    assert (drafted > 0) == (depth > 0)


def test_marks_end_where_a_stop_string_begins() -> None:
    target, prompt = tiny_target(3), [0, 1, 2]
    config = SamplerConfig(temperature=1, speculative_depth=3)

    def answer(seed: int, *stop: str) -> Decoded:
        drafter = DistortedDrafter(target, prompt[0])
        return decode(target, drafter, prompt, config, seed=seed, max_tokens=30, markup=Markup(), stop=stop)

    ended = 0
    for seed in range(8):
        text = letters(answer(seed).tokens)
        cut = answer(seed, text[12:14])
        shown = "".join(event.text for event in (*cut.events, cut.finished))
        check_marks(cut, [Segment(Kind.ANSWER, shown)])
        ended += len(shown) <= 12
    assert ended == 8
