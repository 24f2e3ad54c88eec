"""Events say which of their text is thinking and which was drafted, whatever the blocks in which it was decoded."""

from __future__ import annotations

import itertools

import pytest

from mtplx_engine.config import SamplerConfig
from mtplx_engine.text.segments import Kind, Markup, Segment, Segmenter
from tests.support.tiny import Decoded, DistortedDrafter, decode, letters, tiny_target

MARKUP = Markup("ab", "ca")  # both across tokens


def check_marks(answer: Decoded, segments: list[Segment]) -> None:
    """Here a token is a character, so what was drafted is known of each."""
    flags = [index < event.accepted for event in answer.events for index in range(len(event.token_ids))]
    told = [
        [index % 2 == 1 for index, length in enumerate(event.marks) for _ in range(length)]
        for event in (*answer.events, answer.finished)
    ]
    assert [len(each) for each in told] == [len(e.text) for e in (*answer.events, answer.finished)]
    said = [segment for segment in segments if segment.kind is Kind.ANSWER]
    expected = [flags[segment.start + index] for segment in said for index in range(len(segment.text))]
    assert list(itertools.chain(*told)) == expected


@pytest.mark.parametrize("depth", [0, 3])
def test_thinking_and_answer_are_told_apart(depth: int) -> None:
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
        for kind, told in (
            (Kind.ANSWER, [event.text for event in events]),
            (Kind.THINKING, [event.thinking for event in events]),
        ):
            expected = "".join(segment.text for segment in segments if segment.kind is kind)
            assert "".join(told) == expected
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
