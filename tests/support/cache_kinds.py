"""Chat models with every kind of cache that can roll drafts back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from mlx_lm.models.cache import QuantizedKVCache

from mtplx_engine.draft.mtp_head import MTPDrafter
from mtplx_engine.models.families import llama
from mtplx_engine.models.target import Target
from tests.support.checkpoints import glm4_moe_lite
from tests.support.checkpoints.family_case import load, write
from tests.support.tiny_chat import Spelling
from tests.support.tiny_hybrid import hybrid_chat_model
from tests.support.tiny_llama import tiny_llama

if TYPE_CHECKING:
    from pathlib import Path

    from mlx_lm.models.llama import Model

    from mtplx_engine.models.loader import LoadedModel


KINDS = ("windows", "packed in 4 bits", "packed in 8 bits", "latent attention", "qwen3_5", "qwen3_next")
"""All but plain keys and values, which the tiny model has."""


class PackedTarget(Target):
    """A target whose caches hold a few bits a number."""

    bits = 8

    def new_layers(self) -> list[Any]:
        return [QuantizedKVCache(group_size=32, bits=self.bits) for _ in super().new_layers()]


def chat_model(kind: str, plain: LoadedModel, folder: Path) -> LoadedModel:
    """Return a model with a cache of a kind; nothing ends its answers but their limit.

    Args:
        kind: One of `KINDS`.
        plain: The tiny model of `tests.support.tiny_chat`.
        folder: Empty; a checkpoint may be written there.
    """
    if kind == "windows":
        return windowed(plain)
    if kind.startswith("packed"):
        return packed(plain, bits=4 if "4" in kind else 8)
    if kind == "latent attention":
        tiny = glm4_moe_lite.TINY
        model = load(write(folder, tiny, tiny.original(tiny.converted(), repeats=True)))
        return dataclasses.replace(model, tokenizer=Spelling(), hidden_ids=frozenset(), end_ids=frozenset())
    return hybrid_chat_model(plain, kind)


def windowed(plain: LoadedModel) -> LoadedModel:
    """Return a model with windows of 12 tokens in two of its three layers."""
    types = ["sliding_attention", "full_attention", "sliding_attention"]
    vocabulary = plain.target.vocabulary
    model = tiny_llama(layer_types=types, sliding_window=12, vocab_size=vocabulary)
    return _with_random_head(plain, model, Target(llama, model, vocabulary))


def packed(plain: LoadedModel, bits: int) -> LoadedModel:
    """Return a model whose keys and values are packed to a few bits."""
    vocabulary = plain.target.vocabulary
    model = tiny_llama(head_dim=32, num_hidden_layers=2, vocab_size=vocabulary)
    target = PackedTarget(llama, model, vocabulary)
    target.bits = bits
    return _with_random_head(plain, model, target)


def _with_random_head(plain: LoadedModel, model: Model, target: Target) -> LoadedModel:
    head = llama.LlamaMTPHead(model.args)
    project = target.projection(None)
    return dataclasses.replace(
        plain,
        target=target,
        new_drafter=lambda: MTPDrafter(head, target.embed, project, None, target.vocabulary),
    )
