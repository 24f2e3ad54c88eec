"""Plain decoding against drafting at some depths, pair by pair, with word of how far it is."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mtplx_engine.bench.turns import turns
from mtplx_engine.measurement import LEAST_PAIRS, MeasuredRun, Ratio

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Generator, Mapping, Sequence

    from mtplx_engine.bench.run import Method, Run
    from mtplx_engine.bench.turns import Turn
    from mtplx_engine.measurement import PromptKind


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


class Outcome(NamedTuple):
    """What a contest measured; attributes as in `Measurement`."""

    runs: tuple[MeasuredRun, ...]
    cross_check: Ratio | None


@dataclass(frozen=True, slots=True)
class Contest:
    """Who is measured, and at what.

    Attributes:
        plain: Plain decoding.
        drafting: Drafting, by depth.
        reference: Plain decoding of others, which takes part in as many pairs as show a range.
        questions: One for each pair.
        temperature: Of the sampler.
        tokens: Of each answer.
    """

    plain: Method
    drafting: Mapping[int, Method]
    reference: Method
    questions: Sequence[Question]
    temperature: float
    tokens: int

    def hold(
        self,
        cancelled: threading.Event,
        *,
        pause_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> Generator[Progress, None, Outcome | None]:
        """Let everybody answer everything, by turns.

        Args:
            cancelled: Ends it within a forward.
            pause_s: Seconds before each answer.
            clock: Seconds that only grow.

        Returns:
            What was measured, None when it was cancelled.
        """
        order = self._order()
        runs: list[Run] = []
        timer = _Timer(order, clock)
        for turn in order:
            yield Progress(timer.fraction, self._words(turn), timer.left_s)
            if cancelled.wait(pause_s):
                return None
            ids = self.questions[turn.prompt].ids
            run = turn.method.run(turn.prompt, ids, self.temperature, turn.tokens, cancelled)
            if run is None:
                return None
            timer.count()
            if not turn.warm_up:
                runs.append(run)
        return self._outcome(runs)

    def _order(self) -> list[Turn]:
        methods = [self.plain, *self.drafting.values(), self.reference]
        order = turns(methods, len(self.questions), self.tokens)
        return [turn for turn in order if turn.method is not self.reference or turn.prompt < LEAST_PAIRS]

    def _words(self, turn: Turn) -> str:
        if turn.warm_up:
            return "warming up"
        if turn.method is self.plain:
            who = "plain decoding"
        elif turn.method is self.reference:
            who = "plain mlx-lm"
        else:
            who = f"depth {self._depth(turn.method.name)}"
        return f"{who}, {self.questions[turn.prompt].kind}"

    def _depth(self, method: str) -> int:
        return next((depth for depth, each in self.drafting.items() if each.name == method), 0)

    def _outcome(self, runs: Sequence[Run]) -> Outcome:
        plain = {run.prompt: run for run in runs if run.method == self.plain.name}
        reference = {run.prompt: run for run in runs if run.method == self.reference.name}
        measured = [
            self._measured(run, plain[run.prompt]) for run in runs if run.method != self.reference.name
        ]
        speeds = [plain[prompt].decode_tps / run.decode_tps for prompt, run in reference.items()]
        known = [speed for speed in speeds if math.isfinite(speed)]
        return Outcome(tuple(measured), Ratio.of(known) if known else None)

    def _measured(self, run: Run, plain: Run) -> MeasuredRun:
        question, depth = self.questions[run.prompt], self._depth(run.method)
        if run.stats is None:
            raise ValueError(f"{run.method} counts nothing")
        return MeasuredRun(
            pair=run.prompt,
            prompt=question.prompt,
            kind=question.kind,
            depth=depth,
            wall_s=run.wall_s,
            stats=run.stats,
            peak_bytes=run.peak_bytes,
            identical=run.tokens == plain.tokens if depth and self.temperature == 0 else None,
        )


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
