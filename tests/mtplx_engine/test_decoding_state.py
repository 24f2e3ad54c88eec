"""After any end of an answer the caches are those of a fresh prefill, bit for bit."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine import engine
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.decoding import Decoder
from mtplx_engine.draft.mtp_head import MTPDrafter
from mtplx_engine.models.families import llama
from mtplx_engine.models.target import Target
from mtplx_engine.stats import FinishReason
from tests.support.tiny_chat import PROMPT, Chat, SetAtCheck, Spelling

if TYPE_CHECKING:
    from mtplx_engine.models.loader import LoadedModel


TEMPERATURES = [0.0, 0.7]


def accept_counts(chat: Chat) -> list[tuple[int, int]]:
    return [(event.drafted, event.accepted) for event in chat.cycles]


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_after_every_accept_count(tiny_model: LoadedModel, depth: int, width: int, temperature: float) -> None:
    wide = dataclasses.replace(
        tiny_model,
        target=Target(llama, tiny_model.target.model, tiny_model.target.vocabulary, width_multiple=width),
    )
    for right in range(depth + 1):
        for cycles in (1, 2):
            chat = Chat(wide, [right])
            chat.answer(depth=depth, temperature=temperature, max_tokens=20, events=4 + cycles)
            assert accept_counts(chat) == [(depth, right)] * cycles
            assert chat.held == PROMPT + chat.tokens[:-1]  # all but the pending token
            chat.check()


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("depth", [0, 1, 4])
@pytest.mark.parametrize("max_tokens", [1, 2, 3, 5])
def test_after_the_limit(tiny_model: LoadedModel, max_tokens: int, depth: int, temperature: float) -> None:
    whole = Chat(tiny_model).answer(depth=depth, temperature=temperature)
    chat = Chat(tiny_model)
    chat.answer(depth=depth, temperature=temperature, max_tokens=max_tokens)
    assert (chat.reason, len(chat.tokens)) == (FinishReason.LENGTH, max_tokens)
    if not temperature:
        assert chat.tokens == whole[:max_tokens]
    assert chat.held == PROMPT + chat.tokens[:-1]
    chat.check()


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("depth", [0, 4])
def test_after_an_end_token_anywhere_in_a_block(tiny_model: LoadedModel, depth: int, temperature: float) -> None:
    whole = Chat(tiny_model).answer(depth=depth, temperature=temperature, max_tokens=12)
    ends = [at for at, token in enumerate(whole) if token not in whole[:at]]
    assert len(ends) >= 6
    for at in ends:
        chat = Chat(dataclasses.replace(tiny_model, end_ids=frozenset({whole[at]})))
        chat.answer(depth=depth, temperature=temperature, max_tokens=12)
        assert (chat.reason, chat.tokens) == (FinishReason.END, whole[:at])
        assert chat.held == (PROMPT + whole)[: 40 + at]
        chat.check()


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("depth", [0, 4])
def test_after_a_stop_string_across_tokens_and_blocks(tiny_model: LoadedModel, depth: int, temperature: float) -> None:
    whole = Chat(tiny_model).answer(depth=depth, temperature=temperature, max_tokens=12)
    spell = Spelling().decode
    for at in range(2, 10):
        chat = Chat(tiny_model)
        stop = spell(whole[at - 2 : at])
        chat.answer(depth=depth, temperature=temperature, max_tokens=12, stop=(stop,))
        end = spell(whole).index(stop) + 2
        assert (chat.reason, chat.tokens) == (FinishReason.STOP, whole[:end])
        assert "".join(event.text for event in chat.cycles) + chat.finished.text == spell(whole[: end - 2])
        stats, kept = chat.finished.stats, end - chat.finished.cut
        assert (chat.finished.cut, stats.emitted) == (2, end - 2)  # a token is a character here
        drafted = [spot < event.accepted for event in chat.cycles for spot in range(len(event.token_ids))]
        assert stats.accepted == sum(stats.accepted_at) == sum(drafted[:kept])
        assert chat.held[:40] == PROMPT
        assert chat.held[40:] in (whole[: end - 1], whole[:end])
        chat.check()


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("depth", [0, 3, "auto"])
def test_after_a_cancel_at_any_moment(tiny_model: LoadedModel, depth: int | str, temperature: float) -> None:
    reasons = []
    for look in itertools.count():
        chat = Chat(tiny_model, right=[3, 0, 2], depths=[0, 0, 2, 3, 0])
        chat.answer(depth=depth, temperature=temperature, cancelled=SetAtCheck(look))
        reasons.append(chat.reason)
        chat.check()
        if chat.reason is FinishReason.LENGTH:
            break
        assert chat.held == (PROMPT + chat.tokens)[: len(chat.held)]
        assert len(chat.held) >= min(16 * (look + 1), 39)
    assert reasons[:-1] == [FinishReason.CANCELLED] * (len(reasons) - 1)
    assert len(reasons) > 5


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("depth", [0, 3, "auto"])
def test_after_closing_the_generator_at_any_event(
    tiny_model: LoadedModel, depth: int | str, temperature: float
) -> None:
    for events in itertools.count(1):
        chat = Chat(tiny_model, right=[3, 0, 2], depths=[0, 0, 2, 3, 0])
        chat.answer(depth=depth, temperature=temperature, events=events)
        chat.check()
        if chat.finished:
            break
        assert chat.held == (PROMPT + chat.tokens)[: len(chat.held)]
    assert events > 6


# ---------------------------------------------------------------- these tests can fail


def _trims_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    trim = TokenCache.trim_to
    monkeypatch.setattr(TokenCache, "trim_to", lambda self, length: trim(self, min(length + 1, self.length)))


def _forgets_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    trim = TokenCache.trim_to
    monkeypatch.setattr(TokenCache, "trim_to", lambda self, length: trim(self, length - (length < self.length)))


def _keeps_a_refused_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what was computed for a refused draft for the recovered token's."""
    read = Decoder.read

    def faulty(self: Decoder) -> Any:
        step = read(self)
        if step.accepted < step.drafted:
            for layer in self._cache.layers:
                layer.offset += 1
            self.forwarded.append(step.tokens[-1])
        return step

    monkeypatch.setattr(Decoder, "read", faulty)


