"""`EngineError`, the one type of expected failures: a kind for callers and a sentence for the user."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mtplx_engine.util.formatting import unbroken


class ErrorKind(StrEnum):
    """The kinds of failure that callers tell apart."""

    BAD_REQUEST = "bad_request"  # a setting or an input that can never work
    CONTEXT_OVERFLOW = "context_overflow"  # the prompt is longer than the model's window
    NON_FINITE = "non_finite"  # the model produced NaN, or no finite logit
    NOT_FOUND = "not_found"  # no such model or file
    REFUSED = "refused"  # a folder that is unsafe or corrupt
    TOO_BIG = "too_big"  # a sound model that needs more memory than this machine has
    UNSUPPORTED = "unsupported"  # a sound model of an architecture that is not on our list
    DOWNLOAD = "download"  # fetching failed; trying again may help
    NO_MODEL = "no_model"  # nothing is loaded
    STORAGE = "storage"  # the chats could not be read or written
    ENGINE_LOST = "engine_lost"  # the engine process ended or stopped answering
    INTERNAL = "internal"  # a fault of ours, or of a library below us


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as data, to be sent to another process or thread.

    Attributes:
        message: One plain sentence for the user: what happened, the numbers, one thing to do.
        details: For a bug report (a traceback, a library's message); never a prompt, may be empty.
        tokens: For CONTEXT_OVERFLOW, the length of the prompt.
        window: For CONTEXT_OVERFLOW, how many tokens prompt and answer may hold together.
    """

    kind: ErrorKind
    message: str
    details: str = ""
    tokens: int | None = None
    window: int | None = None


class LoadCancelledError(Exception):
    """Loading was cancelled, which is no failure; nothing is loaded."""


class EngineError(Exception):
    """A failure with a kind and a sentence that the user can act on; text quoted in it cannot break the line."""

    def __init__(self, kind: ErrorKind, message: str, details: str = "") -> None:
        message = unbroken(message)
        super().__init__(message)
        self.info = ErrorInfo(kind, message, details)

    @classmethod
    def of(cls, info: ErrorInfo) -> EngineError:
        error = cls(info.kind, info.message, info.details)
        error.info = info
        return error

    @property
    def kind(self) -> ErrorKind:
        return self.info.kind
