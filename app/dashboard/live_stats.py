"""Live statistics of the answer being generated, and the power state of the machine."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.chat.metrics import LiveMeter, measured_speed
from app.services.engine_worker import EngineState
from app.services.tasks import TaskRunner
from mtplx_engine.ipc.protocol import DepthChosen, Failed, Finished, Heartbeat, PrefillProgress
from mtplx_engine.stats import DecodeStats
from mtplx_engine.util import system

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.chat.generation import Generation
    from app.services.engine_link import EngineLink
    from app.session.queue import GenerationQueue
    from mtplx_engine.ipc.protocol import Event, ModelInfo
    from mtplx_engine.util.system import SystemState


SECONDS = 60


class RateWindow:
    """Speeds of the last `SECONDS` seconds, one for each second in which an answer was generated.

    Seconds of an answer without a token have the speed at the next token: a slow model does not stop. All times are
    seconds of one monotonic clock.
    """

    def __init__(self) -> None:
        self._speeds: dict[int, float] = {}
        self._until = 0  # the second up to which speeds of the answer are known

    def begin(self, now: float) -> None:
        """Leave a gap up to now, where the decoding of another answer begins."""
        self._until = int(now)

    def is_due(self, now: float) -> bool:
        """Whether the current second has no speed yet."""
        return int(now) > self._until

    def write(self, now: float, speed: float | None) -> None:
        """Set the speed, in tokens per second, of all seconds since the last call; None when it is not known yet."""
        if speed is not None:
            self._speeds.update(dict.fromkeys(range(self._until, int(now) + 1), speed))
            for second in [known for known in self._speeds if known <= int(now) - SECONDS]:
                del self._speeds[second]
        self._until = int(now)

    def speeds(self, now: float) -> tuple[float | None, ...]:
        """Return the speed of each of the last seconds, the newest last; None where nothing was generated."""
        newest = int(now)
        return tuple(self._speeds.get(second) for second in range(newest - SECONDS + 1, newest + 1))


STALE_S = 600.0  # so long after its end an answer says little about the machine now
_ENOUGH_PREFILL_S = 0.5  # seconds of prefill before the rest can be estimated


class LiveState(Enum):
    """Which answer the statistics are of."""

    NO_DATA = auto()  # none yet
    LIVE = auto()  # the one being generated
    LAST = auto()  # the last one
    STALE = auto()  # the last one, which is long ago or was of another model


@dataclass(frozen=True, slots=True)
class PromptReading:
    """Progress of a prefill.

    Attributes:
        done: Prompt tokens that are cached.
        left_s: Seconds left; None when they cannot be estimated yet.
    """

    done: int
    total: int
    left_s: float | None


@dataclass(frozen=True, slots=True)
class LiveReading:
    """All live statistics at one moment.

    Attributes:
        footprint: Bytes of memory of the engine process; None when unknown.
        speeds: Of each of the last seconds, as in `SpeedStrip`.
        speed: Tokens per second: over the last seconds while the answer is generated, then of all of it. None when
            too little was generated.
        stats: The counts so far; the engine's own at the end.
        depth: The draft depth and its reason; None when the engine has not sent it.
        prompt: Progress of its prefill, None before and after.
        ended_s: Seconds since it ended; None while it is generated.
    """

    state: LiveState
    footprint: int | None
    speeds: tuple[float | None, ...]
    speed: float | None = None
    stats: DecodeStats = DecodeStats()  # noqa: RUF009 - frozen
    depth: DepthChosen | None = None
    prompt: PromptReading | None = None
    ended_s: float | None = None


class _Answer:
    """The answer that is being generated."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.meter = LiveMeter()
        self.depth: DepthChosen | None = None
        self.newest: float | None = None  # when its newest token came, None before the first
        self._prefill: PrefillProgress | None = None
        self._prefill_from = (0.0, 0)  # time and cached tokens at the first event

    def note_prefill(self, event: PrefillProgress, now: float) -> None:
        if self._prefill is None:
            self._prefill_from = now, event.done
        self._prefill = event

    def follow(self, meter: LiveMeter, now: float) -> None:
        self.newest = now
        self._prefill = None
        self.meter = meter

    def speed(self) -> float | None:
        reading = self.meter.reading()
        return None if reading is None else reading.tokens_per_second

    def prompt(self, now: float) -> PromptReading | None:
        event = self._prefill
        if event is None or event.done >= event.total:
            return None
        since, before = self._prefill_from
        took, read = now - since, event.done - before
        known = took >= _ENOUGH_PREFILL_S and read > 0
        return PromptReading(event.done, event.total, (event.total - event.done) * took / read if known else None)


@dataclass(frozen=True, slots=True)
class _Ended:
    """The last answer that ended."""

    stats: DecodeStats
    speed: float | None
    depth: DepthChosen | None
    at: float
    of_loaded: bool = True


