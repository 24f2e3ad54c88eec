"""Packed keys and values through the engine: rolled back and reused like the others; their ends: `test_endings.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import cache_kinds
from tests.support.tiny_chat import PROMPT, Chat

if TYPE_CHECKING:
    from mtplx_engine.models.loader import LoadedModel


@pytest.fixture(scope="module", params=[4, 8])
def packed(request: pytest.FixtureRequest, tiny_model: LoadedModel) -> LoadedModel:
    return cache_kinds.packed(tiny_model, request.param)


@pytest.mark.parametrize("right", range(5))
def test_after_every_accept_count(packed: LoadedModel, right: int) -> None:
    chat = Chat(packed, [right])
    chat.answer(depth=4, max_tokens=20)
    assert chat.tokens == Chat(packed).answer(depth=0, max_tokens=20)
    assert (4, right) in {(event.drafted, event.accepted) for event in chat.cycles}
    chat.check()


@pytest.mark.parametrize("depth", [0, 3])
def test_any_length_is_reused(packed: LoadedModel, depth: int) -> None:
    chat = Chat(packed, right=[2, 0, 3])
    again = 1 if depth else 0
    second = [*PROMPT, *chat.answer(depth=depth), 9, 8]
    for prompt, cached in [(second, 46), (second, 48), ([*second[:30], 7, 7], 30)]:
        chat.answer(prompt, depth=depth)
        assert chat.tokens == Chat(packed).answer(prompt, depth=0)
        assert chat.cached == cached - again
        chat.check()
