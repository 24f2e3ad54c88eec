"""Live numbers of the answer being generated."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.chat.metrics import LiveMeter, measured_speed
from app.services.engine_worker import EngineState
from mtplx_engine.ipc.protocol import DepthChosen, Failed, Finished, Heartbeat, PrefillProgress
from mtplx_engine.stats import DecodeStats

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.chat.generation import Generation
    from app.services.engine_link import EngineLink
    from app.session.queue import GenerationQueue
    from mtplx_engine.ipc.protocol import Event, ModelInfo


SECONDS = 60


class RateWindow:
    """Knows a speed for each second in which something was written.

    Seconds of an answer in which no token came have the speed of the token that ended the wait: a slow model does not
    stop. Times are seconds of any clock that only grows.
    """

    def __init__(self) -> None:
        self._speeds: dict[int, float] = {}
        self._until = 0  # the second up to which the answer's speeds are known

    def begin(self, now: float) -> None:
        """Leave a gap up to now: another answer is beginning to be written."""
        self._until = int(now)

    def is_due(self, now: float) -> bool:
        """Whether a second has begun that has no speed yet."""
        return int(now) > self._until

    def write(self, now: float, speed: float | None) -> None:
        """Give a speed to now and to the seconds since the last time; None while it cannot be told yet."""
        if speed is not None:
            self._speeds.update(dict.fromkeys(range(self._until, int(now) + 1), speed))
            for second in [known for known in self._speeds if known <= int(now) - SECONDS]:
                del self._speeds[second]
        self._until = int(now)

    def speeds(self, now: float) -> tuple[float | None, ...]:
        """Return the speed of each of the last seconds, the newest last; None where nothing was written."""
        newest = int(now)
        return tuple(self._speeds.get(second) for second in range(newest - SECONDS + 1, newest + 1))


STALE_S = 600.0  # so long after its end an answer says little about now
_ENOUGH_READING_S = 0.5  # of the prompt, to tell how long the rest will take


class LiveState(Enum):
    """What the figures are of."""

    NO_DATA = auto()  # nothing was written yet
    LIVE = auto()  # the answer that is being written
    LAST = auto()  # the one before
    STALE = auto()  # the one before, which is long ago or was of another model


@dataclass(frozen=True, slots=True)
class PromptReading:
    """How much of a prompt is read.

    Attributes:
        done: Tokens that are.
        total: Tokens of all of it.
        left_s: Seconds that the rest will take; None when that cannot be told yet.
    """

    done: int
    total: int
    left_s: float | None


@dataclass(frozen=True, slots=True)
class LiveReading:
    """All that is known at one moment.

    Attributes:
        state: What the figures are of.
        speed: Tokens per second: of the last seconds while it is written, then of the whole answer. None when too
            little was written to tell.
        stats: The counts so far; the engine's own at the end.
        depth: How deep it is drafted, and why; None when the engine has not said so.
        prompt: How much of its prompt is read, while it is.
        ended_s: Seconds since it ended; None while it is written.
        footprint: Bytes of memory of the engine; None when nobody can say.
        speeds: Of each of the last seconds, as in `SpeedStrip`.
    """

    state: LiveState
    speed: float | None
    stats: DecodeStats
    depth: DepthChosen | None
    prompt: PromptReading | None
    ended_s: float | None
    footprint: int | None
    speeds: tuple[float | None, ...]


class _Answer:
    """The answer that is being written."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.meter = LiveMeter()
        self.depth: DepthChosen | None = None
        self.newest: float | None = None  # when its newest token came, None before the first
        self._prefill: PrefillProgress | None = None
        self._prefill_from = (0.0, 0)  # when, and how much was read when it was heard of first

    def read(self, event: PrefillProgress, now: float) -> None:
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
        known = took >= _ENOUGH_READING_S and read > 0
        return PromptReading(
            event.done, event.total, (event.total - event.done) * took / read if known else None
        )


@dataclass(frozen=True, slots=True)
class _Ended:
    """The last answer."""

    stats: DecodeStats
    speed: float | None
    depth: DepthChosen | None
    at: float
    of_loaded: bool = True


