"""The Speed window: live metrics while an answer is written, and a history of many answers."""

from __future__ import annotations

import dataclasses
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

from PySide6.QtCore import QEventLoop, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication

from app.dashboard.history_page import HistoryPage
from app.dashboard.live_panel import LivePanel
from app.dashboard.live_stats import LiveFeed, PowerWatch
from app.dashboard.measure_controller import SpeedRecords
from app.session.queue import GenerationQueue
from app.storage import records
from app.storage.database import ChatDatabase
from app.storage.schema import transaction
from app.theme import Theme
from mtplx_engine.ipc.protocol import DepthChosen, DepthReason, Heartbeat, Tokens
from mtplx_engine.util.system import SystemState
from scripts.bench_ui.program import Program
from scripts.bench_ui.timing import LONGEST_BLOCK_MS, OwnTime, Result, timed
from tests.support import chats
from tests.support.fake_script import Script
from tests.support.fake_services import FakeLink
from tests.support.figures import month

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.storage.stats import Choice


EVENTS_PER_S: Final = 200
_LIVE_LIMIT_MS: Final = 20  # of CPU time, for each second
_TICK_MS: Final = 50  # several events at a time, so that the clock of this measurement costs little
_LIVE_SIZE: Final = (720, 560)
_ACCEPTED: Final = (2, 1, 3, 0, 2)
_DRAFTED: Final = 3
_WARM_UP_S: Final = 1.0


def measure_live(_folder: Path, seconds: float) -> list[Result]:
    """Stream events for some seconds without the live panel, with it shown, and with it hidden."""
    theme = Theme(cast("QApplication", QApplication.instance() or QApplication([])))
    link = FakeLink()
    queue = GenerationQueue(link)
    link.become_ready()
    generation = chats.generation("answer")
    generation.committed = True
    queue.add(generation)
    _cpu_time(link, _WARM_UP_S)
    alone = _cpu_time(link, seconds)
    feed, power = LiveFeed(link, queue), PowerWatch(read=SystemState)
    panel = LivePanel(theme, feed, power)
    panel.resize(*_LIVE_SIZE)
    panel.show()
    _cpu_time(link, _WARM_UP_S)
    watched = _cpu_time(link, seconds)
    panel.hide()
    hidden = _cpu_time(link, seconds)
    panel.deleteLater()
    a_second = 1000 / seconds
    return [
        Result(
            f"live: CPU time of a second with {EVENTS_PER_S} events, seen",
            a_second * (watched - alone),
            "ms",
            _LIVE_LIMIT_MS,
        ),
        Result("live: the same, not seen", a_second * (hidden - alone), "ms"),
    ]


def _cpu_time(link: FakeLink, seconds: float) -> float:
    """Return the CPU time in seconds of this process while events stream."""
    started, sent = time.monotonic(), 0
    link.happened.emit(DepthChosen(1, _DRAFTED, DepthReason.FASTEST, 1.4))
    loop = QEventLoop()

    def play() -> None:
        nonlocal sent
        age = time.monotonic() - started
        while sent < min(age, seconds) * EVENTS_PER_S:
            accepted = _ACCEPTED[sent % len(_ACCEPTED)]
            link.happened.emit(Tokens(1, tuple(range(1 + accepted)), "text", _DRAFTED, accepted, time.monotonic()))
            sent += 1
            if sent % EVENTS_PER_S == 0:
                link.happened.emit(Heartbeat(4_000_000_000 + sent))
        if age >= seconds:
            loop.quit()

    timer = QTimer(loop, interval=_TICK_MS)
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(play)
    timer.start()
    before = time.process_time()
    loop.exec()
    cost = time.process_time() - before
    timer.stop()  # what it calls keeps it
    return cost


_OPENING_LIMIT_MS = 300.0
_DAYS = 700
_HISTORY_SIZE = (860, 760)


class _SynchronousStore(QObject):
    """A store that reads at once on the calling thread, whose time then covers everything."""

    history_read = Signal(object)
    history_exported = Signal(str, int)
    failed = Signal(object, str)
    stats_changed = Signal()

    def __init__(self, database: ChatDatabase) -> None:
        super().__init__()
        self._database = database

    def read_history(self, choice: Choice) -> None:
        """Read and emit."""
        self.history_read.emit(self._database.figures.read(choice))


def measure_history(folder: Path, answers: int) -> list[Result]:
    """Open a history and choose all of it, with the store on its own thread and on the calling one."""
    name = f"history of {answers:,} answers"
    _write_history(folder / "chats", answers)
    with Program(folder, Script()) as program:
        theme, store = program.app.theme, program.app.store
        page = HistoryPage(theme, store, SpeedRecords(folder))
        page.resize(*_HISTORY_SIZE)
        acts = (("opening it", page.show), ("choosing all of it", lambda: page.period.chosen.emit(None)))
        blocks = [
            timed(f"{name}, {act}: longest block", program.longest_block(run), LONGEST_BLOCK_MS) for act, run in acts
        ]
        page.deleteLater()
        program.settle()
        store.close()
        return [*_opening_times(theme, folder, name), *blocks]


def _opening_times(theme: Theme, folder: Path, name: str) -> list[Result]:
    """Measure from the click until the statistics are painted."""
    with ChatDatabase(folder / "chats", 0) as database:
        store = _SynchronousStore(database)
        page = HistoryPage(theme, store, SpeedRecords(folder))  # type: ignore[arg-type]
        page.resize(*_HISTORY_SIZE)
        found = [
            _time_until_painted(page, f"{name}: until the last 30 days are shown", page.show),
            _time_until_painted(page, f"{name}: until all of a model are shown", lambda: page.period.chosen.emit(None)),
            _time_until_painted(page, f"{name}: until all are shown", lambda: page.model.chosen.emit(None)),
        ]
        page.deleteLater()
        return found


def _time_until_painted(page: HistoryPage, what: str, act: Callable[[], object]) -> Result:
    with OwnTime() as clock:
        started = clock.now()
        act()
        page.grab()
        return timed(what, clock.now().since(started), _OPENING_LIMIT_MS)


def _write_history(folder: Path, answers: int) -> None:
    """Write answers of `_DAYS` days in one transaction."""
    today = datetime.now().astimezone().date()
    some = list(month(today))
    with ChatDatabase(folder, 0) as database:
        connection = database._connection  # noqa: SLF001  one commit for each answer would take minutes
        with transaction(connection):
            for number in range(answers):
                day = today - timedelta(days=_DAYS * (answers - 1 - number) // answers)
                row = records.stats_row(dataclasses.replace(some[number % len(some)], day=day))
                connection.execute(
                    f"INSERT INTO figures ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608
                    tuple(row.values()),
                )
