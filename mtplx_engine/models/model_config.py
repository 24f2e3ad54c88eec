"""Checks the numbers in config.json against what a real model can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import json_file, rope_settings
from mtplx_engine.models.families.supported import PLAIN_ONLY, SUPPORTED
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from pathlib import Path

NAME = "config.json"
MAX_BYTES = 8 << 20

_REQUIRED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
_LARGEST = {
    "hidden_size": 65_536,
    "intermediate_size": 1 << 20,
    "num_hidden_layers": 512,
    "num_attention_heads": 1024,
    "num_key_value_heads": 1024,
    "head_dim": 4096,
    "vocab_size": 2_000_000,
    "max_position_embeddings": 1 << 26,
    "full_attention_interval": 512,
    "kv_lora_rank": 65_536,
    "qk_rope_head_dim": 4096,
}
_LARGEST_FLOAT = {"rms_norm_eps": 1.0, "rope_theta": 1e12}
_OUTER = ("model_type", "quantization")
_BITS = (2, 3, 4, 5, 6, 8)
_GROUP_SIZES = (16, 32, 64, 128)


def flat(config: dict[str, Any]) -> dict[str, Any]:
    """Return config.json with the settings of a nested language model (text_config) beside the others.

    Those win over others of their name, but for `quantization`, which mlx-lm takes from the outside only.
    """
    nested = config.get("text_config")
    if not isinstance(nested, dict):
        return config
    own = {name: value for name, value in config.items() if name != "text_config"}
    return own | {name: value for name, value in nested.items() if name not in _OUTER}


def model_type(folder: Path) -> str | None:
    """Return what config.json in `folder` names as architecture, None when it cannot be read."""
    try:
        found = json_file.read(folder / NAME, MAX_BYTES).get("model_type")
    except (OSError, EngineError):
        return None
    return found if isinstance(found, str) else None


def check(config: dict[str, Any]) -> None:
    """Check a parsed config.json.

    Raises:
        EngineError: UNSUPPORTED, when the architecture is not on our list; REFUSED, when a number cannot be.
    """
    architecture = config.get("model_type")
    if not isinstance(architecture, str):
        raise refused(NAME, "does not say which architecture the model has (model_type)")
    if architecture not in SUPPORTED | PLAIN_ONLY.keys():
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f'This model has the architecture "{architecture[:60]}", which this version cannot run; '
            f"it runs {', '.join(sorted(SUPPORTED | PLAIN_ONLY.keys()))}.",
        )
    for name in _REQUIRED:
        if config.get(name) is None:
            raise refused(NAME, f"does not say {name}")
    for name, largest in _LARGEST.items():
        _check_whole(config.get(name), name, largest)
    for name, most in _LARGEST_FLOAT.items():
        _check_positive(config.get(name), name, most)
    _check_ends(config.get("eos_token_id"))
    _check_quantization(config.get("quantization"))
    rope_settings.check(config, NAME)


def _check_whole(value: Any, name: str, largest: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= largest:
        raise refused(
            NAME, f"says {name} is {_short(value)}, but it must be a whole number from 1 to {largest}"
        )


def _check_positive(value: Any, name: str, largest: float) -> None:
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= largest:
        raise refused(NAME, f"says {name} is {_short(value)}, but it must be above 0 and up to {largest:g}")


def _check_ends(value: Any) -> None:
    ids = value if isinstance(value, list) else [value]
    if value is not None and not all(isinstance(item, int) and not isinstance(item, bool) for item in ids):
        raise refused(
            NAME,
            f"says eos_token_id is {_short(value)}, but it must be the number of a token, or a list of them",
        )


def _check_quantization(settings: Any) -> None:
    """Check the common bits and group size, and those of single modules (objects under their path)."""
    if settings is None:
        return
    if not isinstance(settings, dict):
        raise refused(NAME, "has a quantization that is no object")
    for table in (settings, *(value for value in settings.values() if isinstance(value, dict))):
        if table.get("bits") not in _BITS or table.get("group_size") not in _GROUP_SIZES:
            bits, group = _short(table.get("bits")), _short(table.get("group_size"))
            raise refused(NAME, f"asks for {bits} bits in groups of {group}, which no model uses")


def _short(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**18:
        return "a huge number"
    return repr(value)[:40]
