"""Writes keep their order, wait for a full disk, and answers are written at most once a second."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage.errors import StoreError
from app.storage.write_queue import Write, WriteQueue

if TYPE_CHECKING:
    from mtplx_engine.errors import ErrorInfo


class Disk:
    """Stands for the database: notes what is written, or fails as told; and is the clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.error: Exception | None = None
        self.written: list[str] = []
        self.committed: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self.queue = WriteQueue(self, self.committed.append, self._fail, lambda: self.now)

    def progress(self, message_id: str, text: str) -> None:
        self.queue.write_soon(Write(message_id, lambda _: self.put(f"{message_id}={text}")))

    def put(self, what: str) -> None:
        if self.error is not None:
            raise self.error
        self.written.append(what)

    def write(self, message_id: str) -> None:
        self.queue.write(Write(message_id, lambda _: self.put(message_id)))

    def _fail(self, info: ErrorInfo, message_id: str) -> None:
        self.failed.append((info.message, message_id))


@pytest.fixture
def disk() -> Disk:
    return Disk()


FULL = StoreError("full", retryable=True)


@given(st.lists(st.floats(0.001, 0.7), min_size=1, max_size=120))
def test_progress_is_written_at_most_once_a_second_and_never_older_than_that(steps: list[float]) -> None:
    disk = Disk()
    times = []
    for frame, step in enumerate(steps):
        # As the worker does: it wakes up when the queue wants it, or when the next frame comes.
        frame_at = disk.now + step
        due = disk.queue.due_in()
        if due is not None and disk.now + due <= frame_at:
            disk.now += due
            disk.queue.tick()
            times.append((disk.now, len(disk.written)))
        disk.now = frame_at
        disk.progress("a", str(frame))
        times.append((disk.now, len(disk.written)))
        due = disk.queue.due_in()
        assert disk.written[-1] == f"a={frame}" or (due is not None and due <= 1.0)
    flushes = [at for (_, before), (at, after) in pairwise(times) if after > before]
    assert all(later - earlier > 1 - 1e-6 for earlier, later in pairwise(flushes))
    disk.queue.flush()
    assert disk.written[-1] == f"a={len(steps) - 1}"
    assert disk.queue.due_in() is None


def test_nothing_waits_at_first(disk: Disk) -> None:
    assert disk.queue.due_in() is None
    disk.queue.tick()
    assert disk.written == []


def test_a_finished_answer_is_not_overwritten_by_its_progress(disk: Disk) -> None:
    disk.progress("a", "first")
    disk.progress("a", "late")
    disk.write("a")
    disk.now += 5
    disk.queue.tick()
    assert disk.written == ["a=first", "a"]
    assert disk.committed == ["a"]


def test_two_answers_at_a_time(disk: Disk) -> None:
    disk.progress("a", "1")
    disk.progress("b", "1")
    disk.progress("a", "2")
    disk.now += 1
    disk.queue.tick()
    assert disk.written == ["a=1", "b=1", "a=2"] or disk.written == ["a=1", "a=2", "b=1"]


def test_a_full_disk_keeps_everything_in_line(disk: Disk) -> None:
    disk.error = FULL
    disk.write("q")
    disk.write("")
    disk.write("a")
    disk.progress("a", "text")
    for _ in range(5):
        disk.now += 1
        disk.queue.tick()
    assert disk.failed == [("full", "q"), ("full", ""), ("full", "a")]
    assert disk.queue.due_in() == 1
    disk.error = None
    disk.now += 1
    disk.queue.tick()
    assert disk.written == ["q", "", "a", "a=text"]
    assert disk.committed == ["q", "a"]
    assert len(disk.failed) == 3
    assert disk.queue.due_in() is None


def test_progress_on_a_full_disk_is_told_once_and_kept(disk: Disk) -> None:
    disk.error = FULL
    for frame in range(5):
        disk.progress("a", str(frame))
        disk.now += 1
    assert disk.failed == [("full", "a")]
    disk.error = None
    disk.queue.tick()
    assert disk.written == ["a=4"]
    disk.error = FULL
    disk.progress("a", "5")
    disk.now += 1
    disk.queue.tick()
    assert disk.failed == [("full", "a")] * 2


@pytest.mark.parametrize("error", [StoreError("no such chat"), LookupError("a bug")])
def test_what_can_never_be_written_does_not_hold_up_the_rest(disk: Disk, error: Exception) -> None:
    disk.error = error
    disk.write("lost")
    disk.progress("gone", "text")
    disk.now += 1
    disk.queue.tick()
    assert [message_id for _, message_id in disk.failed] == ["lost", "gone"]
    disk.error = None
    disk.write("kept")
    assert disk.written == ["kept"]
    assert disk.queue.due_in() is None
