"""The queue keeps order, lets a load replace an unfinished one, and cancels at every stage."""

from __future__ import annotations

import threading

from mtplx_engine.config import SamplerConfig
from mtplx_engine.ipc.protocol import Generate, Load, Unload
from mtplx_engine.ipc.queue import CommandQueue


def ask(generation: int) -> Generate:
    return Generate(generation, (), SamplerConfig())


def load(model: str) -> Load:
    return Load(model, "/data")


def rest(queue: CommandQueue) -> list[object]:
    """Take every job that waits."""
    taken: list[object] = []
    marker = ask(-1)
    queue.add(marker)
    while (job := queue.take()) is not None and job.command is not marker:
        taken.append(job.command)
    return taken


def test_jobs_come_in_order() -> None:
    queue = CommandQueue()
    assert queue.add_load(load("a")) == []
    queue.add(ask(1))
    assert queue.add_unload(Unload()) != []  # the load had not begun
    queue.add(ask(2))
    assert rest(queue) == [ask(1), Unload(), ask(2)]


def test_a_load_replaces_one_that_waits() -> None:
    queue = CommandQueue()
    queue.add(ask(1))
    queue.add_load(load("a"))
    queue.add(ask(2))
    assert [job.command for job in queue.add_load(load("b"))] == [load("a")]
    assert rest(queue) == [ask(1), load("b"), ask(2)]


def test_a_load_goes_ahead_of_answers_that_wait_for_the_one_it_cancels() -> None:
    queue = CommandQueue()
    queue.add_load(load("a"))
    queue.add(ask(1))
    current = queue.take()
    assert current is not None
    assert queue.add_load(load("b")) == []
    assert current.cancelled.is_set()
    assert rest(queue) == [load("b"), ask(1)]


def test_an_unload_cancels_the_load_in_work() -> None:
    queue = CommandQueue()
    queue.add_load(load("a"))
    current = queue.take()
    assert current is not None
    assert queue.add_unload(Unload()) == []
    assert current.cancelled.is_set()
    assert rest(queue) == [Unload()]


def test_a_load_leaves_a_running_answer_alone() -> None:
    queue = CommandQueue()
    queue.add(ask(1))
    current = queue.take()
    queue.add_load(load("a"))
    assert current is not None
    assert not current.cancelled.is_set()


def test_cancel_removes_what_waits_and_signals_what_runs() -> None:
    queue = CommandQueue()
    queue.add(ask(1))
    queue.add(ask(2))
    queue.add(ask(3))
    current = queue.take()
    assert current is not None
    waiting = queue.cancel(2)
    assert waiting is not None
    assert waiting.command == ask(2)
    assert not current.cancelled.is_set()
    assert queue.cancel(1) is None
    assert current.cancelled.is_set()
    assert queue.cancel(99) is None
    assert rest(queue) == [ask(3)]


def test_close_ends_a_take_that_waits_and_cancels_what_runs() -> None:
    queue = CommandQueue()
    queue.add(ask(1))
    current = queue.take()
    assert current is not None
    queue.add(ask(2))
    threading.Timer(0.02, queue.close).start()
    assert current.cancelled.wait(5)
    assert queue.take() is None
