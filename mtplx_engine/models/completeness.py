"""Whether the tensors of a model, and of its head, are those that its config.json asks for: by headers, without mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.harmless import one_line
from mtplx_engine.models import hub_cache
from mtplx_engine.models.families.supported import PLAIN_ONLY
from mtplx_engine.models.families.tensor_lists import LISTS
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.safetensors_header import TensorSpec

# What mlx-lm takes for these kinds of packing; by tensor it goes by their shapes.
_KNOWN: Mapping[str, Mapping[str, Any]] = {
    "mxfp4": {"bits": 4, "group_size": 32, "mode": "mxfp4"},
    "mxfp8": {"bits": 8, "group_size": 32, "mode": "mxfp8"},
    "pack-quantized": {"bits": 4, "group_size": 32},
}
# These it converts, or reads the weights in another way, before it compares them.
_CONVERTED = frozenset({"awq", "bitnet", "compressed-tensors", "gptq", "modelopt", "ue8m0"})
_LONGEST = 200
_MODELOPT = "hf_quant_config.json"
_SEEN_LATER = "Whether it runs at all is seen when it is loaded."


def check_trunk(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, TensorSpec]) -> str:
    """Check that a model has every tensor that it needs, none besides, and all in the right shape and type.

    Args:
        folder: Its folder.
        config: Its config.json, as it is.
        tensors: Its tensors, without those of its head.

    Returns:
        Why it could not be checked, one sentence; empty when it was.

    Raises:
        EngineError: REFUSED, when something does not fit.
    """
    architecture = config["model_type"]
    if architecture not in LISTS:
        return (
            "Its tensors were not compared with its config.json, since this version has no list of those of "
            f"{PLAIN_ONLY[architecture]} models. {_SEEN_LATER}"
        )
    method = _method(folder, config)
    if method in _CONVERTED:
        return f"Its tensors were not compared with its config.json, since they are packed by {method}. {_SEEN_LATER}"
    packings = config.get("quantization") or _KNOWN.get(method)
    if mismatch := LISTS[architecture].trunk.mismatch(config, tensors, packings):
        raise refused(hub_cache.title(folder), f"holds weights that do not fit its config.json: {mismatch}")
    return ""


def head_problem(config: Mapping[str, Any], head: HeadSource) -> str:
    """Return why a drafting head cannot be its model's, one sentence; empty when its tensors fit.

    Args:
        config: The model's config.json, laid flat.
        head: The head.
    """
    lists = LISTS.get(config["model_type"])
    specs = {raw: location.spec for raw, location in head.tensors.items()}
    mismatch = lists.head.mismatch(config, specs, {}) if lists else ""
    return unfit(mismatch) if mismatch else ""


def unfit(mismatch: str) -> str:
    """Return the sentence that says what of a head does not fit."""
    return f"The drafting head does not fit this model ({one_line(mismatch, _LONGEST)}), so it is off."


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
