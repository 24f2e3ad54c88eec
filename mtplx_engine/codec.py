"""Messages as newline-delimited JSON, and values of any dataclass from parsed JSON.

`encode` gives one line of UTF-8, `decode` gives the message back or raises; unknown types and fields are errors,
since both ends ship together.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import types
import typing
from enum import Enum
from functools import cache
from typing import Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.protocol import Message
from mtplx_engine.surrogates import replace_surrogates

_LARGEST = sys.float_info.max
_TYPES: dict[str, type] = {cls.__name__: cls for cls in typing.get_args(Message)}


def encode(message: Message) -> bytes:
    """Return `message` as one line of JSON, newline included.

    Lone surrogates are replaced by U+FFFD: they cannot be UTF-8 and would fail at the far end.

    Raises:
        ValueError: A float is NaN or infinite.
    """
    body = {"type": type(message).__name__, **dataclasses.asdict(message)}
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return replace_surrogates(text).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Return the message in one line of JSON.

    Raises:
        EngineError: INTERNAL, when the line is not a message of this protocol.
    """
    try:
        body = json.loads(line.decode())
        cls = _TYPES[body.pop("type")]
        return typing.cast("Message", build(cls, body))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EngineError(
            ErrorKind.INTERNAL,
            "The app and its engine do not understand each other; restart MTPLX.",
            repr(error),
        ) from error


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def build(hint: Any, value: Any) -> Any:
    """Make a value of type `hint` from parsed JSON, strictly; fields that are missing get their defaults.

    Raises:
        ValueError, TypeError: The JSON is not of that type.
        EngineError: BAD_REQUEST, from a dataclass that checks its fields.
    """
    if dataclasses.is_dataclass(hint):
        return _build_dataclass(typing.cast("type", hint), value)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return _build_tuple(args, value)
    if origin in (types.UnionType, typing.Union):
        return _build_union(args, value)
    if origin is typing.Literal:
        if value not in args:
            raise ValueError(f"{value!r} is not one of {args}")
        return value
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    return _build_scalar(hint, value)


def _build_dataclass(cls: type, value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    hints = _hints(cls)
    unknown = value.keys() - hints.keys()
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    return cls(**{name: build(hints[name], item) for name, item in value.items()})


def _build_tuple(args: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(build(args[0], item) for item in value)
    return tuple(build(arg, item) for arg, item in zip(args, value, strict=True))


def _build_union(args: tuple[Any, ...], value: Any) -> Any:
    for arg in args:
        try:
            return build(arg, value)
        except (ValueError, TypeError):
            continue
    raise ValueError(f"{value!r} fits none of {args}")


def _build_scalar(hint: Any, value: Any) -> Any:
    if hint is types.NoneType:
        if value is not None:
            raise ValueError(f"{value!r} is not null")
        return None
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not -_LARGEST <= value <= _LARGEST:  # false for NaN too
            raise ValueError(f"{value!r} is not a finite number")
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ValueError(f"{value!r} is not {hint.__name__}")
    return value
