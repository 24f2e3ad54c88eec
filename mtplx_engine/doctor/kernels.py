"""Numeric self-tests on this machine: matrix products, kernels, verify steps and rollback of small random models."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, cast

import mlx.core as mx
import numpy as np
from mlx_lm.models.gated_delta import gated_delta_kernel, gated_delta_ops

from mtplx_engine import backend
from mtplx_engine.bench.prefix import compare_rows, compare_verified
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.doctor.environment import Check
from mtplx_engine.models import head_builder
from mtplx_engine.models.families.registry import trunk_for
from mtplx_engine.models.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Product = Callable[[mx.array, mx.array], mx.array]


_WIDTHS = (*range(1, 9), 17, 64)  # rows; libraries have separate kernels for few rows
_INNER, _COLUMNS = 256, 320
_CLOSE = 1e-4  # of the largest entry; 256 float32 products are off by 1e-6 at most
_GROUP, _BITS = 64, 4
_STEPS = 5


def device(policy: backend.Policy) -> Check:
    return Check.passed("Backend", f"{policy.description}; mlx's device is {mx.default_device()}.")


def products(policy: backend.Policy, product: Product = mx.matmul) -> Check:
    """Whether small float32 matrix products ([m, k] by [k, n]) agree with float64.

    Some old versions of OpenBLAS mistake the processor and give wrong numbers at some widths.
    """
    name = "Products"
    right = _random(0, _INNER, _COLUMNS)
    errors = {}
    for rows in _WIDTHS:
        left = _random(rows, rows, _INNER)
        errors[rows] = _error(product(mx.array(left), mx.array(right)), left, right)
    wrong = [rows for rows, error in errors.items() if error >= _CLOSE]
    library = f"{policy.blas}{_openblas() if policy.blas == 'openblas' else ''}"
    if wrong:
        sentence = (
            f"{library} multiplies wrongly at {', '.join(map(str, wrong))} rows, by {max(errors.values()):.1g} of the "
            "largest number. Update it, or start MTPLX with OPENBLAS_CORETYPE=Haswell."
        )
        return Check.failed(name, sentence)
    return Check.passed(name, f"{library}: right to {max(errors.values()):.0e} at 1 to 64 rows.")


def packed_products(product: Callable[..., mx.array] = mx.quantized_matmul) -> Check:
    """Whether products with quantized weights agree with dequantized ones, for one row and for several."""
    name = "Packed products"
    weights = mx.array(_random(1, _COLUMNS, _INNER))
    packed = mx.quantize(weights, group_size=_GROUP, bits=_BITS)
    plain = np.array(mx.dequantize(*packed, group_size=_GROUP, bits=_BITS)).astype(np.float64)
    errors = []
    for rows in (1, 4, 8):
        left = _random(rows, rows, _INNER)
        found = product(mx.array(left), *packed, transpose=True, group_size=_GROUP, bits=_BITS)
        errors.append(_error(found, left, plain.T))
    if max(errors) >= _CLOSE:
        sentence = f"{_BITS}-bit weights are multiplied wrongly, by {max(errors):.1g}. Install MTPLX again."
        return Check.failed(name, sentence)
    return Check.passed(name, f"{_BITS}-bit weights: right to {max(errors):.0e} at 1, 4 and 8 rows.")


def kernels(policy: backend.Policy) -> Check:
    """Whether mlx-lm's kernel of gated-delta layers is right, the only one beyond mlx that verifying uses."""
    name = "Kernels"
    if policy.device != "metal":
        return Check.unknown(name, "Stock: MTPLX has no kernels of its own, and mlx-lm's are for Metal.")
    q, k, v = (mx.array(_random(seed, _STEPS, 2 * 32).reshape(1, _STEPS, 2, 32)) for seed in (1, 2, 3))
    g, beta = (mx.sigmoid(mx.array(_random(seed, _STEPS, 2)))[None] for seed in (4, 5))
    state = mx.zeros((1, 2, 32, 32), mx.float32)
    own, plain = (run(q, k / 8, v, g, beta, state) for run in (gated_delta_kernel, gated_delta_ops))
    error = max(_highest(mx.abs(a - b)) for a, b in zip(own, plain, strict=True))
    if error >= 1e-2:
        sentence = f"The gated-delta kernel is off by {error:.1g}. Restart the Mac, or update macOS."
        return Check.failed(name, sentence)
    return Check.passed(name, f"mlx-lm's gated-delta kernel is right to {error:.0e}; else stock.")


