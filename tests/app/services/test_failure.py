"""What the window and the log are told of work that failed."""

from __future__ import annotations

import logging

import pytest

from app.services.failure import describe
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub.problem import HubError, Problem

CANARY = "https://hub.example/file?signature=canary"


def raised(error: Exception) -> Exception:
    """Return an error with the trace that it has when it was raised."""
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("error", "kind", "problem"),
    [
        (HubError(Problem.LICENCE, "It is gated."), ErrorKind.DOWNLOAD, Problem.LICENCE),
        (EngineError(ErrorKind.STORAGE, "The disk is gone."), ErrorKind.STORAGE, None),
    ],
)
def test_what_was_foreseen_is_told_in_its_own_words(
    error: EngineError, kind: ErrorKind, problem: Problem | None
) -> None:
    info, found = describe(raised(error), "look")
    assert (info.kind, info.message, found) == (kind, str(error), problem)


def test_what_nobody_foresaw_is_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    info, problem = describe(raised(ValueError(CANARY)), "look")
    assert (info.kind, problem) == (ErrorKind.INTERNAL, None)
    assert "Try again" in info.message
    assert "ValueError" in info.details
    assert "test_failure.py" in caplog.text
    assert CANARY not in caplog.text + repr(info)
