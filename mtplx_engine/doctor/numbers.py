"""Whether this machine computes right: its matrix library, its packed products, and its kernels. Imports mlx."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, cast

import mlx.core as mx
import numpy as np
from mlx_lm.models.gated_delta import gated_delta_kernel, gated_delta_ops

from mtplx_engine.doctor.check import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from mtplx_engine import backend

    Product = Callable[[mx.array, mx.array], mx.array]

_WIDTHS = (*range(1, 9), 17, 64)  # rows; libraries have kernels of their own for a few
_INNER, _COLUMNS = 256, 320
_CLOSE = 1e-4  # of the largest entry; 256 float32 products are off by 1e-6 at most
_GROUP, _BITS = 64, 4
_STEPS = 5


def device(policy: backend.Policy) -> Check:
    """What models run on."""
    return Check("Backend", Verdict.PASSED, f"{policy.description}; mlx's device is {mx.default_device()}.")


def products(policy: backend.Policy, product: Product = mx.matmul) -> Check:
    """Whether small products of float32 matrices are those that float64 gives.

    Some old OpenBLAS take a processor for another one and give wrong numbers at some widths.

    Args:
        policy: Says which library multiplies.
        product: Multiplies [m, k] by [k, n].
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
        return Check(name, Verdict.FAILED, sentence)
    return Check(name, Verdict.PASSED, f"{library}: right to {max(errors.values()):.0e} at 1 to 64 rows.")


def packed_products(product: Callable[..., mx.array] = mx.quantized_matmul) -> Check:
    """Whether products with packed weights are those of the unpacked ones, for one row as for several."""
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
        return Check(name, Verdict.FAILED, sentence)
    return Check(name, Verdict.PASSED, f"{_BITS}-bit weights: right to {max(errors):.0e} at 1, 4 and 8 rows.")


def kernels(policy: backend.Policy) -> Check:
    """Whether the one kernel that verifying relies on beyond mlx's own, mlx-lm's for gated-delta layers, is right."""
    name = "Kernels"
    if policy.device != "metal":
        return Check(
            name, Verdict.UNKNOWN, "Stock: MTPLX has no kernels of its own, and mlx-lm's are for Metal."
        )
    q, k, v = (mx.array(_random(seed, _STEPS, 2 * 32).reshape(1, _STEPS, 2, 32)) for seed in (1, 2, 3))
    g, beta = (mx.sigmoid(mx.array(_random(seed, _STEPS, 2)))[None] for seed in (4, 5))
    state = mx.zeros((1, 2, 32, 32), mx.float32)
    own, plain = (run(q, k / 8, v, g, beta, state) for run in (gated_delta_kernel, gated_delta_ops))
    error = max(_highest(mx.abs(a - b)) for a, b in zip(own, plain, strict=True))
    if error >= 1e-2:
        sentence = f"The gated-delta kernel is off by {error:.1g}. Restart the Mac, or update macOS."
        return Check(name, Verdict.FAILED, sentence)
    return Check(name, Verdict.PASSED, f"mlx-lm's gated-delta kernel is right to {error:.0e}; else stock.")


def _openblas() -> str:
    """Return version and core of the library in use, as it says them itself."""
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
    """Return the largest error of a product, as a share of its largest entry; infinite where it is no number."""
    exact = left.astype(np.float64) @ right.astype(np.float64)
    errors = np.abs(np.array(found, np.float64) - exact) / np.abs(exact).max()
    return float(np.nan_to_num(errors, nan=np.inf).max())


def _highest(errors: mx.array) -> float:
    return cast("float", mx.max(mx.where(mx.isnan(errors), mx.inf, errors)).item())
