"""How much memory a model takes, from what its files say of themselves. Imports no mlx."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mtplx_engine.models.checkpoint import Checkpoint
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


def of(checkpoint: Checkpoint) -> MemoryNeed:
    """Return what a checked model takes on this machine: as its files on a Mac, unpacked to float32 elsewhere."""
    packed = sys.platform == "darwin"
    item = _FLOAT16 if packed else _FLOAT32
    weights = checkpoint.total_bytes if packed else item * sum(_parameters(checkpoint))
    context = min(checkpoint.config.get("max_position_embeddings") or CONTEXT, CONTEXT)
    return MemoryNeed(weights, context, item * context * _numbers_a_token(checkpoint.config))


def check_fits(checkpoint: Checkpoint) -> None:
    """Check that the weights are smaller than this machine's memory.

    Raises:
        EngineError: REFUSED.
    """
    weights, memory = of(checkpoint).weights, installed_memory()
    if weights > memory:
        raise refused(
            checkpoint.name,
            f"needs {weights / 1e9:.1f} GB for its weights, but this machine has {memory / 1e9:.1f} GB of memory",
            "choose a smaller model, or one with fewer bits",
        )


def installed_memory() -> int:
    """Return the bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _parameters(checkpoint: Checkpoint) -> Iterator[int]:
    """Yield the number of weights in each tensor, unpacked."""
    head = checkpoint.head.tensors if checkpoint.head else {}
    for tensors in (checkpoint.tensors, {name: location.spec for name, location in head.items()}):
        for name, spec in tensors.items():
            stem, _, part = name.rpartition(".")
            if f"{stem}.scales" not in tensors:
                yield math.prod(spec.shape)
            elif part == "weight":
                yield _unpacked(tensors, stem, checkpoint.config.get("quantization") or {})


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
