"""Checks what config.json says of the rotary positions, which mlx-lm takes as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEYS = ("rope_scaling", "rope_parameters")
_FACTORED = frozenset({"deepseek_yarn", "dynamic", "linear", "llama3", "telechat3-yarn", "yarn"})
_KINDS = _FACTORED | {"default", "longrope", "mrope", "proportional"}
_POSITIVE = (
    "beta_fast",
    "beta_slow",
    "factor",
    "high_freq_factor",
    "low_freq_factor",
    "original_max_position_embeddings",
    "partial_rotary_factor",
    "rope_theta",
)
_SECTIONS = 3
_MOST = 1e12


def check(config: Mapping[str, Any], file: str) -> None:
    """Check the settings of a parsed config.json, laid flat.

    Raises:
        EngineError: REFUSED, with the setting that cannot be.
    """
    for key in _KEYS:
        if (settings := config.get(key)) is not None:
            _check(settings, key, file)


def _check(settings: Any, path: str, file: str) -> None:
    if not isinstance(settings, dict):
        raise refused(file, f"says {path} is {_short(settings)}, but it must be an object")
    kind = settings.get("type") or settings.get("rope_type", "default")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise refused(
            file, f"asks for rotary positions of the kind {_short(kind)} ({path}), which mlx-lm lacks"
        )
    if kind in _FACTORED and settings.get("factor") is None:
        raise refused(file, f"does not say {path}.factor, which positions of the kind {kind} need")
    for name in _POSITIVE:
        value = settings.get(name)
        if value is not None and not _is_positive(value):
            raise refused(
                file, f"says {path}.{name} is {_short(value)}, but it must be above 0 and up to {_MOST:g}"
            )
    if kind == "mrope" and not _is_sections(settings.get("mrope_section")):
        raise refused(file, f"does not say {path}.mrope_section as {_SECTIONS} whole numbers")
    for name, inner in settings.items():  # settings of their own for each kind of layer
        if isinstance(inner, dict):
            _check(inner, f"{path}.{name[:40]}", file)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _MOST


def _is_sections(value: Any) -> bool:
    return isinstance(value, list) and len(value) == _SECTIONS and all(type(item) is int for item in value)


def _short(value: Any) -> str:
    return repr(value)[:40]
