"""What the live figures of the Speed window cost while an answer is written."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, cast

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QApplication

from app.dashboard.live_panel import LivePanel
from app.dashboard.live_stats import LiveFeed, PowerWatch
from app.theme import Theme
from mtplx_engine.ipc.protocol import DepthChosen, DepthReason, Heartbeat, Tokens
from mtplx_engine.util.system import SystemState
from scripts.bench_ui.figure import Figure
from tests.support.fake_services import FakeLink, FakeQueue

if TYPE_CHECKING:
    from pathlib import Path


EVENTS_PER_S: Final = 200
_LIMIT_MS: Final = 20  # of CPU time, for each second
_TICK_MS: Final = 50  # several events at a time, so that the clock of this measurement costs little
_SIZE: Final = (720, 560)
_ACCEPTED: Final = (2, 1, 3, 0, 2)
_DRAFTED: Final = 3
_WARM_UP_S: Final = 1.0


def measure(_folder: Path, seconds: float) -> list[Figure]:
    """Write for so many seconds with the panel on the screen, and as long without it."""
    theme = Theme(cast("QApplication", QApplication.instance() or QApplication([])))
    link = FakeLink()
    link.become_ready()
    _cost(link, _WARM_UP_S)
    alone = _cost(link, seconds)
    queue = FakeQueue()
    link.happened.connect(queue.take)
    feed, power = LiveFeed(link, queue), PowerWatch(read=SystemState)
    panel = LivePanel(theme, feed, power)
    panel.resize(*_SIZE)
    panel.show()
    _cost(link, _WARM_UP_S)
    watched = _cost(link, seconds)
    panel.hide()
    hidden = _cost(link, seconds)
    panel.deleteLater()
    a_second = 1000 / seconds
    return [
        Figure(
            f"live: CPU time of a second with {EVENTS_PER_S} events, seen",
            a_second * (watched - alone),
            "ms",
            _LIMIT_MS,
        ),
        Figure("live: the same, not seen", a_second * (hidden - alone), "ms"),
    ]


def _cost(link: FakeLink, seconds: float) -> float:
    """Return the CPU time of this process while events come for so many seconds."""
    started, sent = time.monotonic(), 0
    link.happened.emit(DepthChosen(1, _DRAFTED, DepthReason.FASTEST, 1.4))
    loop = QEventLoop()

    def play() -> None:
        nonlocal sent
        age = time.monotonic() - started
        while sent < min(age, seconds) * EVENTS_PER_S:
            accepted = _ACCEPTED[sent % len(_ACCEPTED)]
            link.happened.emit(Tokens(1, tuple(range(1 + accepted)), "text", _DRAFTED, accepted, age))
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
