"""Packed keys and values through the engine: after any end of an answer they are those of a fresh prefill."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from mlx_lm.models.cache import QuantizedKVCache

from mtplx_engine.draft.mtp_head import MTPDrafter
from mtplx_engine.models.families import llama
from mtplx_engine.models.target import Target
from tests.support.tiny_chat import PROMPT, Chat, SetAtLook
from tests.support.tiny_llama import tiny_llama

if TYPE_CHECKING:
    from mtplx_engine.models.loader import LoadedModel


class PackedTarget(Target):
    """A target whose caches hold a few bits a number."""

    bits = 8

    def new_layers(self) -> list[Any]:
        return [QuantizedKVCache(group_size=32, bits=self.bits) for _ in super().new_layers()]


@pytest.fixture(scope="module", params=[4, 8])
def packed(request: pytest.FixtureRequest, tiny_model: LoadedModel) -> LoadedModel:
    vocabulary = tiny_model.target.vocabulary
    model = tiny_llama(head_dim=32, num_hidden_layers=2, vocab_size=vocabulary)
    target = PackedTarget(llama, model, vocabulary)
    target.bits = request.param
    head = llama.LlamaMTPHead(model.args)
    project = target.projection(None)
    return dataclasses.replace(
        tiny_model,
        target=target,
        new_drafter=lambda: MTPDrafter(head, target.embed, project, None, vocabulary),
    )


@pytest.mark.parametrize("right", range(5))
def test_after_every_accept_count(packed: LoadedModel, right: int) -> None:
    chat = Chat(packed, [right])
    chat.answer(depth=4, max_tokens=20)
    assert chat.tokens == Chat(packed).answer(depth=0, max_tokens=20)
    assert (4, right) in {(event.drafted, event.accepted) for event in chat.cycles}
    chat.check()


@pytest.mark.parametrize("look", [0, 1, 3, 5, 7])
def test_after_a_cancel(packed: LoadedModel, look: int) -> None:
    chat = Chat(packed, right=[3, 0, 2], depths=[0, 0, 2, 3, 0])
    chat.answer(depth="auto", cancelled=SetAtLook(look))
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
