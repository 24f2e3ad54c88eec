"""Quantized caches, sliding windows and hybrids through the engine: rolled back after drafts, and reused.

After each count of accepted drafts the caches are those of a fresh prefill, bit for bit; for ends of answers see
`test_endings.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine.cache import layers
from mtplx_engine.cache.layers import RecurrentState
from tests.support import cache_kinds
from tests.support.tiny_chat import PROMPT, Chat
from tests.support.tiny_hybrid import KINDS, hybrid_chat_model

if TYPE_CHECKING:
    from mtplx_engine.models.loader import LoadedModel


@pytest.fixture(scope="module", params=[4, 8])
def packed(request: pytest.FixtureRequest, tiny_model: LoadedModel) -> LoadedModel:
    return cache_kinds.packed(tiny_model, request.param)


@pytest.mark.parametrize("right", range(5))
def test_quantized_caches_after_every_accept_count(packed: LoadedModel, right: int) -> None:
    chat = Chat(packed, [right])
    chat.answer(depth=4, max_tokens=20)
    assert chat.tokens == Chat(packed).answer(depth=0, max_tokens=20)
    assert (4, right) in {(event.drafted, event.accepted) for event in chat.cycles}
    chat.check()


@pytest.mark.parametrize("depth", [0, 3])
def test_quantized_caches_are_reused_at_any_length(packed: LoadedModel, depth: int) -> None:
    chat = Chat(packed, right=[2, 0, 3])
    again = 1 if depth else 0
    second = [*PROMPT, *chat.answer(depth=depth), 9, 8]
    for prompt, cached in [(second, 46), (second, 48), ([*second[:30], 7, 7], 30)]:
        chat.answer(prompt, depth=depth)
        assert chat.tokens == Chat(packed).answer(prompt, depth=0)
        assert chat.cached == cached - again
        chat.check()


@pytest.fixture
def windowed(tiny_model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    """A model whose windows of 12 tokens move on all the time: their buffers have hardly any room."""
    monkeypatch.setattr(layers, "_STEP", 4)
    return cache_kinds.windowed(tiny_model)


@pytest.mark.parametrize(
    ("right", "verify_core"), [*((right, "target") for right in range(5)), (1, "strict"), (3, "strict")]
)
def test_windows_after_every_accept_count(windowed: LoadedModel, right: int, verify_core: str) -> None:
    chat = Chat(windowed, [right])
    chat.answer(depth=4, max_tokens=60, verify_core=verify_core)
    assert chat.tokens == Chat(windowed).answer(depth=0, max_tokens=60)
    assert {(event.drafted, event.accepted) for event in chat.cycles[:-4]} == {(4, right)}
    chat.check()


@pytest.mark.parametrize("depth", [0, 3])
def test_windows_are_reused_from_checkpoints(windowed: LoadedModel, depth: int) -> None:
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


@pytest.fixture(scope="module", params=KINDS)
def hybrid(request: pytest.FixtureRequest, tiny_model: LoadedModel) -> LoadedModel:
    return hybrid_chat_model(tiny_model, request.param)


@pytest.fixture(scope="module")
def whole(hybrid: LoadedModel) -> list[int]:
    """Twelve tokens by plain decoding."""
    return Chat(hybrid).answer(depth=0, max_tokens=12)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("right", range(5))
def test_recurrent_states_after_every_accept_count(
    hybrid: LoadedModel, whole: list[int], right: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hybrid.target, "_width_multiple", width)
    chat = Chat(hybrid, [right])
    chat.answer(depth=4, max_tokens=12, events=6)
    assert [(event.drafted, event.accepted) for event in chat.cycles][:2] == [(4, right)] * 2
    assert chat.tokens == whole[: len(chat.tokens)]
    assert chat.held == PROMPT + chat.tokens[:-1]
    chat.check()


def test_the_target_makes_states_for_its_recurrent_layers(hybrid: LoadedModel) -> None:
    kinds = [isinstance(layer, RecurrentState) for layer in hybrid.target.new_layers()]
    assert kinds == [True, True, True, False]


def test_a_state_that_is_not_rolled_back_is_detected(hybrid: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the state that rejected drafts went into, as a cache does that knows nothing of recurrent layers."""

    def faulty(self: RecurrentState, surplus: int) -> None:
        self.offset -= surplus

    monkeypatch.setattr(RecurrentState, "trim", faulty)
    chat = Chat(hybrid, right=[1])
    chat.answer(depth=3)
    with pytest.raises(AssertionError):
        chat.check()
