"""Of two starts with one data folder the second only raises the first's window."""

from __future__ import annotations

import subprocess
import sys

import pytest

from app.single_instance import SingleInstance

HOLD_AND_DIE = """
import os, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.single_instance import SingleInstance
app = QCoreApplication([])
held = SingleInstance(Path(sys.argv[1]))
print(held.acquire(), flush=True)
os.kill(os.getpid(), 9)
"""


RAISE = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app import single_instance
single_instance._ANSWER_MS = 500
app = QCoreApplication([])
second = single_instance.SingleInstance(Path(sys.argv[1]))
print(second.acquire(), second.raise_other(), flush=True)
"""


def second_start(folder):
    """Start the program once more, and return its process, which prints what it found."""
    return subprocess.Popen([sys.executable, "-c", RAISE, str(folder)], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def make(qapp):
    made = []

    def make(folder):
        made.append(SingleInstance(folder))
        return made[-1]

    yield make
    for one in made:
        one.release()


def test_second_start_raises_the_first(make, qtbot, tmp_path):
    first = make(tmp_path)
    assert first.acquire()
    with second_start(tmp_path) as second:
        with qtbot.waitSignal(first.raise_requested, timeout=20_000):
            pass
        assert second.stdout.read().split() == ["False", "True"]


def test_first_that_hangs_is_not_taken_for_one_that_answers(make, tmp_path):
    first = make(tmp_path)
    assert first.acquire()
    with second_start(tmp_path) as second:  # and nobody runs the event loop of the first
        assert second.stdout.read().split() == ["False", "False"]


def test_other_folder_is_another_program(make, tmp_path):
    assert make(tmp_path / "one").acquire()
    assert make(tmp_path / "two").acquire()


def test_released_folder_can_be_taken(make, tmp_path):
    first = make(tmp_path)
    first.acquire()
    first.release()
    assert make(tmp_path).acquire()


def test_lock_of_a_killed_process_is_taken_over(make, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", HOLD_AND_DIE, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("True", -9)
    assert make(tmp_path).acquire()


def test_nobody_to_raise(make, tmp_path):
    assert not make(tmp_path).raise_other()
