"""Events say which of their text is thinking, whatever the blocks in which it was decoded."""

from __future__ import annotations

import pytest

from mtplx_engine.config import SamplerConfig
from mtplx_engine.segments import Kind, Markup, Segmenter
from tests.support.tiny import DistortedDrafter, decode, letters, tiny_target

MARKUP = Markup("ab", "ca")  # both across tokens


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
        drafted += answer.finished.stats.accepted
    assert kinds == {Kind.ANSWER, Kind.THINKING}
    assert (drafted > 0) == (depth > 0)
