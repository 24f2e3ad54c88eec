"""Benchmarks and exactness checks over the link, with a scripted client: each ends exactly once."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from app.services.engine_link import EngineLink
from app.services.engine_worker import EngineState
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.protocol import (
    Abandoned,
    Cancel,
    Checked,
    CheckExactness,
    DepthChosen,
    DepthReason,
    Failed,
    Heartbeat,
    Hello,
    Load,
    Loaded,
    Measure,
    Measured,
    TrialProgress,
    Unloaded,
)
from mtplx_engine.measure.measurement import PromptKind
from tests.support.fake_services import MODEL
from tests.support.measurements import measurement, report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot

    from mtplx_engine.ipc.protocol import Command, Event


MEASURE = Measure(7, (PromptKind.CHAT,), 1024, 64, 3)
CHECK = CheckExactness(8, 8, 200)
NAMES = {
    TrialProgress: "trial_progress",
    Measured: "measured",
    Checked: "checked",
    Abandoned: "abandoned",
    Failed: "failed",
    Heartbeat: "beat",
}


class SpokenClient:
    """An engine process in name only: it says what a test says."""

    def __init__(self) -> None:
        self.sent: list[Command] = []
        self._events: deque[Event | EngineError] = deque()
        self._readable, self._written = os.pipe()
        self.say(Hello(1, "0"))

    def say(self, *events: Event | EngineError) -> None:
        self._events.extend(events)
        os.write(self._written, b"." * len(events))

    def fileno(self) -> int:
        return self._readable

    def send(self, command: Command) -> None:
        self.sent.append(command)

    def read(self, _timeout: float) -> Event | None:
        if not self._events:
            return None
        os.read(self._readable, 1)
        event = self._events.popleft()
        if isinstance(event, EngineError):
            raise event
        return event

    def kill(self) -> None:
        for end in (self._readable, self._written):
            with contextlib.suppress(OSError):
                os.close(end)

    close = kill


class Bench:
    """A link, what it signals about trials, and the clients that it starts."""

    def __init__(self, qtbot: QtBot, stop_s: float) -> None:
        self._qtbot = qtbot
        self.clients: list[SpokenClient] = []
        self.heard: list[tuple[str, Any]] = []
        self.link = EngineLink(self._make, stop_s=stop_s)
        self.link.happened.connect(lambda event: self.heard.append((NAMES[type(event)], event)))
        self.link.start("model", Path("/data"))
        self.client_number(1).say(Loaded(MODEL))
        qtbot.waitUntil(lambda: self.link.state is EngineState.READY)

    def _make(self) -> SpokenClient:
        self.clients.append(SpokenClient())
        return self.clients[-1]

    def client_number(self, number: int) -> SpokenClient:
        self._qtbot.waitUntil(lambda: len(self.clients) >= number)
        return self.clients[number - 1]

    def began(self, command: Measure | CheckExactness) -> SpokenClient:
        """Start a trial, and return the process that got it."""
        self.link.submit(command)
        client = self.clients[-1]
        self._qtbot.waitUntil(lambda: command in client.sent)
        return client

    def wait(self, count: int) -> list[str]:
        self._qtbot.waitUntil(lambda: len(self.heard) >= count)
        return [name for name, _ in self.heard]

    def settle(self) -> list[str]:
        """Wait until everything that was said so far has been heard; return what was told."""
        beats = sum(name == "beat" for name, _ in self.heard)
        self.clients[-1].say(Heartbeat(1))
        self._qtbot.waitUntil(lambda: sum(name == "beat" for name, _ in self.heard) > beats)
        return [name for name, _ in self.heard if name != "beat"]


@pytest.fixture
def bench(qtbot: QtBot) -> Iterator[Bench]:
    made = Bench(qtbot, stop_s=0.05)
    yield made
    made.link.shutdown()


def test_a_measurement_is_told_of_and_ends_once(bench: Bench) -> None:
    client = bench.began(MEASURE)
    client.say(TrialProgress(7, 0.5, "depth 2", 3.0), Measured(7, measurement(2.0, 2.0, 2.0)))
    client.say(TrialProgress(7, 0.6, "late", None), Measured(7, measurement(1.0)), Abandoned(7))
    assert bench.settle() == ["trial_progress", "measured"]
    assert bench.heard[1][1].measurement == measurement(2.0, 2.0, 2.0)


def test_a_check_is_told_of_and_ends_once(bench: Bench) -> None:
    client = bench.began(CHECK)
    client.say(Checked(8, report()), Checked(8, report()))
    assert bench.settle() == ["checked"]


def test_a_cancelled_trial_ends_with_one_word(bench: Bench) -> None:
    client = bench.began(MEASURE)
    bench.link.cancel(7)
    bench._qtbot.waitUntil(lambda: Cancel(7) in client.sent)
    client.say(Abandoned(7), Measured(7, measurement(1.0)))
    assert bench.settle() == ["abandoned"]
    assert bench.heard[0][1].generation == 7


def test_a_trial_that_does_not_stop_takes_its_process_with_it(bench: Bench) -> None:
    bench.began(MEASURE)
    bench.link.cancel(7)
    assert bench.wait(1) == ["failed"]
    assert "did not stop in time" in bench.heard[0][1].error.message
    assert Load("model", "/data") in bench.client_number(2).sent


def test_a_trial_that_is_lost_with_its_process_fails_once(bench: Bench) -> None:
    bench.began(MEASURE)
    bench.began(CHECK).say(EngineError(ErrorKind.ENGINE_LOST, "The engine crashed (SIGSEGV)."))
    assert bench.wait(2) == ["failed", "failed"]
    assert [event.generation for _, event in bench.heard] == [7, 8]
    error = bench.heard[0][1].error
    assert error.message == "The engine stopped; nothing of what it measured is kept."
    assert "SIGSEGV" in error.details
    bench.client_number(2).say(Measured(7, measurement(1.0)))
    assert bench.settle() == ["failed", "failed"]


def test_another_model_ends_a_trial(bench: Bench) -> None:
    bench.began(MEASURE)
    bench.link.load("other")
    assert bench.wait(1) == ["failed"]
    assert bench.heard[0][1].error.message.startswith("Another model was loaded;")


def test_what_nobody_asked_for_and_what_nobody_shows_is_dropped(bench: Bench) -> None:
    client = bench.clients[0]
    client.say(TrialProgress(99, 0.5, "stray", None), Unloaded(), DepthChosen(99, 2, DepthReason.FASTEST))
    client.say(object())  # type: ignore[arg-type] - what a newer engine may say
    assert bench.settle() == []
    assert bench.link.state is EngineState.READY


def test_memory_is_told_with_the_heartbeat(bench: Bench) -> None:
    bench.clients[0].say(Heartbeat(123))
    assert bench.wait(1) == ["beat"]
    assert bench.heard[0][1].footprint == 123
