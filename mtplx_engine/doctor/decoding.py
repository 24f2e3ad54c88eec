"""Whether verifying and taking back work on this machine, tried on tiny random models. Imports mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import mlx.core as mx

from mtplx_engine import backend
from mtplx_engine.bench.beginning import compare_rows, compare_verified
from mtplx_engine.cache import TokenCache
from mtplx_engine.doctor.check import Check, Verdict
from mtplx_engine.models import placement
from mtplx_engine.models.families.registry import trunk_for
from mtplx_engine.models.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

_VOCABULARY = 96
_COMMON = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "rms_norm_eps": 1e-6,
    "vocab_size": _VOCABULARY,
    "max_position_embeddings": 512,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
}
CONFIGS: tuple[dict[str, Any], ...] = (
    {**_COMMON, "model_type": "llama", "num_hidden_layers": 2},
    {
        **_COMMON,
        "model_type": "qwen3_5",
        "num_hidden_layers": 4,
        "full_attention_interval": 4,
        "linear_num_value_heads": 2,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 32,
        "linear_conv_kernel_dim": 4,
    },
)
"""Of a model that keeps all tokens, and of one with a recurrent state."""

_PREFIX = (5, 17, 3, 80, 41, 9)
_BLOCK = (12, 60, 33, 7, 90, 21, 2, 50)
_THEN = 21


def targets(policy: backend.Policy) -> list[Target]:
    """Make a random model of each kind, held as the policy asks for."""
    return [_target(config, policy) for config in CONFIGS]


def rows(models: Sequence[Target], policy: backend.Policy) -> Check:
    """Whether one forward of several tokens gives the rows of one forward each."""
    distances = [
        compare_verified(target, _read(target), mx.array(_BLOCK[:width], mx.int32)).distance
        for target in models
        for width in (2, 4, 8)
    ]
    return _judged(
        "Rows", max(distances), policy, "2, 4 and 8 tokens verified at once have the rows of plain ones"
    )


def rollback(models: Sequence[Target], policy: backend.Policy) -> Check:
    """Whether refused tokens are gone from every cache: what comes next is as if they had never been."""
    distances = [
        compare_rows(_after(target, 4, kept), _after(target, kept, kept), target.vocabulary).distance
        for target in models
        for kept in range(1, 4)
    ]
    return _judged(
        "Rollback", max(distances), policy, "after refused tokens a model goes on as if they had not been"
    )


def _target(config: dict[str, Any], policy: backend.Policy) -> Target:
    trunk = trunk_for(config)
    model_class, arguments = cast("tuple[Any, Any]", trunk.model_classes(config))
    mx.random.seed(0)
    model = model_class(arguments.from_dict(config))
    model.eval()
    placement.place(model, policy)
    return Target(trunk, model, _VOCABULARY, policy.width_multiple)


def _read(target: Target) -> TokenCache:
    """Return a cache that holds the prefix."""
    cache = TokenCache(target.new_layers())
    mx.eval(target.forward(mx.array(_PREFIX, mx.int32), cache))
    return cache


def _after(target: Target, verified: int, kept: int) -> mx.array:
    """Return the logits [1, V] of a token that follows the first `kept` of so many verified ones."""
    cache = _read(target)
    mx.eval(target.verify(mx.array(_BLOCK[:verified], mx.int32), cache, strict=False))
    cache.trim_to(len(_PREFIX) + kept)
    return target.verify(mx.array([_THEN], mx.int32), cache, strict=False)[1]


def _judged(name: str, distance: float, policy: backend.Policy, what: str) -> Check:
    allowed = backend.rounding(policy)
    if distance > allowed:
        found = f"differ by {distance:.1g}" if distance <= 1 else "are no numbers"
        sentence = (
            f"Chances {found}, and rounding explains {allowed:g}, so drafting would change answers. "
            "Use --depth 0, and report this."
        )
        return Check(name, Verdict.FAILED, sentence)
    how = "to the last bit" if distance == 0 else f"within {distance:.0e}, which is rounding"
    return Check(name, Verdict.PASSED, f"{what[0].upper()}{what[1:]}, {how}.")
