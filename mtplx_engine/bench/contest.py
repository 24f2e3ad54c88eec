"""Ways of decoding against each other, pair by pair, with word of how far it is."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mtplx_engine.bench.methods import turns
from mtplx_engine.measurement import LEAST_PAIRS, MeasuredRun

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from mtplx_engine.bench.methods import Method, TimedAnswer, Turn
    from mtplx_engine.measurement import PromptKind


PAUSE_S = 0.2  # before each answer, so that the system does what it has put off


@dataclass(frozen=True, slots=True)
class Question:
    """What all methods answer in one pair.

    Attributes:
        prompt: Id of the prompt.
        kind: What it is like.
        ids: Its tokens.
    """

    prompt: str
    kind: PromptKind
    ids: list[int]


class Progress(NamedTuple):
    """How far a contest is: 0..1 of its time, what comes next, and the seconds left if they can be told."""

    fraction: float
    what: str
    left_s: float | None


class Entry(NamedTuple):
    """One answer of a contest.

    Attributes:
        method: The name of who gave it.
        tokens: The ids.
        run: What was measured; `identical` says whether its tokens are those of the base in the same pair.
    """

    method: str
    tokens: tuple[int, ...]
    run: MeasuredRun


class Outcome(NamedTuple):
    """What a contest measured: its answers, in the order in which they were given."""

    entries: tuple[Entry, ...]

    def pairs(self, base: Method, method: Method) -> list[tuple[MeasuredRun, MeasuredRun]]:
        """Return the runs of two methods that answered the same question, the base's first."""
        based = {entry.run.pair: entry.run for entry in self.entries if entry.method == base.name}
        runs = [entry.run for entry in self.entries if entry.method == method.name]
        return [(based[run.pair], run) for run in runs if run.pair in based]


@dataclass(frozen=True, slots=True)
class Contest:
    """Who is measured, and at what.

    Attributes:
        base: Who all others are compared with.
        others: Who else answers every question.
        questions: One for each pair.
        temperature: Of the sampler.
        tokens: Of each answer.
        reference: Who takes part in only as many pairs as show a range.
    """

    base: Method
    others: Sequence[Method]
    questions: Sequence[Question]
    temperature: float
    tokens: int
    reference: Method | None = None

    def hold(
        self,
        cancelled: threading.Event,
        *,
        pause_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> Iterator[Progress | Outcome]:
        """Let everybody answer everything, by turns; Outcome comes last, unless it is cancelled.

        Args:
            cancelled: Ends it within a forward.
            pause_s: Seconds before each answer.
            clock: Seconds that only grow.
        """
        order = self._order()
        answers: list[tuple[Turn, TimedAnswer]] = []
        timer = _Timer(order, clock)
        for turn in order:
            yield Progress(timer.fraction, self._words(turn), timer.left_s)
            if cancelled.wait(pause_s):
                return
            ids = self.questions[turn.prompt].ids
            answer = turn.method.run(turn.prompt, ids, self.temperature, turn.tokens, cancelled)
            if answer is None:
                return
            timer.count()
            if not turn.warm_up:
                answers.append((turn, answer))
        based = {turn.prompt: answer.tokens for turn, answer in answers if turn.method is self.base}
        yield Outcome(tuple(self._entry(turn, answer, based[turn.prompt]) for turn, answer in answers))

    def _order(self) -> list[Turn]:
        methods = [self.base, *self.others, *([self.reference] if self.reference else [])]
        order = turns(methods, len(self.questions), self.tokens)
        return [turn for turn in order if turn.method is not self.reference or turn.prompt < LEAST_PAIRS]

    def _words(self, turn: Turn) -> str:
        return "warming up" if turn.warm_up else f"{turn.method.title}, {self.questions[turn.prompt].kind}"

    def _entry(self, turn: Turn, answer: TimedAnswer, based: tuple[int, ...]) -> Entry:
        question = self.questions[turn.prompt]
        compared = turn.method is not self.base and self.temperature == 0
        run = MeasuredRun(
            pair=turn.prompt,
            prompt=question.prompt,
            kind=question.kind,
            depth=turn.method.depth,
            wall_s=answer.wall_s,
            stats=answer.stats,
            peak_bytes=answer.peak_bytes,
            identical=answer.tokens == based if compared else None,
        )
        return Entry(turn.method.name, answer.tokens, run)


class _Timer:
    """Tells the time that is left from the turns that were taken; one of another method takes what its others took.

    Args:
        order: All turns.
        clock: Seconds that only grow.

    Attributes:
        fraction: 0..1 of the time that is over; never less than it was.
        left_s: Seconds that the turns left will take; None until one was taken that is no warm-up.
    """

    def __init__(self, order: Sequence[Turn], clock: Callable[[], float]) -> None:
        self._order = order
        self._clock = clock
        self._start = self._last = clock()
        self._taken = 0
        self._times: dict[str, list[float]] = {}
        self.fraction = 0.0
        self.left_s: float | None = None

    def count(self) -> None:
        """Count the next turn as taken."""
        now = self._clock()
        turn = self._order[self._taken]
        if not turn.warm_up:
            self._times.setdefault(turn.method.name, []).append(now - self._last)
        self._last = now
        self._taken += 1
        if self._times:
            means = {name: statistics.fmean(times) for name, times in self._times.items()}
            usual = statistics.fmean(means.values())
            self.left_s = sum(means.get(turn.method.name, usual) for turn in self._order[self._taken :])
            passed = now - self._start
            self.fraction = max(self.fraction, passed / (passed + self.left_s) if passed else 0.0)
