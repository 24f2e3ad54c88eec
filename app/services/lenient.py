"""Values read from what may be damaged: each part that cannot be understood costs only itself."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import Any, TypeVar

from mtplx_engine import json_store
from mtplx_engine.errors import EngineError

if typing.TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
# What `json_store.build` and the checks of dataclasses raise for values that do not fit.
MISFITS = (ValueError, TypeError, EngineError)


def parsed(stored: bytes | str | None) -> Any:
    """Return what JSON says; None when it says nothing that can be understood."""
    try:
        return None if stored is None else json.loads(stored)
    except (ValueError, RecursionError):
        return None


def built(hint: Any, value: Any) -> Any:
    """Return `value`, as JSON gives it, as a value of the type `hint`; None when it does not fit."""
    try:
        return json_store.build(hint, value)
    except (*MISFITS, RecursionError):
        return None


def overlaid(default: _T, body: Any, misfit: Callable[[str, Exception], None] | None = None) -> _T:
    """Return the dataclass `default` with the fields that `body` has and that fit.

    Args:
        default: Has what is missing or does not fit.
        body: What JSON gives; anything.
        misfit: Called with the name of each field that does not fit, and why.
    """
    result: Any = default
    for name, hint in typing.get_type_hints(type(default)).items():
        if isinstance(body, dict) and name in body:
            try:
                result = dataclasses.replace(result, **{name: json_store.build(hint, body[name])})
            except (*MISFITS, RecursionError) as error:
                if misfit is not None:
                    misfit(name, error)
    return typing.cast("_T", result)
