"""Qt's plug-ins, and cyclic garbage, which is collected from the event loop only."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import PySide6
import pytest
import shiboken6
from PySide6.QtCore import QObject

from app import program
from app.program import GarbageCollector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot


class Cycle(QObject):
    """Something that only the collector can end."""

    def __init__(self) -> None:
        super().__init__()
        self.itself = self


@pytest.fixture
def collector(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[GarbageCollector]:
    monkeypatch.setattr(program, "_COLLECT_MS", 1)
    collector = GarbageCollector(qapp)
    yield collector
    collector.close()
    collector.deleteLater()


def make_garbage() -> None:
    """Do what makes the interpreter collect, several times over."""
    kept = [[number] for number in range(20_000)]
    assert kept


def test_cycles_end_on_the_main_thread_only(collector: GarbageCollector, qtbot: QtBot) -> None:
    ended_on: list[str] = []
    cycle = weakref.ref(made := Cycle(), lambda _: ended_on.append(threading.current_thread().name))
    del made
    other = threading.Thread(target=make_garbage)
    other.start()
    other.join()
    assert cycle() is not None
    kept = [[number] for number in range(2_000)]
    qtbot.waitUntil(lambda: cycle() is None)
    assert ended_on == [threading.main_thread().name]
    assert kept


def test_the_interpreter_collects_again_when_it_is_closed(qapp: QApplication) -> None:
    collector = GarbageCollector(qapp)
    assert not gc.isenabled()
    collector.close()
    assert gc.isenabled()
    collector.deleteLater()


START = """
import sys
sys.path.insert(0, sys.argv[1])
from PySide6.QtWidgets import QApplication
from app.program import find_qt_plugins
find_qt_plugins()
print(QApplication(["test", "-platform", "offscreen"]).platformName())
"""


@pytest.mark.parametrize("name", ["a, b; c", 'an "app"', "back\\slash"])
def test_qt_starts_from_a_folder_whose_name_its_settings_cannot_hold(tmp_path, name):
    folder = tmp_path / name
    (folder / "PySide6").mkdir(parents=True)
    for path in Path(PySide6.__file__).parent.iterdir():
        (folder / "PySide6" / path.name).symlink_to(path)
    (folder / "shiboken6").symlink_to(Path(shiboken6.__file__).parent)
    ended = subprocess.run([sys.executable, "-c", START, str(folder)], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("offscreen\n", 0), ended.stderr
