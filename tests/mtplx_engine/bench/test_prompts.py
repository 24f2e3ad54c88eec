"""There are prompts of each kind, and text of its kind fills one up to a length."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.bench.prompts import PROMPTS, filled, of_kind
from mtplx_engine.measure.measurement import LEAST_PAIRS, PromptKind


def encode(text: str) -> list[int]:
    """A tokenizer with a template: a word is a token, and so is each mark around it."""
    return [0, 0, *map(hash, re.findall(r"\w+|[^\w\s]", text)), 0]


def test_there_are_enough_prompts_of_each_kind_for_a_verdict() -> None:
    for kind in PromptKind:
        assert len(of_kind(kind)) >= LEAST_PAIRS
    assert sum(len(of_kind(kind)) for kind in PromptKind) == len(PROMPTS)


def test_each_prompt_has_a_name_and_a_text_of_its_own() -> None:
    assert len({prompt.id for prompt in PROMPTS}) == len({prompt.text for prompt in PROMPTS}) == len(PROMPTS)
    assert [prompt.id for prompt in PROMPTS[:4]] == ["chat-1", "code-1", "copy-1", "chat-2"]


def test_the_usual_bench_is_of_three_kinds_in_turn() -> None:
    assert [prompt.kind for prompt in PROMPTS[:12]] == [PromptKind.CHAT, PromptKind.CODE, PromptKind.COPY] * 4


@pytest.mark.parametrize("prompt", [of_kind(kind)[0] for kind in PromptKind], ids=str)
@given(length=st.integers(1, 3000))
def test_a_filled_prompt_is_nearly_as_long_as_is_wanted_and_ends_with_the_question(prompt, length: int) -> None:
    question, ids = encode(prompt.text), filled(prompt, length, encode)
    assert ids[-len(question) + 2 :] == question[2:]
    if length <= len(question):
        assert ids == question
    else:
        assert len(question) <= len(ids) <= length
        assert len(ids) >= 0.9 * length - 20
