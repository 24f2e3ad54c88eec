"""Cyclic garbage is collected from the event loop, and nowhere else."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QObject

from app.services import garbage
from app.services.garbage import GarbageCollector

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
    monkeypatch.setattr(garbage, "_INTERVAL_MS", 1)
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
