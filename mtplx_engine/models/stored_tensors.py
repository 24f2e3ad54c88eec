"""Check the tensors of a checkpoint by names, types and shapes alone, and infer how they are packed. Imports no mlx.

These checks need no mlx-lm: they find tensors that contradict each other. That every tensor of an architecture is there
is checked by `weights`, against mlx-lm's classes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mtplx_engine.models import hub_cache
from mtplx_engine.models.families import appended_names
from mtplx_engine.models.json_files import refused
from mtplx_engine.util.formatting import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mtplx_engine.models.head_source import HeadSource


FLOATING = frozenset({"F16", "BF16", "F32", "F64"})
DTYPE_BYTES = frozenset({"U8", "F8_E4M3", "F8_E8M0"})
WORDS = frozenset({"U32"})
INTEGERS = frozenset({"I32", "I64"})

_LONGEST_NAME = 100
# Quantization methods that mlx-lm converts, or whose weights it reads in another way.
_CONVERTED = frozenset({"awq", "bitnet", "compressed-tensors", "gptq", "modelopt", "ue8m0"})
_LONGEST_MISMATCH = 200
_FEW = 8
_MODELOPT = "hf_quant_config.json"
_OUTER = re.compile(r"^(?:(?:model|language_model)\.)+")
_EXPERT = re.compile(r"^(.*\bexperts\.)(\d+)\.(.+)$")
_NOT_LOADED = re.compile(r"(^|\.)(vision|visual|audio)")
_LAYER = re.compile(r"(?:^|\.)layers\.\d+\.(.+)$")
_FP8, _FP8_BLOCK, _FP8_SCALES = "F8_E4M3", 128, "_scale_inv"
_JOINED = "kv_b_proj."
_JOINT = "fc.weight"
_NORMS = ("pre_fc_norm_embedding.weight", "pre_fc_norm_hidden.weight", "norm.weight")

_WORD_BITS = 32
_AFFINE = "affine"
_AFFINE_BITS = (2, 3, 4, 5, 6, 8)
_AFFINE_GROUPS = (32, 64, 128)
# The mode of packings whose scales are bytes, by bits and group size.
_BYTE_SCALED = {(4, 16): "nvfp4", (4, 32): "mxfp4", (8, 32): "mxfp8"}


class Stored(Protocol):
    """A stored tensor: its dtype as safetensors spells it, and its shape."""

    @property
    def dtype(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


class Want(NamedTuple):
    """Required shape and allowed types of a tensor."""

    shape: tuple[int, ...]
    dtypes: frozenset[str] = FLOATING


def check_trunk(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Stored]) -> None:
    """Check that tensors of a model do not contradict each other.

    `config` is not laid flat; `tensors` are without those of its head.

    Raises:
        EngineError: REFUSED, when one is there twice, an expert lacks a part, or a type is impossible.
    """
    is_converted = _method(folder, config) in _CONVERTED
    if mismatch := _twice(tensors) or ("" if is_converted else contradiction(tensors)):
        raise misfit(folder, mismatch)


def misfit(folder: Path, mismatch: str) -> Exception:
    """Return the REFUSED error for weights that do not fit their configuration."""
    return refused(hub_cache.title(folder), f"holds weights that do not fit its config.json: {mismatch}")


def head_problem(config: Mapping[str, Any], head: HeadSource, tensors: Mapping[str, Stored]) -> str:
    """Return why a drafting head cannot be its model's, one sentence, empty when it may be; `config` is laid flat."""
    specs = {raw: location.spec for raw, location in head.tensors.items()}
    mismatch = contradiction(specs) or _other_width(config, specs) or _other_layer(specs, tensors)
    return unfit(mismatch) if mismatch else ""


def unfit(mismatch: str) -> str:
    return f"The drafting head does not fit this model ({one_line(mismatch, _LONGEST_MISMATCH)}), so it is off."


