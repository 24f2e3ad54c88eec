"""Models that decode plainly, through the engine: their caches after any end, the next turn, and drafts asked for."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np
import pytest

from mtplx_engine.cache.layers import StepState
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.engine import Engine
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.stats import FinishReason
from tests.support import tiny_folder
from tests.support.checkpoints import plain
from tests.support.checkpoints.family_case import load
from tests.support.engine_runs import check_error, run
from tests.support.tiny_chat import PROMPT, Chat, SetAtCheck, Spelling

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel


UNDRAFTED = ("deepseek_v32", "glm_moe_dsa", "nemotron_h")
SAME = {"glm_moe_dsa", "gemma4_text"}  # as the classes of DeepSeek-V3.2 and Gemma 4
SAMPLED = {"depth": 0, "temperature": 1.0}


@pytest.fixture(scope="module", params=sorted(plain.PLAIN.keys() - SAME))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return _load(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def nemotron(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return _load("nemotron_h", tmp_path_factory)


def _load(name: str, folders: pytest.TempPathFactory) -> LoadedModel:
    folder = folders.mktemp(name)
    plain.PLAIN[name].write(folder)
    return dataclasses.replace(load(folder), tokenizer=Spelling(), hidden_ids=frozenset(), end_ids=frozenset())


def check(chat: Chat) -> None:
    """Assert that the cache is that of a fresh prefill: to the bit, or to rounding where rows have two forms."""
    session = chat.engine._prefix
    assert session
    target = chat.loaded.target
    fresh = TokenCache(target.new_layers())
    if session.tokens:
        target.forward(mx.array(session.tokens), fresh)
    assert session.cache.length == fresh.length == len(session.tokens)
    rounding = 0 if chat.loaded.takes_drafts else 1e-4
    for held, expected in zip(session.cache.contents(), fresh.contents(), strict=True):
        np.testing.assert_allclose(np.array(held), np.array(expected), rtol=rounding, atol=rounding)


@pytest.fixture(scope="module")
def whole(model: LoadedModel) -> list[int]:
    """Eight tokens."""
    chat = Chat(model)
    chat.answer(**SAMPLED, max_tokens=8)
    assert (chat.reason, chat.held) == (FinishReason.LENGTH, PROMPT + chat.tokens[:-1])
    check(chat)
    return chat.tokens


def test_after_an_end_token_and_a_stop_string(model: LoadedModel, whole: list[int]) -> None:
    first = [at for at, token in enumerate(whole) if token not in whole[:at]]
    assert len(first) >= 3
    for at in first:
        chat = Chat(dataclasses.replace(model, end_ids=frozenset({whole[at]})))
        chat.answer(**SAMPLED, max_tokens=8)
        assert (chat.reason, chat.held) == (FinishReason.END, PROMPT + whole[:at])
        check(chat)
    for at in first[1:]:
        chat = Chat(model)
        chat.answer(**SAMPLED, max_tokens=8, stop=(Spelling().decode(whole[at - 1 : at + 1]),))
        assert (chat.reason, chat.tokens) == (FinishReason.STOP, whole[: at + 1])
        assert chat.held == PROMPT + whole[:at]
        check(chat)


def test_after_a_cancel_or_a_closed_generator_at_any_moment(model: LoadedModel, whole: list[int]) -> None:
    for moment in itertools.count():
        cancelled, closed = Chat(model), Chat(model)
        cancelled.answer(**SAMPLED, cancelled=SetAtCheck(moment))
        closed.answer(**SAMPLED, events=moment + 1)
        for chat in (cancelled, closed):
            assert chat.held == (PROMPT + whole)[: len(chat.held)]
            check(chat)
        if cancelled.reason is FinishReason.LENGTH:
            break
    assert moment > 5


@pytest.mark.parametrize(
    ("name", "cached"),
    [
        ("nemotron_h", [46, 56, 58, 46, 39, 0]),  # all but the pending token, else message boundaries
        ("deepseek_v32", [46, 56, 58, 47, 39, 20]),  # any shared prefix
    ],
)
def test_a_chat_that_goes_on_is_regenerated_and_edited(
    name: str, cached: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    def ask(prompt: Sequence[int]) -> int:
        chat.answer(prompt, depth=0)
        assert chat.tokens == Chat(chat.loaded).answer(prompt, depth=0)
        check(chat)
        return chat.cached

    chat = Chat(_load(name, tmp_path_factory))
    second = [*PROMPT, *chat.answer(depth=0), 9, 8, 7]
    found = [ask(second)]
    third = [*second, *chat.tokens, 6, 5]
    found += [ask(third), ask(third)]
    found += [ask([*second[:47], 30, 31, 32, 33]), ask(PROMPT), ask([*PROMPT[:20], 3])]
    assert found == cached


def test_a_state_that_is_not_taken_back_is_seen(nemotron: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the step that ran ahead when the answer ended."""

    def faulty(self: StepState, surplus: int) -> None:
        self.offset -= surplus

    monkeypatch.setattr(StepState, "trim", faulty)
    chat = Chat(nemotron)
    chat.answer(depth=0, cancelled=SetAtCheck(5))
    with pytest.raises(AssertionError):
        check(chat)


# ---------------------------------------------------------------- nothing drafts for some of them


@pytest.mark.parametrize("name", UNDRAFTED)
def test_drafts_that_are_asked_for_are_a_note(name: str, tmp_path: Path) -> None:
    folder, small = tmp_path / "model", tmp_path / "small"
    plain.PLAIN[name].write(folder)
    small.mkdir()
    tiny_folder.write(small)
    engine = Engine()
    info = engine.load(str(folder), tmp_path, lambda *_: None, threading.Event(), str(small))
    assert (info.drafter, info.max_depth) == ("none", 0)
    assert "Nothing can draft for" in info.drafter_note
    tokens = []
    requests: list[dict[str, Any]] = [
        {"speculative_depth": 0},
        {"speculative_depth": 4, "draft_core": "draft_model"},
        {"speculative_depth": 2, "draft_core": "prompt_lookup", "verify_core": "strict"},
        {"speculative_depth": 3, "draft_core": "mtp"},
        {"speculative_depth": "auto"},
    ]
    for settings in requests:
        engine.forget()
        events = run(engine, temperature=0, **settings)
        assert (events[-1].stats.verify_steps, events[-1].stats.emitted) == (0, 12)
        tokens.append([event.token_ids for event in events[:-1] if hasattr(event, "token_ids")])
    assert tokens == [tokens[0]] * len(requests)


def test_a_model_that_cannot_go_back_is_no_draft_model(tmp_path: Path) -> None:
    folder, small = tmp_path / "model", tmp_path / "small"
    folder.mkdir()
    tiny_folder.write(folder)
    plain.PLAIN["nemotron_h"].write(small)
    with pytest.raises(EngineError) as caught:
        Engine().load(str(folder), tmp_path, lambda *_: None, threading.Event(), str(small))
    check_error(caught, ErrorKind.UNSUPPORTED, "Nemotron-H", "Choose another draft model")
