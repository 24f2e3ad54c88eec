"""What headers alone tell of whether tensors belong together, whichever architecture they are of. Imports no mlx.

Which tensors an architecture has is not known here: `weights` takes that from mlx-lm's own classes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from mtplx_engine.harmless import one_line
from mtplx_engine.models import hub_cache, tensor_check
from mtplx_engine.models.families import appended_names
from mtplx_engine.models.refusal import refused
from mtplx_engine.models.tensor_check import BYTES, FLOATING, INTEGERS, WORDS, Want

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.tensor_check import Stored

# These mlx-lm converts, or reads the weights in another way.
_CONVERTED = frozenset({"awq", "bitnet", "compressed-tensors", "gptq", "modelopt", "ue8m0"})
_LONGEST = 200
_FEW = 8
_MODELOPT = "hf_quant_config.json"
_OUTER = re.compile(r"^(?:(?:model|language_model)\.)+")
_EXPERT = re.compile(r"^(.*\bexperts\.)(\d+)\.(.+)$")
_SEEING = re.compile(r"(^|\.)(vision|visual|audio)")  # parts of a model that are never loaded
_LAYER = re.compile(r"(?:^|\.)layers\.\d+\.(.+)$")
_FP8, _FP8_BLOCK, _FP8_SCALES = "F8_E4M3", 128, "_scale_inv"
_JOINED = "kv_b_proj."
_JOINT = "fc.weight"
_NORMS = ("pre_fc_norm_embedding.weight", "pre_fc_norm_hidden.weight", "norm.weight")


def check_trunk(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Stored]) -> None:
    """Check that tensors of a model do not contradict each other.

    Args:
        folder: Its folder.
        config: Its config.json, as it is.
        tensors: Its tensors, without those of its head.

    Raises:
        EngineError: REFUSED, when one is there twice, an expert lacks a part, or a type cannot be.
    """
    is_converted = _method(folder, config) in _CONVERTED
    if mismatch := _twice(tensors) or ("" if is_converted else contradiction(tensors)):
        raise misfit(folder, mismatch)


def misfit(folder: Path, mismatch: str) -> Exception:
    """Return the error that says what of a model's weights does not fit."""
    return refused(hub_cache.title(folder), f"holds weights that do not fit its config.json: {mismatch}")


def head_problem(config: Mapping[str, Any], head: HeadSource, tensors: Mapping[str, Stored]) -> str:
    """Return why a drafting head cannot be its model's, one sentence; empty when nothing speaks against it.

    Args:
        config: The model's config.json, laid flat.
        head: The head.
        tensors: The model's tensors.
    """
    specs = {raw: location.spec for raw, location in head.tensors.items()}
    mismatch = contradiction(specs) or _other_width(config, specs) or _other_layer(specs, tensors)
    return unfit(mismatch) if mismatch else ""


def unfit(mismatch: str) -> str:
    """Return the sentence that says what of a head does not fit."""
    return f"The drafting head does not fit this model ({one_line(mismatch, _LONGEST)}), so it is off."


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
    return tensor_check.mismatch(wanted, found)


def _types(name: str, found: Mapping[str, Stored]) -> frozenset[str]:
    """Return which types a tensor may have: only packed matrices are of whole numbers."""
    stem, _, part = name.rpartition(".")
    if f"{name}{_FP8_SCALES}" in found:
        return BYTES
    if part == "weight" and f"{stem}.scales" in found:
        return WORDS
    if part.endswith(("_packed", "_shape")):
        return INTEGERS
    if _SEEING.search(name):
        return frozenset({found[name].dtype})
    return FLOATING | BYTES if part in ("scales", "weight") else FLOATING


def _want_packed(wanted: dict[str, Want], stem: str, found: Mapping[str, Stored]) -> None:
    """Want all parts of a packed matrix, as many rows in each."""
    weight, scales = found.get(f"{stem}.weight"), found[f"{stem}.scales"]
    rows = (weight or scales).shape[:-1]
    wanted.setdefault(f"{stem}.weight", Want(()))
    wanted[f"{stem}.scales"] = Want((*rows, *scales.shape[-1:]), wanted[f"{stem}.scales"].dtypes)
    if scales.dtype in FLOATING:
        wanted[f"{stem}.biases"] = Want((*rows, *scales.shape[-1:]), frozenset({scales.dtype}))


def _agree_on_experts(wanted: dict[str, Want], found: Mapping[str, Stored]) -> None:
    """Want the same of all experts of a layer; what few of them have is not wanted at all."""
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
            kinds = Counter(
                (found[name].shape, wanted[name].dtypes, found[name].dtype) for name in names.values()
            )
            (shape, dtypes, dtype), _ = kinds.most_common(1)[0]
            wanted |= {
                f"{path}{number}.{part}": Want(shape, dtypes & {dtype} or dtypes) for number in numbers
            }


def _twice(found: Mapping[str, Stored]) -> str:
    """Say which tensor is there under two names that mlx-lm takes for one; empty when none is."""
    seen: dict[str, str] = {}
    for name in found:
        if (former := seen.setdefault(_OUTER.sub("", name), name)) != name:
            return f"{name} is there twice, as {former} too"
    return ""


def _other_width(config: Mapping[str, Any], found: Mapping[str, Stored]) -> str:
    """Say which part of a head, around its layer, is not as wide as the model; empty when all are."""
    spelled = {own: raw for raw in found if (own := appended_names.own_name(raw))}
    size: int = config["hidden_size"]
    wanted = {name: Want((size,)) for name in _NORMS}
    named = {own: found[raw] for own, raw in spelled.items() if own in (*_NORMS, _JOINT)}
    if "fc.scales" not in spelled:
        wanted[_JOINT] = Want((size, 2 * size), FLOATING | BYTES)
    else:
        named.pop(_JOINT, None)
    return tensor_check.mismatch(wanted, named, lambda own: spelled.get(own, own))


def _other_layer(found: Mapping[str, Stored], tensors: Mapping[str, Stored]) -> str:
    """Say what in the layer of a head has a shape that no layer of its model has; empty when nothing does.

    Only what both have unpacked and under one name can be compared.
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
    return tensor_check.mismatch(wanted, named)


def _method(folder: Path, config: Mapping[str, Any]) -> str:
    """Return how other programs packed the weights, empty when they did not or mlx did."""
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
