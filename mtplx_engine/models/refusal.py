"""The sentence with which a model folder is refused."""

from __future__ import annotations

from mtplx_engine.errors import EngineError, ErrorKind

_THEN = "Nothing was loaded; "


def cause(reason: str) -> str:
    """Return a refusal without what it says to somebody who has the model already."""
    return reason.partition(f" {_THEN}")[0]


def refused(
    name: str, problem: str, advice: str = "get the model again", *, details: str = ""
) -> EngineError:
    """Return the error that `name`, a file or folder of a model, is unsafe or damaged.

    Args:
        name: The file or folder, without its path.
        problem: What it does wrong, as a predicate: "is cut off".
        advice: What the person can do.
        details: For a bug report.
    """
    return EngineError(ErrorKind.REFUSED, f"{name} {problem}. {_THEN}{advice}.", details)
