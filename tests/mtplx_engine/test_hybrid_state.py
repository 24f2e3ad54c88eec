"""After any end of a hybrid's answer its caches, and its head's, are those of a fresh prefill, bit for bit."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.cache import RecurrentState
from mtplx_engine.stats import FinishReason
from tests.support.tiny_chat import PROMPT, Chat, SetAtLook, Spelling
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


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"temperature": 0.8}, {"verify_core": "strict"}])
@pytest.mark.parametrize("depth", [0, 1, 3, 6])
def test_after_the_limit(hybrid: LoadedModel, whole: list[int], depth: int, settings: dict[str, Any]) -> None:
    chat = Chat(hybrid, right=[2, 0, 5, 1])
    chat.answer(depth=depth, max_tokens=9, **settings)
    assert (chat.reason, len(chat.tokens)) == (FinishReason.LENGTH, 9)
    if not settings.get("temperature"):
        assert chat.tokens == whole[:9]
    chat.check()


@pytest.mark.parametrize("depth", [0, 4])
def test_after_an_end_token_and_a_stop_string_anywhere_in_a_block(
    hybrid: LoadedModel, whole: list[int], depth: int
) -> None:
    first = [at for at, token in enumerate(whole) if token not in whole[:at]][:6]
    assert len(first) >= 4
    for at in first:
        chat = Chat(dataclasses.replace(hybrid, end_ids=frozenset({whole[at]})))
        chat.answer(depth=depth, max_tokens=12)
        assert (chat.reason, chat.tokens) == (FinishReason.END, whole[:at])
        chat.check()
        chat = Chat(hybrid)
        chat.answer(depth=depth, max_tokens=12, stop=(Spelling().decode([whole[at]]),))
        assert (chat.reason, chat.tokens) == (FinishReason.STOP, whole[: at + 1])
        chat.check()


def test_after_a_cancel_at_any_moment(hybrid: LoadedModel, whole: list[int]) -> None:
    for look in itertools.count():
        chat = Chat(hybrid, right=[3, 0, 2], depths=[0, 0, 2, 3, 0])
        chat.answer(depth="auto", cancelled=SetAtLook(look))
        chat.check()
        assert chat.tokens == whole[: len(chat.tokens)]
        if chat.reason is FinishReason.LENGTH:
            break
    assert look > 5


def test_after_closing_the_generator_at_any_event(hybrid: LoadedModel) -> None:
    for events in itertools.count(1):
        chat = Chat(hybrid, right=[3, 0, 2], depths=[0, 0, 2, 3, 0])
        chat.answer(depth="auto", events=events)
        chat.check()
        if chat.finished:
            break
    assert events > 6


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
