"""The device and how models run on it: Metal on a Mac, the CPU elsewhere.

`prepare` runs before the first import of mlx in a process: on Linux it puts OpenBLAS in front of the reference BLAS
that the mlx wheel is linked to, which makes wide products 16 to 48 times faster. The choice holds for the process.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mtplx_engine.util.system import CPU_CHUNK, METAL_CHUNK

if TYPE_CHECKING:
    import mlx.core as mx


_OPENBLAS = "libopenblas.so.0"
_blas: Literal["openblas", "stock"] = "stock"


@dataclass(frozen=True, slots=True)
class Policy:
    """How models are held and run on this device.

    Attributes:
        blas: The matrix library in use: "metal", "openblas", "accelerate" or "stock" (the wheel's reference BLAS).
        keep_quantized: Whether quantized weights stay packed; on the CPU their products are far slower than fp32.
        dtype: The dtype of activations and of weights that are not packed, as a name in `mlx.core`.
        prefill_chunk: Prompt tokens per forward; small enough that Stop acts within a second.
        width_multiple: Verify steps are filled up to a multiple of this many rows; OpenBLAS needs more time for 2 or
            3 rows than for 4.
        cache_limit: Bytes of freed buffers that mlx may keep, or None for its own default.
    """

    device: Literal["metal", "cpu"]
    blas: str
    keep_quantized: bool
    dtype: str
    prefill_chunk: int
    width_multiple: int
    cache_limit: int | None

    @property
    def description(self) -> str:
        """The policy as text, as in "CPU, float32, OpenBLAS"."""
        if self.device == "metal":
            return f"Metal, {self.dtype}"
        names = {"openblas": "OpenBLAS", "accelerate": "Accelerate", "stock": "reference BLAS"}
        return f"CPU, {self.dtype}, {names[self.blas]}"


def prepare(*, openblas: bool = True) -> None:
    """Choose the BLAS of this process. Call before anything imports mlx; does nothing on a Mac.

    One thread, since on few cores it is steadier than several and leaves one to the window.

    Raises:
        RuntimeError: mlx was imported already, so the choice would come too late.
    """
    global _blas  # noqa: PLW0603 - the choice belongs to the process, like the library itself
    if sys.platform != "linux" or not openblas or _blas == "openblas":
        return
    if "mlx.core" in sys.modules:
        raise RuntimeError("backend.prepare() must run before mlx is imported")
    try:
        library = ctypes.CDLL(_OPENBLAS, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return
    library.openblas_set_num_threads(1)
    _blas = "openblas"


def policy() -> Policy:
    """Return the policy of this process; imports mlx."""
    import mlx.core as mx

    if sys.platform == "darwin" and mx.metal.is_available():
        return metal_policy(str(mx.device_info()["architecture"]))
    blas = "accelerate" if sys.platform == "darwin" else _blas
    return Policy(
        device="cpu",
        blas=blas,
        keep_quantized=False,
        dtype="float32",
        prefill_chunk=16 if blas == "stock" else CPU_CHUNK,
        width_multiple=4 if blas == "openblas" else 1,
        cache_limit=None,
    )


def metal_policy(architecture: str) -> Policy:
    """Return the policy for a GPU, named as in "applegpu_g13s".

    M1 and M2 (generations 13 and 14) emulate bfloat16, so they run in float16.
    """
    generation = int("".join(c for c in architecture.rpartition("_g")[2] if c.isdigit()) or 0)
    dtype = "float16" if generation in (13, 14) else "bfloat16"
    return Policy(
        device="metal",
        blas="metal",
        keep_quantized=True,
        dtype=dtype,
        prefill_chunk=METAL_CHUNK,
        width_multiple=1,
        cache_limit=2 << 30,
    )


def apply(chosen: Policy) -> None:
    """Set mlx's memory limits as the policy says. No wired limit: it can take the whole machine down."""
    import mlx.core as mx

    if chosen.cache_limit is not None:
        mx.set_cache_limit(chosen.cache_limit)


def dtype(chosen: Policy) -> mx.Dtype:
    import mlx.core as mx

    result: mx.Dtype = getattr(mx, chosen.dtype)
    return result


def rounding(chosen: Policy) -> float:
    """Return the largest total variation distance between next-token distributions that rounding explains.

    Wider matrix products sum in another order. Half precision (float16, bfloat16) has 11 and 8 bits of mantissa, so
    that a logit of 20 is off by 0.02 and 0.1.
    """
    return {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.25}[chosen.dtype]


def machine() -> str:
    """Return system and architecture, as in "Linux x86_64", for published measurements."""
    return f"{platform.system()} {platform.machine()}"


def speed_class(chosen: Policy) -> str:
    """Return what decides the speed of matrix products here, as text: chip, BLAS, and mlx's version."""
    import mlx.core as mx

    chip = mx.device_info()["architecture"] if chosen.device == "metal" else f"{os.cpu_count()} cores"
    return f"{machine()}, {chip}, {chosen.description}, mlx {importlib.metadata.version('mlx')}"
