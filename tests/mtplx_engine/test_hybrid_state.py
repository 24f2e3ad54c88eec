"""A hybrid's caches after drafts, and its head's, are those of a fresh prefill, to the bit; ends: `test_endings.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine.cache.layers import RecurrentState
from tests.support.tiny_chat import PROMPT, Chat
from tests.support.tiny_hybrid import KINDS, hybrid_chat_model

if TYPE_CHECKING:
    from mtplx_engine.models.loader import LoadedModel


@pytest.fixture(scope="module", params=KINDS)
def hybrid(request: pytest.FixtureRequest, tiny_model: LoadedModel) -> LoadedModel:
    return hybrid_chat_model(tiny_model, request.param)


@pytest.fixture(scope="module")
def whole(hybrid: LoadedModel) -> list[int]:
    """Twelve tokens by plain decoding."""
    return Chat(hybrid).answer(depth=0, max_tokens=12)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("right", range(5))
def test_after_every_accept_count(
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


def test_a_state_that_is_not_taken_back_is_seen(hybrid: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the state that refused drafts went into, as a cache does that knows nothing of recurrent layers."""

    def faulty(self: RecurrentState, surplus: int) -> None:
        self.offset -= surplus

    monkeypatch.setattr(RecurrentState, "trim", faulty)
    chat = Chat(hybrid, right=[1])
    chat.answer(depth=3)
    with pytest.raises(AssertionError):
        chat.check()
