"""Why there is no model to answer, in words for the person."""

from __future__ import annotations

from app.translate import tr
from mtplx_engine.errors import ErrorInfo, ErrorKind


def unloaded() -> ErrorInfo:
    """Return what is said while no model is loaded and nothing went wrong."""
    return ErrorInfo(ErrorKind.NO_MODEL, tr("No model is loaded. Press Restart to load it."))


def without(model: str, error: ErrorInfo) -> ErrorInfo:
    """Return why a chat's own model cannot answer."""
    if error.kind is not ErrorKind.NOT_FOUND:
        return error
    words = tr(
        "This chat asks the model “{model}”, which is not on this computer. Use the one that is loaded, or choose "
        "another one in the inspector."
    ).format(model=model)
    return ErrorInfo(error.kind, words, error.details or error.message)