def _openblas() -> str:
    """Return version and core of the loaded OpenBLAS, as it reports them."""
    try:
        library = ctypes.CDLL("libopenblas.so.0")
        library.openblas_get_config.restype = library.openblas_get_corename.restype = ctypes.c_char_p
        config, core = library.openblas_get_config(), library.openblas_get_corename()
    except (OSError, AttributeError):
        return ""
    version = " ".join(config.decode(errors="replace").split()[:2])
    return f" ({version}, core {core.decode(errors='replace')})"


def _random(seed: int, rows: int, columns: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


def _error(found: mx.array, left: NDArray[np.float32], right: NDArray[np.floating]) -> float:
    # Relative to the largest entry; infinite where one is NaN.
    exact = left.astype(np.float64) @ right.astype(np.float64)
    errors = np.abs(np.array(found, np.float64) - exact) / np.abs(exact).max()
    return float(np.nan_to_num(errors, nan=np.inf).max())


def _highest(errors: mx.array) -> float:
    return cast("float", mx.max(mx.where(mx.isnan(errors), mx.inf, errors)).item())


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
"""Configs of a model with a KV cache only, and of one with recurrent layers."""

_PREFIX = (5, 17, 3, 80, 41, 9)
_BLOCK = (12, 60, 33, 7, 90, 21, 2, 50)
_THEN = 21


def targets(policy: backend.Policy) -> list[Target]:
    """Return a random model for each of `CONFIGS`, with dtypes of the policy."""
    return [_target(config, policy) for config in CONFIGS]


def rows(models: Sequence[Target], policy: backend.Policy) -> Check:
    """Whether one forward over several tokens gives the logits of one forward each."""
    distances = [
        compare_verified(target, _read(target), mx.array(_BLOCK[:width], mx.int32)).distance
        for target in models
        for width in (2, 4, 8)
    ]
    return _judged("Rows", max(distances), policy, "2, 4 and 8 tokens verified at once have the rows of plain ones")


def rollback(models: Sequence[Target], policy: backend.Policy) -> Check:
    """Whether rejected tokens leave no trace in any cache: the next logits are as without them."""
    distances = [
        compare_rows(_after(target, 4, kept), _after(target, kept, kept), target.vocabulary).distance
        for target in models
        for kept in range(1, 4)
    ]
    return _judged("Rollback", max(distances), policy, "after refused tokens a model goes on as if they had not been")


def _target(config: dict[str, Any], policy: backend.Policy) -> Target:
    trunk = trunk_for(config)
    model_class, arguments = cast("tuple[Any, Any]", trunk.model_classes(config))
    mx.random.seed(0)
    model = model_class(arguments.from_dict(config))
    model.eval()
    head_builder.place_head(model, policy)
    return Target(trunk, model, _VOCABULARY, policy.width_multiple)


def _read(target: Target) -> TokenCache:
    cache = TokenCache(target.new_layers())
    mx.eval(target.forward(mx.array(_PREFIX, mx.int32), cache))
    return cache


def _after(target: Target, verified: int, kept: int) -> mx.array:
    """Return the logits [1, V] after the first `kept` of `verified` tokens and one more."""
    cache = _read(target)
    mx.eval(target.verify(mx.array(_BLOCK[:verified], mx.int32), cache, strict=False))
    cache.trim_to(len(_PREFIX) + kept)
    return target.verify(mx.array([_THEN], mx.int32), cache, strict=False)[1]


def _judged(name: str, distance: float, policy: backend.Policy, claim: str) -> Check:
    allowed = backend.rounding(policy)
    if distance > allowed:
        found = f"differ by {distance:.1g}" if distance <= 1 else "are no numbers"
        sentence = (
            f"Chances {found}, and rounding explains {allowed:g}, so drafting would change answers. "
            "Use --depth 0, and report this."
        )
        return Check.failed(name, sentence)
    how = "to the last bit" if distance == 0 else f"within {distance:.0e}, which is rounding"
    return Check.passed(name, f"{claim[0].upper()}{claim[1:]}, {how}.")
