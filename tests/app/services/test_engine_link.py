"""The engine link with a scripted engine process: order, exits, restarts, Stop at every stage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import Qt

from app.services.engine_link import EngineLink
from app.services.engine_worker import EngineState
from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.errors import ErrorKind
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.ipc.protocol import Failed, Finished, Generate, LoadProgress, PrefillProgress, Tokens
from mtplx_engine.stats import FinishReason
from tests.support.fake_host import fake_host_command
from tests.support.fake_script import Script

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


PLAIN = Script()
NAMES = {
    LoadProgress: "load_progress",
    PrefillProgress: "prefill",
    Tokens: "tokens",
    Finished: "finished",
    Failed: "failed",
}


class Window:
    """Records what the link signals, and the processes that it starts, one for each script given; the last repeats."""

    def __init__(self, qtbot: QtBot, folder: Path, scripts: tuple[Script, ...], options: dict[str, Any]) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.clients: list[EngineClient] = []
        self._qtbot = qtbot
        self._scripts = scripts
        self._folder = folder
        self._client_options = {"silence_s": options.pop("silence_s", 15.0)}
        self.link = EngineLink(self._make_client, **options)
        self.link.loaded.connect(partial(self._hear, "loaded"))
        self.link.lost.connect(partial(self._hear, "lost"))
        self.link.state_changed.connect(partial(self._hear, "state"))
        self.link.happened.connect(lambda event: self._hear(NAMES.get(type(event), ""), event))

    def _make_client(self) -> EngineClient:
        script = self._scripts[min(len(self.clients), len(self._scripts) - 1)]
        self.clients.append(EngineClient(self._folder, fake_host_command(script), **self._client_options))
        return self.clients[-1]

    def _hear(self, name: str, value: Any) -> None:
        self.heard.append((name, value))

    def start(self) -> None:
        self.link.start("model", Path("/data"))

    def ask(self, generation: int) -> None:
        self.link.submit(Generate(generation, (ChatMessage("user", "hello"),), SamplerConfig()))

    def all(self, name: str, generation: int | None = None) -> list[Any]:
        return [
            value
            for heard, value in self.heard
            if heard == name and (generation is None or value.generation == generation)
        ]

    def wait(self, name: str, count: int = 1, generation: int | None = None) -> Any:
        """Wait for the `count`th signal of that name, and return what it carried."""
        self._qtbot.waitUntil(lambda: len(self.all(name, generation)) >= count, timeout=60_000)
        return self.all(name, generation)[count - 1]

    def wait_for_state(self, state: EngineState) -> None:
        self._qtbot.waitUntil(lambda: self.link.state is state, timeout=60_000)

    def wait_for_process(self, number: int) -> None:
        self._qtbot.waitUntil(lambda: len(self.clients) >= number, timeout=60_000)

    def states(self) -> list[EngineState]:
        return self.all("state")

    def text(self, generation: int) -> str:
        return "".join(event.text for event in self.all("tokens", generation))

    def ends(self) -> list[tuple[str, int]]:
        """How each answer ended, in order."""
        return [(name, value.generation) for name, value in self.heard if name in {"finished", "failed"}]


Open = Callable[..., Window]


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[Open]:
    opened: list[Window] = []

    def make(*scripts: Script, **options: Any) -> Window:
        opened.append(Window(qtbot, tmp_path, scripts or (PLAIN,), options))
        opened[-1].start()
        return opened[-1]

    yield make
    for each in opened:
        each.link.shutdown()


def test_a_question_typed_while_the_model_loads_is_answered(window: Open) -> None:
    app = window(Script(load_s=0.1))
    app.ask(1)
    finished = app.wait("finished")
    assert app.states() == [EngineState.STARTING, EngineState.LOADING, EngineState.READY]
    assert app.all("load_progress")[0] == LoadProgress(0.0, "reading weights")
    assert app.all("loaded")[0].name == "model"
    assert app.all("prefill", 1)
    assert app.text(1) == PLAIN.answer
    assert finished.reason is FinishReason.END


def test_one_signal_per_decode_cycle(window: Open) -> None:
    app = window()
    app.ask(1)
    stats = app.wait("finished").stats
    assert len(app.all("tokens")) == stats.verify_steps + stats.plain_steps
    assert sum(len(event.token_ids) for event in app.all("tokens")) == stats.emitted


def test_a_killed_engine_keeps_the_partial_answer_and_comes_back(window: Open) -> None:
    app = window(Script(cycle_s=0.05), PLAIN)
    app.ask(1)
    app.wait("tokens", 3)
    os.kill(app.clients[0].pid, signal.SIGKILL)
    error = app.wait("failed").error
    assert error.kind is ErrorKind.ENGINE_LOST
    assert error.message == "The engine stopped; the answer so far is kept."
    assert PLAIN.answer.startswith(app.text(1))
    assert app.text(1)
    assert "SIGKILL" in app.wait("lost").message
    app.wait("loaded", 2)
    app.ask(2)
    assert app.wait("finished").generation == 2
    assert app.text(2) == PLAIN.answer
    assert app.ends() == [("failed", 1), ("finished", 2)]


def test_a_question_asked_right_after_a_death_goes_to_the_new_engine(window: Open) -> None:
    app = window()
    app.wait("loaded")
    os.kill(app.clients[0].pid, signal.SIGKILL)
    app.wait("lost")
    app.ask(1)
    app.wait("finished")
    assert app.text(1) == PLAIN.answer


def test_a_hanging_engine_is_replaced(window: Open) -> None:
    app = window(Script(hang_after=2), PLAIN, silence_s=1.5)
    app.ask(1)
    assert app.wait("failed").error.kind is ErrorKind.ENGINE_LOST
    assert "has not answered" in app.wait("lost").message
    app.wait("loaded", 2)


def test_after_three_restarts_it_gives_up_and_says_why_and_the_user_can_restart(window: Open) -> None:
    app = window(*[Script(crash_after=0)] * 4, PLAIN, clock=lambda: 0.0)
    for generation in range(1, 5):
        app.ask(generation)
        app.wait("failed", generation=generation)
    app.wait_for_state(EngineState.GAVE_UP)
    assert len(app.clients) == 4
    sentence = app.wait("lost", 4).message
    assert "stopped 4 times within 10 minutes" in sentence
    assert "Restart" in sentence
    app.ask(5)
    assert "Press Restart" in app.wait("failed", generation=5).error.message
    app.link.restart()
    app.ask(6)
    app.wait("finished", generation=6)
    assert app.link.state is EngineState.READY


def test_restarts_long_ago_do_not_count(window: Open) -> None:
    now = iter(range(0, 10_000, 300))
    app = window(*[Script(crash_after=0)] * 4, PLAIN, clock=lambda: float(next(now)))
    for generation in range(1, 5):
        app.ask(generation)
        app.wait("failed", generation=generation)
    # Not by counting "loaded": a process that kills itself may take an unsent event with it.
    app.wait_for_process(5)
    app.wait_for_state(EngineState.READY)
    assert EngineState.GAVE_UP not in app.states()


def test_choosing_a_model_also_ends_giving_up(window: Open) -> None:
    app = window(*[Script(crash_after=0)] * 4, PLAIN)
    for generation in range(1, 5):
        app.ask(generation)
        app.wait("failed", generation=generation)
    app.wait_for_state(EngineState.GAVE_UP)
    app.link.load("another")
    app.wait_for_state(EngineState.READY)
    assert app.all("loaded")[-1].name == "another"


def test_a_restart_mid_answer_ends_that_answer_and_nothing_of_it_comes_later(window: Open) -> None:
    app = window(Script(cycle_s=0.05), PLAIN)
    app.ask(1)
    app.wait("tokens", 2)
    app.link.restart()
    app.ask(2)
    app.wait("finished", generation=2)
    last = max(n for n, (name, value) in enumerate(app.heard) if name == "tokens" and value.generation == 1)
    failed = next(n for n, (name, _) in enumerate(app.heard) if name == "failed")
    assert last < failed
    assert "restarted" in app.all("failed")[0].error.message
    assert app.ends() == [("failed", 1), ("finished", 2)]
    assert app.clients[0].pid != app.clients[1].pid


def test_events_of_answers_that_are_over_are_dropped(window: Open) -> None:
    app = window(Script(stray=True))
    app.ask(1)
    app.ask(2)
    app.wait("finished", 2)
    assert "stray" not in app.text(0) + app.text(1)
    assert app.text(2) == PLAIN.answer


def test_a_failed_load_is_told_and_fails_the_question_that_waits(window: Open) -> None:
    app = window(Script(load_error="The file is damaged; fetch it again."))
    app.ask(1)
    app.wait("failed", 2)
    assert [event.generation for event in app.all("failed")] == [None, 1]
    assert {event.error.message for event in app.all("failed")} == {"The file is damaged; fetch it again."}
    assert app.link.state is EngineState.NO_MODEL


def test_a_model_that_failed_to_load_is_not_loaded_again_by_itself(window: Open) -> None:
    app = window(Script(load_error="The file is damaged; fetch it again."), PLAIN)
    app.wait("failed")
    os.kill(app.clients[0].pid, signal.SIGKILL)
    app.wait("lost")
    app.wait_for_state(EngineState.NO_MODEL)
    assert not app.all("loaded")
    app.link.restart()
    app.wait_for_state(EngineState.READY)


def test_another_model_replaces_the_one_that_loads(window: Open) -> None:
    app = window(Script(load_s=0.5))
    app.ask(1)
    app.wait("load_progress", 2)
    app.link.load("another")
    app.wait("finished")
    assert [info.name for info in app.all("loaded")] == ["another"]
    assert app.states()[-1] is EngineState.READY
    assert EngineState.NO_MODEL not in app.states()


def is_gone(client: EngineClient) -> bool:
    """Whether a process is reaped, so that the system has all of its memory back."""
    try:
        os.kill(client.pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_another_model_gets_a_process_of_its_own_and_the_old_one_is_gone(window: Open) -> None:
    app = window(Script(cycle_s=0.05), PLAIN)
    app.ask(1)
    app.wait("tokens", 2)
    app.link.load("another")
    app.wait("loaded", 2)
    app.wait_for_state(EngineState.READY)
    assert app.all("loaded")[-1].name == "another"
    assert is_gone(app.clients[0])
    assert "Another model was loaded" in app.all("failed", 1)[0].error.message
    app.ask(2)
    app.wait("finished", generation=2)
    assert len(app.clients) == 2


@pytest.mark.parametrize("load_s", [0.0, 60.0], ids=["loaded", "loading"])
def test_unloading_ends_the_process_and_a_fresh_one_waits(window: Open, load_s: float) -> None:
    app = window(Script(load_s=load_s), PLAIN)
    app.wait("load_progress") if load_s else app.wait("loaded")
    app.link.unload()
    app.wait_for_state(EngineState.NO_MODEL)
    assert is_gone(app.clients[0])
    assert len(app.clients) == 2
    app.link.unload()  # nothing is in
    app.link.load("another")
    app.wait_for_state(EngineState.READY)
    assert app.link.model == "another"
    assert len(app.clients) == 2  # it was fresh


def test_a_model_that_was_unloaded_is_not_loaded_by_a_death(window: Open) -> None:
    app = window(PLAIN)
    app.wait("loaded")
    app.link.unload()
    app.wait_for_state(EngineState.NO_MODEL)
    os.kill(app.clients[1].pid, signal.SIGKILL)
    app.wait("lost")
    app.wait_for_process(3)
    app.wait_for_state(EngineState.NO_MODEL)
    assert len(app.all("loaded")) == 1
    app.link.restart()
    app.wait("loaded", 2)


def test_a_model_that_is_too_big_is_refused_with_the_sum_and_loaded_anyway(window: Open) -> None:
    app = window(Script(load_error="It needs 20 of 16 GB.", load_error_kind=ErrorKind.TOO_BIG))
    error = app.wait("failed").error
    assert (error.kind, error.message) == (ErrorKind.TOO_BIG, "It needs 20 of 16 GB.")
    app.wait_for_state(EngineState.NO_MODEL)
    app.link.restart()
    app.wait("failed", 2)
    app.link.load(app.link.model, anyway=True)
    app.wait("loaded")
    os.kill(app.clients[-1].pid, signal.SIGKILL)
    app.wait("loaded", 2)  # what was allowed once is after a death too


@pytest.mark.parametrize(
    ("script", "stage"),
    [
        (Script(load_s=60), "load_progress"),
        (Script(prefill_s=60), "prefill"),
        (Script(cycle_s=60), "prefill"),
        (Script(cycle_s=0.05), "tokens"),
    ],
    ids=["loading", "prefill", "before the first token", "decoding"],
)
def test_stop_acts_at_every_stage(window: Open, script: Script, stage: str) -> None:
    app = window(script)
    app.ask(1)
    app.wait(stage)
    app.link.cancel(1)
    assert app.wait("finished").reason is FinishReason.CANCELLED
    assert app.ends() == [("finished", 1)]
    assert len(app.clients) == 1


def test_stop_ends_an_engine_that_is_stuck_in_a_forward(window: Open) -> None:
    app = window(Script(deaf_after=2), PLAIN, stop_s=0.2)
    app.ask(1)
    app.wait("tokens", 2)
    app.link.cancel(1)
    error = app.wait("failed").error
    assert "did not stop in time" in error.message
    assert "answer so far is kept" in error.message
    assert not app.all("lost")  # the user asked for it: nothing to report, nothing counted
    app.wait("loaded", 2)
    app.ask(2)
    app.wait("finished")
    assert app.ends() == [("failed", 1), ("finished", 2)]


def test_stop_for_an_answer_that_is_over_does_no_harm(window: Open) -> None:
    app = window(stop_s=0.05)
    app.ask(1)
    app.wait("finished")
    app.link.cancel(1)
    app.link.cancel(99)
    app.ask(2)
    app.wait("finished", 2)
    assert len(app.clients) == 1


@pytest.mark.parametrize(
    "script",
    [PLAIN, Script(load_s=60), Script(prefill_s=60), Script(deaf_after=1), Script(hang_after=1)],
    ids=["idle", "loading", "prefill", "stuck", "hanging"],
)
def test_shutdown_reaps_the_process_and_ends_the_thread(window: Open, script: Script) -> None:
    app = window(script)
    app.ask(1)
    app.wait("load_progress" if script.load_s else "prefill")
    app.link.shutdown()
    assert app.clients[0]._process.returncode is not None
    assert app.link.state is EngineState.CLOSED
    heard = len(app.heard)
    app._qtbot.wait(20)
    assert len(app.heard) == heard


def test_what_came_before_shutdown_is_delivered(window: Open) -> None:
    app = window()
    app.wait("loaded")
    arrived = threading.Event()
    app.link._worker.happened.connect(
        lambda event: arrived.set() if isinstance(event, Finished) else None,
        Qt.ConnectionType.DirectConnection,
    )
    app.ask(1)
    assert arrived.wait(20)  # on the worker's thread: this one has not heard of it
    assert not app.all("tokens")
    app.link.shutdown()
    assert app.text(1) == PLAIN.answer
    assert app.ends() == [("finished", 1)]


def test_an_engine_that_cannot_be_started_is_told(qtbot: QtBot, tmp_path: Path) -> None:
    heard: list[Any] = []
    link = EngineLink(partial(EngineClient, tmp_path, [str(tmp_path / "nothing")]))
    link.lost.connect(heard.append)
    link.start("model", Path("/data"))
    qtbot.waitUntil(lambda: link.state is EngineState.GAVE_UP, timeout=5000)
    assert "could not be started" in heard[0].message
    link.shutdown()


def test_a_link_that_was_never_started_shuts_down(qtbot: QtBot, tmp_path: Path) -> None:
    link = EngineLink(partial(EngineClient, tmp_path))
    link.shutdown()
    assert link.state is EngineState.CLOSED


def test_one_signal_for_each_of_many_cycles(window: Open) -> None:
    app = window(Script(answer="word " * 2000, accepted=(0,), cycle_s=0))
    app.ask(1)
    app.wait("finished")
    assert len(app.all("tokens")) == 2001


_EMIT = """
import gc, sys
from PySide6.QtCore import QObject, Signal

class Sender(QObject):
    happened = Signal(object)

sender, heard = Sender(), []
sender.happened.connect(heard.append)
gc.collect()
gc.disable()
before = sys.getrefcount(True)
for number in range(2000):
    sender.happened.emit(number)
print(len(heard), sys.getrefcount(True) - before)
"""


def test_signals_do_not_eat_references() -> None:
    """PySide6 6.12 loses one per emit on this Python, and then the process aborts."""
    done = subprocess.run([sys.executable, "-c", _EMIT], capture_output=True, text=True, check=True)
    heard, change = map(int, done.stdout.split())
    assert heard == 2000
    assert abs(change) < 200