class LiveStats:
    """Reduces the engine's events to a `LiveReading` at any time; all times are of one monotonic clock.

    As `EngineLink` guarantees, every answer ends with one `finished` or `failed`, and nothing of it comes after that.
    """

    def __init__(self) -> None:
        self._answer: _Answer | None = None
        self._last: _Ended | None = None
        self._window = RateWindow()
        self._footprint: int | None = None

    def read_prompt(self, event: PrefillProgress, now: float) -> None:
        self._of(event.generation).note_prefill(event, now)

    def choose_depth(self, event: DepthChosen) -> None:
        self._of(event.generation).depth = event

    def follow(self, generation: int, meter: LiveMeter, now: float) -> None:
        """Note that the meter of an answer counted a decode cycle."""
        answer = self._of(generation)
        if answer.newest is None:
            self._window.begin(now)
        answer.follow(meter, now)
        if self._window.is_due(now):
            self._window.write(now, answer.speed())

    def finish(self, event: Finished, now: float) -> None:
        """Keep the engine's own statistics of an answer; one without a token does not replace the last one."""
        answer = self._of(event.generation)
        if event.stats.emitted:
            self._end(answer, event.stats, measured_speed(event.stats), now)
        self._answer = None

    def fail(self, event: Failed, now: float) -> None:
        """Keep what was counted of an answer that failed."""
        answer = self._answer
        if answer is not None and answer.generation == event.generation:
            if answer.newest is not None:
                self._end(answer, answer.meter.stats(), answer.speed(), now)
            self._answer = None

    def change_model(self) -> None:
        """Note that another model is loaded than that of the last answer."""
        if self._last is not None:
            self._last = dataclasses.replace(self._last, of_loaded=False)

    def set_footprint(self, footprint: int | None) -> None:
        """Note the memory of the engine process in bytes; None without one, or where it is unknown."""
        self._footprint = footprint

    def reading(self, now: float) -> LiveReading:
        answer, last = self._answer, self._last
        reading = LiveReading(LiveState.NO_DATA, self._footprint, self._window.speeds(now))
        if answer is not None:
            return dataclasses.replace(
                reading,
                state=LiveState.LIVE,
                speed=answer.speed(),
                stats=answer.meter.stats(),
                depth=answer.depth,
                prompt=answer.prompt(now),
            )
        if last is None:
            return reading
        ended_s = now - last.at
        state = LiveState.LAST if last.of_loaded and ended_s < STALE_S else LiveState.STALE
        return dataclasses.replace(
            reading, state=state, speed=last.speed, stats=last.stats, depth=last.depth, ended_s=ended_s
        )

    def _of(self, generation: int) -> _Answer:
        if self._answer is None or self._answer.generation != generation:
            self._answer = _Answer(generation)
        return self._answer

    def _end(self, answer: _Answer, stats: DecodeStats, speed: float | None, now: float) -> None:
        if answer.newest is not None:
            self._window.write(answer.newest, answer.speed())
        self._last = _Ended(stats, speed, answer.depth, now)


class LiveFeed(QObject):
    """Feeds `LiveStats` from the engine, also while nothing shows them.

    Attributes:
        model: The name of the loaded model, "" for none.

    Signals:
        changed: The statistics are newer than the last reading; sent once until they are read.
    """

    changed = Signal()

    def __init__(
        self,
        link: EngineLink,
        queue: GenerationQueue,
        parent: QObject | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._clock = clock
        self._stats = LiveStats()
        self._folder = ""  # of the model that was loaded last
        self._told = False  # of statistics that were not read yet
        self.model = ""
        queue.counted.connect(self._counted)
        link.happened.connect(self._receive)
        link.loaded.connect(self._loaded)
        link.state_changed.connect(self._state_changed)

    def reading(self) -> LiveReading:
        self._told = False
        return self._stats.reading(self._clock())

    def _counted(self, generation: Generation) -> None:
        self._stats.follow(generation.id, generation.meter, self._clock())
        self._tell()

    def _receive(self, event: Event) -> None:
        now = self._clock()
        match event:
            case PrefillProgress():
                self._stats.read_prompt(event, now)
            case DepthChosen():
                self._stats.choose_depth(event)
            case Finished():
                self._stats.finish(event, now)
            case Failed():
                self._stats.fail(event, now)
            case Heartbeat():
                self._stats.set_footprint(event.footprint)
            case _:
                return
        self._tell()

    def _loaded(self, model: ModelInfo) -> None:
        if self._folder and model.path != self._folder:
            self._stats.change_model()
        self._folder, self.model = model.path, model.name
        self._tell()

    def _state_changed(self, state: EngineState) -> None:
        if state is not EngineState.READY:
            self.model = ""
            self._stats.set_footprint(None)
        self._tell()

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            self.changed.emit()


_INTERVAL_MS = 30_000  # reading the state starts programs of the system


class PowerWatch(QObject):
    """Reads the system state at once when it is wanted, and every 30 seconds from then on, on another thread."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None, *, read: Callable[[], SystemState] = system.system_state) -> None:
        super().__init__(parent)
        self._read = read
        self._tasks = TaskRunner("power", self, end_s=0.0)  # a call that hangs delays nothing
        self.state: SystemState | None = None
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self._start)

    def want(self, *, on: bool) -> None:
        """Start reading the state, or stop."""
        if on and not self._timer.isActive():
            self._timer.start()
            self._start()
        elif not on:
            self._timer.stop()
            self._tasks.abandon()

    def _start(self) -> None:
        if not self._tasks.busy:
            self._tasks.run(self._read, self._show, lambda _: self._show(None))

    def _show(self, found: SystemState | None) -> None:
        if found != self.state:
            self.state = found
            self.changed.emit()
