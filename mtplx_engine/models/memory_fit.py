"""Predict a model's memory use on a machine from its headers and config.json, and judge it. Imports no mlx.

`measure_footprint` reads a model once; `judge_fit` is quick enough to be called at every tick of a context slider.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mtplx_engine.config import MAX_DEPTH, MOST_CHECKPOINT_BYTES, MOST_CHECKPOINTS
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import cache_layout, safetensors_header
from mtplx_engine.models.families.supported import SUPPORTED
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.cache_layout import CacheLayout
    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.safetensors_header import TensorSpec
    from mtplx_engine.util.system import Machine


CONTEXT = 8192
"""The default context, in tokens, that models are judged for."""

RESERVE = 2_000_000_000
"""Bytes that stay free for the system, the window and the interpreter."""

_COMFORT = 0.75  # of the memory; above it the system may swap, and the chat stutter
_FLOAT32 = 4
_FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
_FP8 = "F8_E4M3"
# Hidden vectors and inner vectors that a forward holds at a time for each row: measured, the runtime runs ahead.
_HIDDENS, _INNERS = 10, 3
# Head widths for which Metal's fused attention stores no scores.
_FUSED_WIDTHS = (64, 80, 128)
# By architecture: parts of the names of tensors that are not loaded, and whether the output head is tied, and so not
# loaded, when config.json does not say.
_LEFT_OUT = {
    "deepseek_v3": ("rotary_emb.inv_freq",),
    "kimi_k2": ("rotary_emb.inv_freq",),
    "llama": ("self_attn.rotary_emb.inv_freq",),
    "qwen3_5": ("vision_tower", "model.visual"),
    "qwen3_5_moe": ("vision_tower", "model.visual"),
}
_TIED = {"llama": True, "qwen3_next": False}


class MemoryVerdict(StrEnum):
    """Whether a model fits into memory."""

    FITS = "fits"
    TIGHT = "tight"
    TOO_BIG = "will not fit"


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory use of a model on a kind of machine, independent of the context.

    Attributes:
        weights: Bytes of the model.
        head: Bytes of its drafting head, and of the rows of the output head that it drafts from.
        head_layers: Layers of the drafting head, with caches like those of the model.
        rows: Numbers that a forward needs for each row.
        scores: Numbers that it needs for each row and each token of the context.
        logits: Bytes of the logits of the widest verify step.
        window: The model's context window, in tokens.
    """

    weights: int
    head: int
    caches: CacheLayout
    head_layers: int
    rows: int
    scores: int
    logits: int
    window: int

    @property
    def a_token(self) -> int:
        """Numbers that the caches store for one more token, the head's included."""
        return self.caches.growth + self.head_layers * self.caches.a_token


@dataclass(frozen=True, slots=True)
class Fit:
    """Predicted memory use for a context and the memory there is, in bytes.

    Attributes:
        context: Tokens.
        cache: Caches of the context, checkpoints included.
        scratch: Peak of a prefill above the rest.
        reserve: Kept free for the system and this program.
        limit: Part of it that models can use, by Metal's account on a Mac.
    """

    context: int
    weights: int
    head: int
    cache: int
    scratch: int
    reserve: int
    memory: int
    limit: int

    @property
    def total(self) -> int:
        """The model's use, without the reserve."""
        return self.weights + self.head + self.cache + self.scratch

    @property
    def verdict(self) -> MemoryVerdict:
        if self.total + self.reserve <= comfortable(self.memory, self.limit):
            return MemoryVerdict.FITS
        if self.total <= min(self.memory - self.reserve, self.limit):
            return MemoryVerdict.TIGHT
        return MemoryVerdict.TOO_BIG

    @property
    def in_words(self) -> str:
        parts = [f"weights {formatting.size(self.weights)}"]
        if self.head:
            parts.append(f"drafting head {formatting.size(self.head)}")
        parts += [f"{self.context} tokens of context {formatting.size(self.cache)}"]
        parts += [f"reading a prompt {formatting.size(self.scratch)}"]
        there = formatting.size(self.memory)
        if self.limit < self.memory:
            there += f", of which models can use {formatting.size(self.limit)}"
        return (
            f"{', '.join(parts)}: {formatting.size(self.total)} in all, "
            f"and {formatting.size(self.reserve)} for the system; this machine has {there}"
        )


def comfortable(memory: int, limit: int) -> float:
    """Return the most bytes that a model that fits takes together with the reserve."""
    return min(memory * _COMFORT, limit)


def measure_footprint(
    config: Mapping[str, Any],
    tensors: Mapping[str, TensorSpec],
    head: HeadSource | None,
    machine: Machine,
) -> Footprint:
    """Return the footprint of a checked model, its config.json laid flat, on a machine.

    Raises:
        EngineError: REFUSED, when a setting that is needed is missing or out of range.
    """
    packings = config.get("quantization") or {}
    layers = cache_layout.cache_layout_of(config)
    heads: int = config["num_attention_heads"]
    hidden: int = config["hidden_size"]
    used = None if head is None or head.problem or config["model_type"] not in SUPPORTED else head
    loaded = _loaded(config, tensors)
    return Footprint(
        weights=_bytes(loaded, packings, machine),
        head=_head_bytes(used, loaded, packings, config["vocab_size"], machine) if used else 0,
        caches=layers,
        head_layers=1 if used else 0,
        rows=_HIDDENS * hidden + _INNERS * _inner(config),
        scores=heads * _score_copies(config, machine),
        logits=(MAX_DEPTH + 1) * config["vocab_size"] * _FLOAT32,
        window=config.get("max_position_embeddings") or CONTEXT,
    )


