"""Gate: every module can be compiled, and is what its compiled form was made of."""

from __future__ import annotations

import importlib.util
import marshal
import warnings
from types import CodeType
from typing import TYPE_CHECKING

from mtplx_bundle import precompiling

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents


_UNCHECKED = 1  # the flags of what is held against its source here, and by Python never again


def faults(contents: Contents) -> Iterator[str]:
    """Yield the modules that are no Python, or whose compiled form is missing, cut off or of another text."""
    for path in contents.files:
        if path.suffix != ".py":
            continue
        source, compiled = path.read_bytes(), precompiling.compiled(path)
        if compiled.is_file():
            if (why := _difference(compiled.read_bytes(), source)) is not None:
                yield f"{contents.name(compiled)} {why}"
        elif (refusal := _refusal(source, path)) is not None:
            yield f"{contents.name(path)}: {refusal}"
        elif path.is_relative_to(contents.layout.stdlib) and not precompiling.is_seldom(path):
            yield f"{contents.name(path)} is not compiled"


def _difference(compiled: bytes, source: bytes) -> str | None:
    """Return why a compiled module is not the one of a source; None when it is."""
    header = importlib.util.MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little")
    if not compiled.startswith(header):
        return "is of another Python, or looks at its source"
    header += importlib.util.source_hash(source)
    if not compiled.startswith(header):
        return "was compiled from another text"
    try:
        code = marshal.loads(compiled[len(header) :])  # noqa: S302 - of our own build; nothing is run
    except (EOFError, ValueError, TypeError):
        code = None
    return None if isinstance(code, CodeType) else "is cut off"


def _refusal(source: bytes, path: Path) -> str | None:
    """Return why a module cannot be compiled; None when it can."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes in other people's modules
        try:
            compile(source, str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return str(error)
    return None
