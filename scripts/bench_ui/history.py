"""A history of many answers: opened, and shown as a whole."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.dashboard.history_page import HistoryPage
from app.dashboard.measure_controller import SpeedRecords
from app.storage import records
from app.storage.database import ChatDatabase
from app.storage.schema import transaction
from scripts.bench_ui.figure import LONGEST_BLOCK_MS, Figure, timed
from scripts.bench_ui.own_time import OwnTime
from scripts.bench_ui.program import Program
from tests.support.fake_script import Script
from tests.support.figures import month

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.storage.stats import Choice
    from app.theme import Theme


_LIMIT_MS = 300.0
_DAYS = 700
_SIZE = (860, 760)


class _OneThread(QObject):
    """A store that reads at once, so that the time of one thread is all that it takes."""

    history_read = Signal(object)
    history_exported = Signal(str, int)
    failed = Signal(object, str)

    def __init__(self, database: ChatDatabase) -> None:
        super().__init__()
        self._database = database

    def read_history(self, choice: Choice) -> None:
        """Read, and tell."""
        self.history_read.emit(self._database.figures.read(choice))


def measure(folder: Path, answers: int) -> list[Figure]:
    """Open a history of so many answers and choose all of them, with the store on one thread and on its own."""
    name = f"history of {answers:,} answers"
    _fill(folder / "chats", answers)
    with Program(folder, Script()) as program:
        theme, store = program.app.theme, program.app.store
        page = HistoryPage(theme, store, SpeedRecords(folder))
        page.resize(*_SIZE)
        acts = (("opening it", page.show), ("choosing all of it", lambda: page.period.chosen.emit(None)))
        blocks = [
            timed(f"{name}, {act}: longest block", program.longest_block(run), LONGEST_BLOCK_MS)
            for act, run in acts
        ]
        page.deleteLater()
        program.settle()
        store.close()
        return [*_opened(theme, folder, name), *blocks]


def _opened(theme: Theme, folder: Path, name: str) -> list[Figure]:
    """Measure from the click until the figures are painted."""
    with ChatDatabase(folder / "chats", 0) as database:
        store = _OneThread(database)
        page = HistoryPage(theme, store, SpeedRecords(folder))  # type: ignore[arg-type]
        page.resize(*_SIZE)
        found = [
            _painted(page, f"{name}: until the last 30 days are shown", page.show),
            _painted(page, f"{name}: until all of a model are shown", lambda: page.period.chosen.emit(None)),
            _painted(page, f"{name}: until all are shown", lambda: page.model.chosen.emit(None)),
        ]
        page.deleteLater()
        return found


def _painted(page: HistoryPage, what: str, act: Callable[[], object]) -> Figure:
    with OwnTime() as clock:
        started = clock.now()
        act()
        page.grab()
        return timed(what, clock.now().since(started), _LIMIT_MS)


def _fill(folder: Path, answers: int) -> None:
    """Write answers of `_DAYS` days in one go."""
    today = datetime.now().astimezone().date()
    some = list(month(today))
    with ChatDatabase(folder, 0) as database:
        connection = database._connection  # noqa: SLF001  one commit for each answer would take minutes
        with transaction(connection):
            for number in range(answers):
                day = today - timedelta(days=_DAYS * (answers - 1 - number) // answers)
                row = records.figures_row(dataclasses.replace(some[number % len(some)], day=day))
                connection.execute(
                    f"INSERT INTO figures ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608
                    tuple(row.values()),
                )
