"""After any end of an answer each kind of cache, and its head's, is that of a fresh prefill, bit for bit.

Plain keys and values have tests of their own in `test_decoding_state.py`, which go further into each end.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.cache import layers
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.stats import FinishReason
from tests.support import cache_kinds
from tests.support.tiny_chat import PROMPT, Chat, SetAtCheck, Spelling

if TYPE_CHECKING:
    from mtplx_engine.models.loader import LoadedModel


LENGTH = 12
RIGHT = (4, 1, 0, 2)
PLAINLY: dict[str, Any] = {"depth": 0}
DRAFTED: dict[str, Any] = {"depth": 4}
SAMPLED: dict[str, Any] = {"depth": 4, "temperature": 0.7}
STRICT: dict[str, Any] = {"depth": 3, "verify_core": "strict"}

settings = pytest.mark.parametrize("settings", [PLAINLY, DRAFTED, SAMPLED], ids=["plainly", "drafted", "sampled"])


@pytest.fixture(scope="module", params=cache_kinds.KINDS)
def model(
    request: pytest.FixtureRequest, tiny_model: LoadedModel, tmp_path_factory: pytest.TempPathFactory
) -> LoadedModel:
    return cache_kinds.chat_model(request.param, tiny_model, tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def _windows_move_on_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give their buffers hardly any room."""
    monkeypatch.setattr(layers, "_STEP", 4)


def whole_answer(model: LoadedModel, settings: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Return an answer that nothing ends early, and where in it a token comes that did not come before."""
    whole = Chat(model, RIGHT).answer(**settings, max_tokens=LENGTH)
    fresh = [at for at, token in enumerate(whole) if token not in whole[:at]]
    assert len(fresh) >= 4
    return whole, fresh[:6]


@pytest.mark.parametrize("settings", [PLAINLY, DRAFTED, SAMPLED, STRICT], ids=str)
def test_after_the_limit(model: LoadedModel, settings: dict[str, Any]) -> None:
    whole, _ = whole_answer(model, settings)
    for max_tokens in (1, 2, 3, 9):
        chat = Chat(model, RIGHT)
        chat.answer(**settings, max_tokens=max_tokens)
        assert (chat.reason, len(chat.tokens)) == (FinishReason.LENGTH, max_tokens)
        if "temperature" not in settings:  # else the shorter last block has other draws
            assert chat.tokens == whole[:max_tokens]
        assert chat.held == PROMPT + chat.tokens[:-1]
        chat.check()


@settings
def test_after_an_end_token_anywhere_in_a_block(model: LoadedModel, settings: dict[str, Any]) -> None:
    whole, fresh = whole_answer(model, settings)
    for at in fresh:
        chat = Chat(dataclasses.replace(model, end_ids=frozenset({whole[at]})), RIGHT)
        chat.answer(**settings, max_tokens=LENGTH)
        assert (chat.reason, chat.tokens) == (FinishReason.END, whole[:at])
        assert chat.held == PROMPT + whole[:at]
        chat.check()


@settings
def test_after_a_stop_string_across_tokens_and_blocks(model: LoadedModel, settings: dict[str, Any]) -> None:
    whole, fresh = whole_answer(model, settings)
    for at in fresh[1:]:
        chat = Chat(model, RIGHT)
        stop = Spelling().decode(whole[at - 1 : at + 1])
        chat.answer(**settings, max_tokens=LENGTH, stop=(stop,))
        assert (chat.reason, chat.tokens) == (FinishReason.STOP, whole[: at + 1])
        assert chat.held in (PROMPT + whole[:at], PROMPT + whole[: at + 1])
        chat.check()


def test_after_a_cancel_at_any_moment(model: LoadedModel) -> None:
    whole = Chat(model).answer(depth=0)
    for look in itertools.count():
        chat = Chat(model, right=[3, 0, 2], depths=[0, 0, 2, 3, 0])
        chat.answer(depth="auto", cancelled=SetAtCheck(look))
        assert chat.tokens == whole[: len(chat.tokens)]
        assert chat.held == (PROMPT + whole)[: len(chat.held)]
        chat.check()
        if chat.reason is FinishReason.LENGTH:
            break
        assert chat.reason is FinishReason.CANCELLED
    assert look > 5


def test_after_closing_the_generator_at_any_event(model: LoadedModel) -> None:
    for events in itertools.count(1):
        chat = Chat(model, right=[3, 0, 2], depths=[0, 0, 2, 3, 0])
        chat.answer(depth="auto", events=events)
        assert chat.held == (PROMPT + chat.tokens)[: len(chat.held)]
        chat.check()
        if chat.finished:
            break
    assert events > 6


def test_a_draft_that_stays_is_seen(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    trim = TokenCache.trim_to
    monkeypatch.setattr(TokenCache, "trim_to", lambda self, length: trim(self, min(length + 1, self.length)))

    def walk() -> None:
        chat = Chat(model, right=[1])
        chat.answer(depth=3)
        chat.check()

    with pytest.raises((AssertionError, ValueError)):  # by this check, or by the cache itself
        walk()
