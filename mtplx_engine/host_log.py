"""The log of the engine process, and what is said of faults that nobody foresaw; neither holds a prompt."""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import traceback
from typing import TYPE_CHECKING

from mtplx_engine.errors import ErrorInfo, ErrorKind

if TYPE_CHECKING:
    from pathlib import Path

NAME = "mtplx.host"


def unexpected(error: BaseException) -> ErrorInfo:
    """Describe a failure that nobody foresaw; without a message that could quote a prompt."""
    place = "".join(traceback.format_tb(error.__traceback__))
    # These come from mlx and the system, and speak of memory, devices and files.
    words = f": {error}" if isinstance(error, RuntimeError | OSError | MemoryError | ImportError) else ""
    return ErrorInfo(
        ErrorKind.INTERNAL,
        "The engine had a fault and starts afresh. Try again; if it happens each time, choose another model.",
        f"{place}{type(error).__name__}{words}",
    )


def start(folder: Path) -> None:
    """Begin to write the log, and what native code says when it crashes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = logging.handlers.RotatingFileHandler(
            folder / "engine.log", maxBytes=1_000_000, backupCount=3, encoding="utf-8"
        )
    except OSError:
        handler = logging.NullHandler()  # an engine without a log is better than none
    logging.basicConfig(handlers=[handler], format="%(asctime)s %(process)d %(levelname)s %(message)s")
    logging.getLogger(NAME).setLevel(logging.INFO)
    faulthandler.enable()
