"""Sliding windows through the engine: rolled back and reused like the others; their ends: `test_endings.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine.cache import layers
from tests.support import cache_kinds
from tests.support.tiny_chat import PROMPT, Chat

if TYPE_CHECKING:
    from mtplx_engine.models.loader import LoadedModel


@pytest.fixture
def windowed(tiny_model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    """A model whose windows of 12 tokens move on all the time: their buffers have hardly any room."""
    monkeypatch.setattr(layers, "_STEP", 4)
    return cache_kinds.windowed(tiny_model)


@pytest.mark.parametrize(
    ("right", "verify_core"), [*((right, "target") for right in range(5)), (1, "strict"), (3, "strict")]
)
def test_after_every_accept_count(windowed: LoadedModel, right: int, verify_core: str) -> None:
    chat = Chat(windowed, [right])
    chat.answer(depth=4, max_tokens=60, verify_core=verify_core)
    assert chat.tokens == Chat(windowed).answer(depth=0, max_tokens=60)
    assert {(event.drafted, event.accepted) for event in chat.cycles[:-4]} == {(4, right)}
    chat.check()


@pytest.mark.parametrize("depth", [0, 3])
def test_regenerating_and_editing_start_from_checkpoints(windowed: LoadedModel, depth: int) -> None:
    def ask(prompt: list[int]) -> int:
        chat.answer(prompt, depth=depth, max_tokens=60)
        assert chat.tokens == Chat(windowed).answer(prompt, depth=0, max_tokens=60)
        chat.check()
        return chat.cached

    chat = Chat(windowed, right=[2, 0, 3])
    second = [*PROMPT, *chat.answer(depth=depth, max_tokens=60), 9, 8]
    assert ask(second) == 99
    assert ask(second) == 101
    assert ask([*second[:100], 7]) == 99
    assert ask(PROMPT) == 39