class LiveStats:
    """Takes in what the engine tells, and says at any time what that comes to. Times are seconds that only grow.

    Every answer ends with one `finished` or `failed`, and nothing of it comes after that, as `EngineLink` has it.
    """

    def __init__(self) -> None:
        self._answer: _Answer | None = None
        self._last: _Ended | None = None
        self._minute = RateWindow()
        self._footprint: int | None = None

    def read_prompt(self, event: PrefillProgress, now: float) -> None:
        """Note how much of a prompt is read."""
        self._of(event.generation).read(event, now)

    def choose_depth(self, event: DepthChosen) -> None:
        """Note how deep an answer is drafted."""
        self._of(event.generation).depth = event

    def follow(self, generation: int, meter: LiveMeter, now: float) -> None:
        """Note that a decode cycle of an answer was counted by its meter."""
        answer = self._of(generation)
        if answer.newest is None:
            self._minute.begin(now)
        answer.follow(meter, now)
        if self._minute.is_due(now):
            self._minute.write(now, answer.speed())

    def finish(self, event: Finished, now: float) -> None:
        """Keep the engine's own figures of an answer; one without a token leaves the one before it in place."""
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
        """Note that the last answer is one of another model than the one that is loaded."""
        last = self._last
        if last is not None:
            self._last = _Ended(last.stats, last.speed, last.depth, last.at, of_loaded=False)

    def set_footprint(self, footprint: int | None) -> None:
        """Note how much memory the engine has; None for no engine, or a system that does not tell."""
        self._footprint = footprint

    def reading(self, now: float) -> LiveReading:
        """Return what is known now."""
        answer, last = self._answer, self._last
        speeds = self._minute.speeds(now)
        if answer is not None:
            return LiveReading(
                LiveState.LIVE,
                answer.speed(),
                answer.meter.stats(),
                answer.depth,
                answer.prompt(now),
                None,
                self._footprint,
                speeds,
            )
        if last is None:
            return LiveReading(
                LiveState.NO_DATA, None, DecodeStats(), None, None, None, self._footprint, speeds
            )
        ended_s = now - last.at
        state = LiveState.LAST if last.of_loaded and ended_s < STALE_S else LiveState.STALE
        return LiveReading(state, last.speed, last.stats, last.depth, None, ended_s, self._footprint, speeds)

    def _of(self, generation: int) -> _Answer:
        if self._answer is None or self._answer.generation != generation:
            self._answer = _Answer(generation)
        return self._answer

    def _end(self, answer: _Answer, stats: DecodeStats, speed: float | None, now: float) -> None:
        if answer.newest is not None:
            self._minute.write(answer.newest, answer.speed())
        self._last = _Ended(stats, speed, answer.depth, now)


class LiveFeed(QObject):
    """Follows the answers, also while nobody looks.

    Args:
        link: Tells what happens.
        line: Its generations count what is written.
        clock: Seconds that only grow.
        parent: Owns it.

    Attributes:
        model: The name of the model that is loaded, "" for none.

    Signals:
        changed: There are other figures than those that were read last; sent once until they are read.
    """

    changed = Signal()

    def __init__(
        self,
        link: EngineLink,
        line: GenerationQueue,
        parent: QObject | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._clock = clock
        self._figures = LiveStats()
        self._key = ""
        self._told = False  # of figures that nobody has read
        self.model = ""
        line.counted.connect(self._counted)
        link.happened.connect(self._take)
        link.loaded.connect(self._loaded)
        link.state_changed.connect(self._state_changed)

    def reading(self) -> LiveReading:
        """Return what is known now."""
        self._told = False
        return self._figures.reading(self._clock())

    def _counted(self, generation: Generation) -> None:
        self._figures.follow(generation.id, generation.meter, self._clock())
        self._tell()

    def _take(self, event: Event) -> None:
        now = self._clock()
        match event:
            case PrefillProgress():
                self._figures.read_prompt(event, now)
            case DepthChosen():
                self._figures.choose_depth(event)
            case Finished():
                self._figures.finish(event, now)
            case Failed():
                self._figures.fail(event, now)
            case Heartbeat():
                self._figures.set_footprint(event.footprint)
            case _:
                return
        self._tell()

    def _loaded(self, model: ModelInfo) -> None:
        if self._key and model.path != self._key:
            self._figures.change_model()
        self._key, self.model = model.path, model.name
        self._tell()

    def _state_changed(self, state: EngineState) -> None:
        if state is not EngineState.READY:
            self.model = ""
            self._figures.set_footprint(None)
        self._tell()

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            self.changed.emit()
