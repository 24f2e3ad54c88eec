"""The token ids that a drafting head may draft, where it may not draft all. Imports no mlx."""

from __future__ import annotations

import itertools
import sys
from array import array
from typing import TYPE_CHECKING

from mtplx_engine.models import safetensors_header

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.safetensors_header import TensorSpec

_TENSOR = "draft_vocab"
_CODES = {"U16": "H", "I16": "h", "U32": "I", "I32": "i", "U64": "Q", "I64": "q"}


def read(path: Path, vocabulary: int) -> array[int]:
    """Return the sorted ids [D] in a safetensors file.

    Args:
        path: The file.
        vocabulary: Below which the ids must be.

    Raises:
        EngineError: REFUSED, when the file is damaged.
        ValueError: It holds something else; the text says what, as a predicate.
    """
    spec = _spec(path, vocabulary)
    ids = array(_CODES[spec.dtype])
    with path.open("rb") as file:
        file.seek(spec.begin)
        ids.frombytes(file.read(spec.size))
    if sys.byteorder == "big":
        ids.byteswap()
    if ids[0] < 0 or ids[-1] >= vocabulary or not all(a < b for a, b in itertools.pairwise(ids)):
        raise ValueError(f"does not hold sorted token ids below {vocabulary}")
    return ids


def problem(path: Path | None, vocabulary: int, *, data: bool) -> str:
    """Return why a head with such a file must not be used, one sentence; empty when nothing speaks against it.

    Args:
        path: The file, None when there is none.
        vocabulary: As for `read`.
        data: Whether the ids are there, and not only the header before them.

    Raises:
        EngineError: REFUSED, when the file is damaged.
    """
    if path is None:
        return ""
    try:
        (read if data else _spec)(path, vocabulary)
    except ValueError as error:
        return (
            f"The list of tokens that the drafting head may draft, {path.name}, {error}, so the head is off."
        )
    return ""


def _spec(path: Path, vocabulary: int) -> TensorSpec:
    spec = safetensors_header.read(path).get(_TENSOR)
    if spec is None:
        raise ValueError(f"has no tensor {_TENSOR}")
    if spec.dtype not in _CODES:
        raise ValueError(f"has the type {spec.dtype} and not whole numbers")
    if len(spec.shape) != 1 or not 1 <= spec.shape[0] <= vocabulary:
        raise ValueError(f"has the shape {list(spec.shape)} and is no list of up to {vocabulary} ids")
    return spec
