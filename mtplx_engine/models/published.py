"""How files hold the tensors of a model: in other layouts than mlx-lm's, and packed. Imports no mlx.

Each layout is a function that takes the tensors that are wanted by their names in mlx-lm, and returns what is wanted
of a file with these tensors, when it has that layout.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from mtplx_engine.models import model_config, safetensors_header
from mtplx_engine.models.packing import Packing, infer
from mtplx_engine.models.refusal import refused
from mtplx_engine.models.tensor_check import BYTES, WORDS, Want

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mtplx_engine.models.tensor_check import Stored

    Wanted = dict[str, Want]
    Found = Mapping[str, Stored]
    Layout = Callable[[Wanted, Found], Wanted]

_NUMBER = re.compile(r"\.experts\.\d+\.")
_FP8_BLOCK = 128
_INT4 = Packing(bits=4, group_size=32)
_INTEGERS = frozenset({"I32", "I64"})


def numbered_experts(wanted: Wanted, found: Found) -> Wanted:
    """Each expert has tensors of its own: `experts.7.up_proj` for the eighth part of `switch_mlp.up_proj`.

    Raises:
        EngineError: REFUSED, when there would be more of them than files can list.
    """
    is_numbered = any(_NUMBER.search(name) for name in found)
    result: Wanted = {}
    for name, want in wanted.items():
        stem, is_stacked, rest = name.partition("switch_mlp.")
        if not is_numbered or not is_stacked or name in found:
            result[name] = want
            continue
        count, *shape = want.shape
        if len(result) + count > safetensors_header.MAX_TENSORS:
            raise refused(
                model_config.NAME, f"asks for {count} experts in a layer, more than a model can have"
            )
        one = Want(tuple(shape))
        result |= {f"{stem}experts.{number}.{rest}": one for number in range(count)}
    return result


def fused_experts(wanted: Wanted, found: Found) -> Wanted:
    """All experts in two arrays, `experts.gate_up_proj` and `experts.down_proj`, gates before ups."""
    if not any(name.endswith(("experts.gate_up_proj", "experts.down_proj")) for name in found):
        return wanted
    result: Wanted = {}
    for name, want in wanted.items():
        stem, is_stacked, rest = name.partition("switch_mlp.")
        if not is_stacked or name.replace("up_proj", "gate_proj") in found:
            result[name] = want
        elif rest == "gate_proj.weight":
            count, inner, size = want.shape
            result[f"{stem}experts.gate_up_proj"] = Want((count, 2 * inner, size))
        elif rest == "down_proj.weight":
            result[f"{stem}experts.down_proj"] = want
    return result


def joined_latents(wanted: Wanted, found: Found) -> Wanted:
    """Keys and values of latent attention in one matrix: `kv_b_proj` for `embed_q` and `unembed_out`."""
    is_joined = any(name.endswith(".kv_b_proj.weight") for name in found)
    result: Wanted = {}
    for name, want in wanted.items():
        stem, _, part = name.rpartition("self_attn.")
        is_half = part in ("embed_q.weight", "unembed_out.weight")
        if not is_joined or not is_half or f"{stem}self_attn.embed_q.weight" in found:
            result[name] = want
        elif part == "embed_q.weight":
            heads, rank, keys = want.shape
            values = wanted[name.replace("embed_q", "unembed_out")].shape[1]
            result[f"{stem}self_attn.kv_b_proj.weight"] = Want((heads * (keys + values), rank))
    return result


def original_convolutions(wanted: Wanted, found: Found) -> Wanted:
    """Convolutions as [channels, 1, width] instead of [channels, width, 1]."""
    result = dict(wanted)
    for name, want in wanted.items():
        if name.endswith("conv1d.weight") and name in found and found[name].shape[-1:] != (1,):
            channels, width, one = want.shape
            result[name] = Want((channels, one, width))
    return result


def in_fp8(wanted: Wanted, found: Found) -> Wanted:
    """Matrices in eight bits, with a scale for each square of 128 rows and columns."""
    result: Wanted = {}
    for name, want in wanted.items():
        scales = f"{name}_scale_inv"
        is_packed = scales in found or (name in found and found[name].dtype == "F8_E4M3")
        if not is_packed or len(want.shape) != 2:
            result[name] = want
            continue
        result[name] = Want(want.shape, BYTES)
        result[scales] = Want(tuple(math.ceil(side / _FP8_BLOCK) for side in want.shape))
    return result


def in_int4(wanted: Wanted, found: Found) -> Wanted:
    """Matrices of four bits as compressed-tensors packs them: `weight_packed`, `weight_scale`, `weight_shape`."""
    result: Wanted = {}
    for name, want in wanted.items():
        is_packed = f"{name}_packed" in found or f"{name}_shape" in found
        if not is_packed or len(want.shape) != 2:
            result[name] = want
            continue
        words, scales = found.get(f"{name}_packed"), found.get(f"{name}_scale")
        packing = (infer(want.shape, words, scales) if words and scales else None) or _INT4
        parts = packing.parts(want.shape, scales)
        result[f"{name}_packed"] = parts["weight"]._replace(dtypes=_INTEGERS)
        result[f"{name}_scale"] = parts["scales"]
        result[f"{name}_shape"] = Want((2,), _INTEGERS)
    return result


def packed(
    wanted: Wanted, found: Found, settings: Mapping[str, Any] | None, never: tuple[str, ...]
) -> Wanted:
    """Return what is wanted of a file whose matrices mlx packed, where they have scales or settings of their own.

    Args:
        wanted: What is wanted unpacked.
        found: What is there.
        settings: mlx-lm's `quantization`, by module where modules differ; empty to go by the tensors alone, None
            when nothing is packed.
        never: How the names of matrices end that mlx-lm does not pack.
    """
    if settings is None:
        return wanted
    result: Wanted = {}
    for name, want in wanted.items():
        path = name.removesuffix(".weight")
        is_matrix = path != name and len(want.shape) > 1 and not name.endswith(never)
        packing = _packing(path, want.shape, found, settings) if is_matrix else None
        if packing is None:
            result[name] = want
        else:
            parts = packing.parts(want.shape, found.get(f"{path}.scales"))
            result |= {f"{path}.{part}": want for part, want in parts.items()}
    return result


def _packing(path: str, shape: tuple[int, ...], found: Found, settings: Mapping[str, Any]) -> Packing | None:
    """Return how a matrix is packed, None when it is not; numbered experts are packed as the first of them."""
    own = settings.get(_NUMBER.sub(".switch_mlp.", path))
    if isinstance(own, dict):
        return _said(own)
    first = _NUMBER.sub(".experts.0.", path)
    weight, scales = found.get(f"{first}.weight"), found.get(f"{first}.scales")
    is_packed = own or scales or (weight and weight.dtype in WORDS)
    if own is False or not is_packed:
        return None
    inferred = infer(shape, weight, scales) if weight and scales and own is None else None
    return inferred or (_said(settings) if settings else None)


def _said(settings: Mapping[str, Any]) -> Packing:
    return Packing(settings["bits"], settings["group_size"], settings.get("mode", "affine"))
