"""What the window is told of work that failed."""

from __future__ import annotations

import logging
import traceback

from app.translate import tr
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.hub.problem import HubError, Problem

_log = logging.getLogger(__name__)


def describe(error: BaseException, what: str) -> tuple[ErrorInfo, Problem | None]:
    """Return an error in words, and what kind of trouble with a hub it is, if any; log it.

    Args:
        error: As it was raised.
        what: What failed, for the log.
    """
    if isinstance(error, HubError):
        _log.warning("%s: %s", what, error.problem.name)
        return error.info, error.problem
    if isinstance(error, EngineError):
        _log.warning("%s: %s", what, error.kind)
        return error.info, None
    # Not the words of the error: they may quote an address with a key in it.
    details = f"{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}"
    _log.error("%s: %s", what, details)
    sentence = tr("MTPLX had a fault of its own in this. Try again; if it happens each time, restart it.")
    return ErrorInfo(ErrorKind.INTERNAL, sentence, details), None