def contradiction(found: Mapping[str, Stored]) -> str:
    """Say in one clause which tensors contradict each other; empty when none do."""
    wanted = {name: Want(spec.shape, _types(name, found)) for name, spec in found.items()}
    for name, spec in found.items():
        stem, _, part = name.rpartition(".")
        scales = found.get(f"{stem}.scales")
        if _JOINED in name or f"{name}{_FP8_SCALES}" in found:
            wanted[name] = Want(spec.shape[:2], wanted[name].dtypes)
        if part == "weight" and spec.dtype == _FP8 and scales is None:
            blocks = tuple(math.ceil(side / _FP8_BLOCK) for side in spec.shape[:2])
            wanted[f"{name}{_FP8_SCALES}"] = Want(blocks)
        if part == "weight" and spec.dtype in WORDS and len(spec.shape) > 1:
            wanted[name] = Want(spec.shape, WORDS)
            wanted.setdefault(f"{stem}.scales", Want(()))
        if name.endswith(_FP8_SCALES):
            wanted.setdefault(name.removesuffix(_FP8_SCALES), Want(()))
        if part == "scales":
            _want_packed(wanted, stem, found)
    _agree_on_experts(wanted, found)
    missing = tuple(name for name in wanted if name not in found)[:_FEW]
    for name in [name for name in wanted if name in found and name.startswith(missing)]:
        if name.removesuffix(_FP8_SCALES) not in missing:  # one that is missing, under a wrong name
            del wanted[name]
    return tensor_mismatch(wanted, found)


def _types(name: str, found: Mapping[str, Stored]) -> frozenset[str]:
    """Return the types that a tensor may have: only packed matrices are of whole numbers."""
    stem, _, part = name.rpartition(".")
    if f"{name}{_FP8_SCALES}" in found:
        return DTYPE_BYTES
    if part == "weight" and f"{stem}.scales" in found:
        return WORDS
    if part.endswith(("_packed", "_shape")):
        return INTEGERS
    if _NOT_LOADED.search(name):
        return frozenset({found[name].dtype})
    return FLOATING | DTYPE_BYTES if part in ("scales", "weight") else FLOATING


def _want_packed(wanted: dict[str, Want], stem: str, found: Mapping[str, Stored]) -> None:
    """Require all parts of a packed matrix, with the same number of rows."""
    weight, scales = found.get(f"{stem}.weight"), found[f"{stem}.scales"]
    rows = (weight or scales).shape[:-1]
    wanted.setdefault(f"{stem}.weight", Want(()))
    wanted[f"{stem}.scales"] = Want((*rows, *scales.shape[-1:]), wanted[f"{stem}.scales"].dtypes)
    if scales.dtype in FLOATING:
        wanted[f"{stem}.biases"] = Want((*rows, *scales.shape[-1:]), frozenset({scales.dtype}))


def _agree_on_experts(wanted: dict[str, Want], found: Mapping[str, Stored]) -> None:
    """Require the same of all experts of a layer; parts that only a minority has are not required."""
    layers: dict[str, dict[str, dict[str, str]]] = {}
    for name in found:
        if match := _EXPERT.match(name):
            layers.setdefault(match[1], {}).setdefault(match[3], {})[match[2]] = name
    for path, parts in layers.items():
        numbers = {number: None for names in parts.values() for number in names}
        for part, names in parts.items():
            if 2 * len(names) <= len(numbers):
                for name in names.values():
                    del wanted[name]
                continue
            kinds = Counter((found[name].shape, wanted[name].dtypes, found[name].dtype) for name in names.values())
            (shape, dtypes, dtype), _ = kinds.most_common(1)[0]
            wanted |= {f"{path}{number}.{part}": Want(shape, dtypes & {dtype} or dtypes) for number in numbers}


def _twice(found: Mapping[str, Stored]) -> str:
    """Say which tensor is there under two names that mlx-lm treats as one; empty when none is."""
    seen: dict[str, str] = {}
    for name in found:
        if (former := seen.setdefault(_OUTER.sub("", name), name)) != name:
            return f"{name} is there twice, as {former} too"
    return ""


def _other_width(config: Mapping[str, Any], found: Mapping[str, Stored]) -> str:
    """Say which part of a head, outside its layer, is not as wide as the model; empty when all are."""
    spelled = {own: raw for raw in found if (own := appended_names.own_name(raw))}
    size: int = config["hidden_size"]
    wanted = {name: Want((size,)) for name in _NORMS}
    named = {own: found[raw] for own, raw in spelled.items() if own in (*_NORMS, _JOINT)}
    if "fc.scales" not in spelled:
        wanted[_JOINT] = Want((size, 2 * size), FLOATING | DTYPE_BYTES)
    else:
        named.pop(_JOINT, None)
    return tensor_mismatch(wanted, named, lambda own: spelled.get(own, own))


