"""Work off the main thread, and the errors of failed work for window and log."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from app.services.tasks import TaskRunner, describe
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub.errors import HubError, HubErrorKind

CANARY = "https://hub.example/file?signature=canary"


def raised(error: Exception) -> Exception:
    """Return an error with the trace that it has when it was raised."""
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("error", "kind", "problem"),
    [
        (HubError(HubErrorKind.LICENCE, "It is gated."), ErrorKind.DOWNLOAD, HubErrorKind.LICENCE),
        (EngineError(ErrorKind.STORAGE, "The disk is gone."), ErrorKind.STORAGE, None),
    ],
)
def test_what_was_foreseen_is_told_in_its_own_words(
    error: EngineError, kind: ErrorKind, problem: HubErrorKind | None
) -> None:
    info, found = describe(raised(error), "look")
    assert (info.kind, info.message, found) == (kind, str(error), problem)


def test_what_nobody_foresaw_is_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    info, problem = describe(raised(ValueError(CANARY)), "look")
    assert (info.kind, problem) == (ErrorKind.INTERNAL, None)
    assert "Try again" in info.message
    assert "ValueError" in info.details
    assert "test_tasks.py" in caplog.text
    assert CANARY not in caplog.text + repr(info)


@pytest.fixture
def tasks(qapp):
    made = TaskRunner("work", end_s=0.05)
    yield made
    made.abandon()
    made.deleteLater()


def test_a_result_or_an_error_comes_on_the_main_thread(tasks, qtbot):
    heard = []

    def note(outcome):
        heard.append((outcome, threading.current_thread() is threading.main_thread()))

    def fail():
        raise ValueError(threading.current_thread().name)

    tasks.run(lambda: threading.current_thread().name, note, note)
    tasks.run(fail, note, note)
    assert tasks.busy
    qtbot.waitUntil(lambda: not tasks.busy)
    assert {(str(outcome), type(outcome), on_main) for outcome, on_main in heard} == {
        ("work", str, True),
        ("work", ValueError, True),
    }


def test_what_is_stuck_is_abandoned_in_time_and_never_heard_of(tasks, qtbot):
    heard, go_on = [], threading.Event()
    for _ in range(3):
        tasks.run(lambda: go_on.wait(30), heard.append, heard.append)
    before = time.monotonic()
    tasks.abandon()
    assert time.monotonic() - before < 1
    assert not tasks.busy
    go_on.set()
    tasks.run(lambda: "later", heard.append, heard.append)
    qtbot.waitUntil(lambda: bool(heard))
    qtbot.wait(20)
    assert heard == ["later"]


def test_what_ended_before_it_was_abandoned_is_not_heard_of_either(tasks, qtbot):
    heard, ended = [], threading.Event()
    tasks.run(ended.set, heard.append, heard.append)
    assert ended.wait(30)
    tasks.abandon()
    qtbot.wait(20)
    assert heard == []


def test_work_may_outlive_the_object(qapp, qtbot):
    go_on, ended = threading.Event(), threading.Event()
    made = TaskRunner("work", end_s=0.0)
    made.run(lambda: go_on.wait(30) and ended.set(), lambda _: None, lambda _: None)
    made.abandon()
    made.deleteLater()
    qtbot.wait(20)
    go_on.set()
    assert ended.wait(30)