def _keeps_a_drafted_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave one of the head's own guesses in its cache, in place of the pair that comes next."""
    propose, extend = MTPDrafter.propose, MTPDrafter.extend
    kept: set[int] = set()

    def proposing(self: MTPDrafter, *arguments: Any) -> Any:
        draft = propose(self, *arguments)
        self.cache.layers[0].offset += 1
        kept.add(id(self))
        return draft

    def extending(self: MTPDrafter, hidden: Any, tokens: Any) -> None:
        skipped = int(id(self) in kept)
        kept.discard(id(self))
        if len(tokens) > skipped:
            extend(self, hidden[skipped:], tokens[skipped:])

    monkeypatch.setattr(MTPDrafter, "propose", proposing)
    monkeypatch.setattr(MTPDrafter, "extend", extending)


def _pairs_shifted_hiddens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pair each token with the hidden of the block's last one."""
    extend = MTPDrafter.extend
    monkeypatch.setattr(
        MTPDrafter, "extend", lambda self, hidden, tokens: extend(self, hidden * 0 + hidden[-1:], tokens)
    )


def _reuses_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a token for shared that is not."""
    shared = engine._shared
    monkeypatch.setattr(engine, "_shared", lambda a, b: min(shared(a, b) + 1, len(a), len(b)))


@pytest.mark.parametrize(
    "plant",
    [
        _trims_too_little,
        _forgets_too_much,
        _keeps_a_refused_draft,
        _keeps_a_drafted_pair,
        _pairs_shifted_hiddens,
        _reuses_one_too_many,
    ],
)
def test_a_planted_fault_is_caught(tiny_model: LoadedModel, monkeypatch: pytest.MonkeyPatch, plant: Any) -> None:
    def walk() -> None:
        chat = Chat(tiny_model, right=[1, 3, 2])
        first = chat.answer()
        chat.check()
        chat.answer([*PROMPT, *first[:4], 9, 9])
        chat.check()

    walk()
    plant(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):  # by these tests, or by the cache itself
        walk()
