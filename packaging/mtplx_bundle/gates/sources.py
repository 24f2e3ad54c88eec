"""Gate: every module can be compiled, and is what its compiled form was made of."""

from __future__ import annotations

import importlib.util
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents

_HASH = slice(8, 16)  # of the source, in the header of a compiled module whose flags ask for no check


def faults(contents: Contents) -> Iterator[str]:
    """Yield the modules that are no Python, or whose compiled form is of another text."""
    for path in contents.files:
        if path.suffix != ".py":
            continue
        source, compiled = path.read_bytes(), _compiled(path)
        if compiled.is_file():
            if compiled.read_bytes()[_HASH] != importlib.util.source_hash(source):
                yield f"{contents.name(compiled)} was compiled from another text"
        elif (why := _refusal(source, path)) is not None:
            yield f"{contents.name(path)}: {why}"


def _compiled(path: Path) -> Path:
    return path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc"


def _refusal(source: bytes, path: Path) -> str | None:
    """Return why a module cannot be compiled; None when it can."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes in other people's modules
        try:
            compile(source, str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return str(error)
    return None
