"""Read the JSON files of a model folder strictly, and make the errors that refuse a folder."""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from pathlib import Path


_THEN = "Nothing was loaded; "


def cause(reason: str) -> str:
    """Return the message of a refusal without its advice, which is for users who have the model already."""
    return reason.partition(f" {_THEN}")[0]


def refused(name: str, problem: str, advice: str = "get the model again", *, details: str = "") -> EngineError:
    """Return the REFUSED error for an unsafe or damaged file or folder of a model.

    `name` is without its path, `problem` a predicate such as "is cut off", and `details` are for a bug report.
    """
    return EngineError(ErrorKind.REFUSED, f"{name} {problem}. {_THEN}{advice}.", details)


def read_json(path: Path, max_bytes: int) -> dict[str, Any]:
    """Return the object in a JSON file of at most `max_bytes`; raises REFUSED for anything else."""
    with path.open("rb") as file:
        raw = file.read(max_bytes + 1)
    if len(raw) > max_bytes:
        raise refused(path.name, f"is larger than {formatting.size(max_bytes)}")
    return parse_json(raw, path.name)


def parse_json(raw: bytes, name: str) -> dict[str, Any]:
    """Return the JSON object in `raw`, which comes from the file `name`; raises REFUSED for anything else."""
    if raw.startswith(codecs.BOM_UTF8):
        raise refused(name, "begins with a byte order mark, which JSON must not", "save it as UTF-8 without that mark")
    try:
        body = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise refused(name, "is not valid JSON", details=repr(error)[:500]) from error
    if not isinstance(body, dict):
        raise refused(name, f"holds a {type(body).__name__} where an object belongs")
    return body


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) != len(pairs):
        raise ValueError("a key comes twice")
    return body
