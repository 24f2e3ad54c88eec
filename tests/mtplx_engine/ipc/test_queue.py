"""The line keeps order, lets a load replace an unfinished one, and cancels at every stage."""

from __future__ import annotations

import threading

from mtplx_engine.config import SamplerConfig
from mtplx_engine.ipc.protocol import Generate, Load, Unload
from mtplx_engine.ipc.queue import CommandQueue


def ask(generation: int) -> Generate:
    return Generate(generation, (), SamplerConfig())


def load(model: str) -> Load:
    return Load(model, "/data")


def rest(line: CommandQueue) -> list[object]:
    """Take every job that waits."""
    taken: list[object] = []
    marker = ask(-1)
    line.add(marker)
    while (job := line.take()) is not None and job.command is not marker:
        taken.append(job.command)
    return taken


def test_jobs_come_in_order() -> None:
    line = CommandQueue()
    assert line.add_load(load("a")) == []
    line.add(ask(1))
    assert line.add_unload(Unload()) != []  # the load had not begun
    line.add(ask(2))
    assert rest(line) == [ask(1), Unload(), ask(2)]


def test_a_load_takes_the_place_of_one_that_waits() -> None:
    line = CommandQueue()
    line.add(ask(1))
    line.add_load(load("a"))
    line.add(ask(2))
    assert [job.command for job in line.add_load(load("b"))] == [load("a")]
    assert rest(line) == [ask(1), load("b"), ask(2)]


def test_a_load_goes_ahead_of_answers_that_wait_for_the_one_it_cancels() -> None:
    line = CommandQueue()
    line.add_load(load("a"))
    line.add(ask(1))
    current = line.take()
    assert current is not None
    assert line.add_load(load("b")) == []
    assert current.cancelled.is_set()
    assert rest(line) == [load("b"), ask(1)]


def test_an_unload_cancels_the_load_in_work() -> None:
    line = CommandQueue()
    line.add_load(load("a"))
    current = line.take()
    assert current is not None
    assert line.add_unload(Unload()) == []
    assert current.cancelled.is_set()
    assert rest(line) == [Unload()]


def test_a_load_leaves_a_running_answer_alone() -> None:
    line = CommandQueue()
    line.add(ask(1))
    current = line.take()
    line.add_load(load("a"))
    assert current is not None
    assert not current.cancelled.is_set()


def test_cancel_removes_what_waits_and_signals_what_runs() -> None:
    line = CommandQueue()
    line.add(ask(1))
    line.add(ask(2))
    line.add(ask(3))
    current = line.take()
    assert current is not None
    waiting = line.cancel(2)
    assert waiting is not None
    assert waiting.command == ask(2)
    assert not current.cancelled.is_set()
    assert line.cancel(1) is None
    assert current.cancelled.is_set()
    assert line.cancel(99) is None
    assert rest(line) == [ask(3)]


def test_close_ends_a_take_that_waits_and_cancels_what_runs() -> None:
    line = CommandQueue()
    line.add(ask(1))
    current = line.take()
    assert current is not None
    line.add(ask(2))
    threading.Timer(0.02, line.close).start()
    assert current.cancelled.wait(5)
    assert line.take() is None