def _other_layer(found: Mapping[str, Stored], tensors: Mapping[str, Stored]) -> str:
    """Say which tensor in the layer of a head has a shape that no layer of its model has; empty when none does.

    Only tensors that both have unpacked and under one name can be compared.
    """
    layers: dict[str, list[tuple[int, ...]]] = {}
    for name, spec in tensors.items():
        if (match := _LAYER.search(name)) and spec.dtype in FLOATING:
            layers.setdefault(match[1], []).append(spec.shape)
    wanted, named = {}, {}
    for raw, spec in found.items():
        match = _LAYER.search(appended_names.own_name(raw) or "")
        shapes = layers.get(match[1], []) if match else []
        if shapes and spec.dtype in FLOATING and spec.shape not in shapes:
            wanted[raw], named[raw] = Want(shapes[0]), spec
    return tensor_mismatch(wanted, named)


def _method(folder: Path, config: Mapping[str, Any]) -> str:
    """Return the method by which another program packed the weights, empty when none or mlx did."""
    if config.get("quantization"):
        return ""
    nested = config.get("text_config")
    inner = nested.get("quantization_config") if isinstance(nested, dict) else None
    settings = config.get("quantization_config") or inner
    if not isinstance(settings, dict):
        return "modelopt" if (folder / _MODELOPT).exists() else ""
    method = str(settings.get("quant_method"))
    if method == "fp8" and settings.get("scale_fmt") == "ue8m0":
        return "ue8m0"
    return "pack-quantized" if settings.get("format") == "pack-quantized" else method


def tensor_mismatch(wanted: Mapping[str, Want], found: Mapping[str, Stored], spell: Callable[[str], str] = str) -> str:
    """Say in one clause what does not fit: the first tensor of each kind of mistake, and how many more there are.

    Empty when exactly the wanted tensors are there and all fit. `spell` turns a name into the file's.
    """
    missing = [name for name in wanted if name not in found]
    wrong = [name for name, want in wanted.items() if name in found and not _fits(found[name], want)]
    unknown = [name for name in found if name not in wanted]
    clauses = []
    if missing:
        clauses.append(_clause(missing, "is missing", spell))
    if wrong:
        clauses.append(_clause(wrong, _difference(found[wrong[0]], wanted[wrong[0]]), spell))
    if unknown:
        clauses.append(_clause(unknown, "is unknown", spell))
    return "; ".join(clauses)


def _fits(stored: Stored, want: Want) -> bool:
    return stored.shape == want.shape and stored.dtype in want.dtypes


def _difference(stored: Stored, want: Want) -> str:
    if stored.shape != want.shape:
        return f"has the shape {list(stored.shape)} instead of {list(want.shape)}"
    return f"has the type {stored.dtype} instead of {' or '.join(sorted(want.dtypes))}"


def _clause(names: Sequence[str], predicate: str, spell: Callable[[str], str]) -> str:
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return f"{spell(names[0])[:_LONGEST_NAME]} {predicate}{more}"


@dataclass(frozen=True, slots=True)
class Packing:
    """How a matrix is quantized, in mlx's terms.

    Attributes:
        group_size: Numbers in a row that share a scale.
        mode: "affine", or mlx's name of a microscaling format.
    """

    bits: int
    group_size: int
    mode: str = _AFFINE


def infer_packing(shape: tuple[int, ...], weight: Stored, scales: Stored) -> Packing | None:
    """Return the packing by which a matrix of `shape` becomes these words and scales, None when there is none."""
    if not weight.shape or not scales.shape or not scales.shape[-1] or not shape[-1]:
        return None
    bits, rest = divmod(weight.shape[-1] * _WORD_BITS, shape[-1])
    group_size, remainder = divmod(shape[-1], scales.shape[-1])
    if rest or remainder:
        return None
    if scales.dtype in FLOATING:
        is_known = bits in _AFFINE_BITS and group_size in _AFFINE_GROUPS
        return Packing(bits, group_size) if is_known else None
    mode = _BYTE_SCALED.get((bits, group_size))
    return Packing(bits, group_size, mode) if mode and scales.dtype in DTYPE_BYTES else None
