"""How much memory a model takes, from what its files say of themselves. Imports no mlx."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.safetensors_header import TensorSpec

CONTEXT = 8192
_FLOAT32, _FLOAT16 = 4, 2


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """What a model takes.

    Attributes:
        weights: Bytes of the model and its head.
        context: `CONTEXT` tokens, or the model's whole window where that is shorter.
        cache: Bytes of what the layers keep of `context` tokens.
    """

    weights: int
    context: int
    cache: int

    @property
    def token_bytes(self) -> int:
        """Bytes that the caches keep of one token."""
        return self.cache // self.context

    @property
    def total(self) -> int:
        """Bytes of weights and cache."""
        return self.weights + self.cache


def of(config: Mapping[str, Any], tensors: Mapping[str, TensorSpec], head: HeadSource | None) -> MemoryNeed:
    """Return what a checked model takes on this machine: as its files on a Mac, unpacked to float32 elsewhere.

    Args:
        config: Its config.json, laid flat.
        tensors: Its own tensors.
        head: Its drafting head.
    """
    packed = sys.platform == "darwin"
    item = _FLOAT16 if packed else _FLOAT32
    parts = [tensors, {name: location.spec for name, location in head.tensors.items()} if head else {}]
    if packed:
        weights = sum(spec.size for part in parts for spec in part.values())
    else:
        weights = item * sum(_numbers(part, config.get("quantization") or {}) for part in parts)
    context = min(config.get("max_position_embeddings") or CONTEXT, CONTEXT)
    return MemoryNeed(weights, context, item * context * _numbers_a_token(config))


def check_fits(name: str, need: MemoryNeed) -> None:
    """Check that the weights of the model `name` are smaller than this machine's memory.

    Raises:
        EngineError: REFUSED.
    """
    memory = installed_memory()
    if need.weights > memory:
        raise refused(
            name,
            f"needs {need.weights / 1e9:.1f} GB for its weights, but this machine has {memory / 1e9:.1f} GB of memory",
            "choose a smaller model, or one with fewer bits",
        )


def installed_memory() -> int:
    """Return the bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _numbers(tensors: Mapping[str, TensorSpec], quantization: Mapping[str, Any]) -> int:
    """Return how many numbers tensors hold once they are unpacked."""
    count = 0
    for name, spec in tensors.items():
        stem, _, part = name.rpartition(".")
        if f"{stem}.scales" not in tensors:
            count += math.prod(spec.shape)
        elif part == "weight":
            count += _unpacked(tensors, stem, quantization)
    return count


def _unpacked(tensors: Mapping[str, TensorSpec], stem: str, quantization: Mapping[str, Any]) -> int:
    settings = quantization.get(stem)
    group_size = (settings if isinstance(settings, dict) else quantization).get("group_size", 64)
    return math.prod(tensors[f"{stem}.scales"].shape) * int(group_size)


def _numbers_a_token(config: Mapping[str, Any]) -> int:
    """Return how many numbers the caches of all layers keep for a token."""
    layers: int = config["num_hidden_layers"] // (config.get("full_attention_interval") or 1)
    if latent := config.get("kv_lora_rank"):
        return layers * int(latent + (config.get("qk_rope_head_dim") or 0))
    heads: int = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    return layers * 2 * int(config.get("num_key_value_heads") or heads) * int(head_dim)