def judge_fit(footprint: Footprint, context: int, machine: Machine) -> Fit:
    """Return the fit for a context in tokens, at most the model's window."""
    context = min(context, footprint.window)
    item, chunk, layers = machine.item, machine.chunk, footprint.caches
    a_layer = layers.a_layer(context)
    snapshots = min(MOST_CHECKPOINTS * layers.snapshot(context, item), MOST_CHECKPOINT_BYTES)
    cache = item * (layers.numbers(context, chunk) + footprint.head_layers * a_layer)
    rows = min(chunk, context)
    return Fit(
        context=context,
        weights=footprint.weights,
        head=footprint.head,
        cache=cache + layers.fixed(item) + snapshots,
        # Buffers are copied when they grow, and recurrent states wait until a block is accepted.
        scratch=item * rows * (footprint.rows + footprint.scores * context)
        + item * a_layer
        + layers.fixed(item)
        + footprint.logits,
        reserve=RESERVE,
        memory=machine.memory,
        limit=machine.limit,
    )


def combined_fit(one: Fit, other: Fit) -> Fit:
    """Return the fit of two models loaded together; their prefills never overlap."""
    return replace(
        one,
        weights=one.weights + other.weights,
        head=one.head + other.head,
        cache=one.cache + other.cache,
        scratch=max(one.scratch, other.scratch),
    )


def check_fit(name: str, fit: Fit) -> None:
    """Check that the model `name` fits, even if only tightly; else raise TOO_BIG with the sum."""
    if fit.verdict is MemoryVerdict.TOO_BIG:
        raise EngineError(
            ErrorKind.TOO_BIG,
            f"{name} will not fit into memory: {fit.in_words}. Choose a smaller model, or one with fewer bits; "
            "or load it anyway (--anyway on the command line), which may bring the whole machine to a halt.",
        )


def _loaded(config: Mapping[str, Any], tensors: Mapping[str, TensorSpec]) -> Mapping[str, TensorSpec]:
    """Return the tensors that are loaded; those of vision towers, for example, are not."""
    kind = config["model_type"]
    left_out = _LEFT_OUT.get(kind, ())
    tied = kind in _TIED and config.get("tie_word_embeddings", _TIED[kind])
    return {
        name: spec
        for name, spec in tensors.items()
        if not any(part in name for part in left_out) and not (tied and name == "lm_head.weight")
    }


def _bytes(tensors: Mapping[str, TensorSpec], packings: Mapping[str, Any], machine: Machine) -> int:
    if not machine.packed:
        return machine.item * _numbers(tensors, packings)
    return sum(
        math.prod(spec.shape) * machine.item if _is_rounded(name, spec, tensors) else spec.size
        for name, spec in tensors.items()
    )


def _is_rounded(name: str, spec: TensorSpec, tensors: Mapping[str, TensorSpec]) -> bool:
    return spec.dtype in _FLOATS or (spec.dtype == _FP8 and f"{name}_scale_inv" in tensors)


def _numbers(tensors: Mapping[str, TensorSpec], packings: Mapping[str, Any]) -> int:
    """Return how many numbers tensors hold once they are unpacked."""
    count = 0
    for name, spec in tensors.items():
        stem, _, part = name.rpartition(".")
        if f"{stem}.scales" not in tensors:
            count += math.prod(spec.shape)
        elif part == "weight":
            settings = packings.get(stem)
            group = (settings if isinstance(settings, dict) else packings).get("group_size", 64)
            count += math.prod(tensors[f"{stem}.scales"].shape) * int(group)
    return count


def _head_bytes(
    head: HeadSource,
    tensors: Mapping[str, TensorSpec],
    packings: Mapping[str, Any],
    vocabulary: int,
    machine: Machine,
) -> int:
    own = _bytes({raw: location.spec for raw, location in head.tensors.items()}, packings, machine)
    if head.draft_vocabulary is None:
        return own
    drafted = max(
        (spec.shape[0] for spec in safetensors_header.read(head.draft_vocabulary).values() if spec.shape),
        default=0,
    )
    outputs = [name for name in tensors if name.endswith(("lm_head.weight", "embed_tokens.weight"))]
    output = max(outputs, key=lambda name: name.endswith("lm_head.weight"), default="")
    stem = output.removesuffix("weight")
    rows = {name: spec for name, spec in tensors.items() if stem and name.startswith(stem)}
    return own + _bytes(rows, packings, machine) * drafted // vocabulary


def _inner(config: Mapping[str, Any]) -> int:
    """Return the width of the widest feed-forward layer, all active experts of a row together."""
    dense = _whole(config, "intermediate_size")
    routed = _whole(config, "num_experts_per_tok") * _whole(config, "moe_intermediate_size")
    return max(dense, routed + _whole(config, "shared_expert_intermediate_size"))


def _score_copies(config: Mapping[str, Any], machine: Machine) -> int:
    """Return how many attention scores each head stores for a row and a token of the context."""
    if config.get("kv_lora_rank"):
        return 2  # of positions and of latents
    width = _whole(config, "head_dim") or config["hidden_size"] // config["num_attention_heads"]
    return 0 if machine.packed and width in _FUSED_WIDTHS else 1


def _whole(config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    return value if isinstance(value, int) and value > 0 else 0
