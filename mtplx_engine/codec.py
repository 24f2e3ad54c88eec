"""Messages as newline-delimited JSON.

`encode` gives one line of UTF-8, `decode` gives the message back or raises; unknown types and fields are errors,
since both ends ship together.
"""

from __future__ import annotations

import dataclasses
import json
import typing

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.json_store import build
from mtplx_engine.protocol import Message
from mtplx_engine.surrogates import replace_surrogates

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
