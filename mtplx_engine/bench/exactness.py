"""The exactness check of a loaded model: logits, greedy answers and sampled tokens, with drafting and without.

Sampled tokens are tested against the distributions of the verified rows, which have been compared with plain rows:
sampling plainly as well would take twice as long and detect less. An odd p-value makes the check sample more, since one
check of a correct engine in a hundred has such.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtplx_engine import backend
from mtplx_engine.bench.methods import Ours
from mtplx_engine.bench.prefix import SHORTEST, Comparison, Draws, PrefixReplay, prompt_prefixes
from mtplx_engine.config import ChatMessage
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import Checked, TrialProgress
from mtplx_engine.measure.measurement import ExactnessReport
from mtplx_engine.measure.results import CHANCE, ODD

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from mtplx_engine.config import DrafterKind
    from mtplx_engine.engine import Engine
    from mtplx_engine.ipc.protocol import CheckExactness


_DEPTH = 3  # where the best depth is 0 or unknown
_ANSWER = 24  # tokens of a greedy answer
_LONGEST = 256  # tokens of a prefix
_MORE = 3, 12  # times as many samples again, as long as the p-value is odd
_TIE = 4  # logit distances; nearer tokens may swap ranks, since each of two logits may be off by one both ways


@dataclass(slots=True)
class _Findings:
    """Intermediate results.

    Attributes:
        samples: Number of cycles that they are from.
        tests: How often their p-value was evaluated.
        comparisons: Of rows, one a prefix.
        gaps: Of answers that diverged, by how many logits the plain choice was better.
    """

    draws: Draws
    samples: int = 0
    tests: int = 0
    comparisons: list[Comparison] = field(default_factory=list)
    answers: int = 0
    gaps: list[float] = field(default_factory=list)

    @property
    def p_value(self) -> float | None:
        """Of all draws so far, times the number of tests (Bonferroni)."""
        found = self.draws.p_value()
        return found and min(1.0, self.tests * found)


def check(engine: Engine, request: CheckExactness, cancelled: threading.Event) -> Iterator[TrialProgress | Checked]:
    """Check that drafting is exact; Checked comes last, unless it is cancelled within a forward.

    The prefix cache of the engine is dropped.

    Raises:
        EngineError: NO_MODEL; BAD_REQUEST for numbers that can never work; UNSUPPORTED when nothing drafts for the
            model; NON_FINITE.
    """
    running = _Check(engine, request)
    engine.forget()
    try:
        for progress in running.run(cancelled):
            yield progress
            if cancelled.is_set():
                return
    finally:
        engine.forget()
    yield Checked(request.generation, running.report())


class _Check:
    """A running check; raises as `check`."""

    def __init__(self, engine: Engine, request: CheckExactness) -> None:
        self._engine = engine
        self._request = request
        self._drafter = _drafter(engine, request)
        engine.depths.refresh()
        self._depth = engine.depths.of(self._drafter).best or _DEPTH
        self._methods = Ours(engine), Ours(engine, self._drafter, self._depth)
        self._seed = secrets.randbits(62)
        self._findings = _Findings(Draws(self._depth, self._seed))
        self._started = time.monotonic()

    def run(self, cancelled: threading.Event) -> Iterator[TrialProgress]:
        """Run the check, with progress between any two forwards that may take long."""
        found = self._findings
        for number, ids in enumerate(self._prefixes()):
            yield from self._compare(number, ids, cancelled)
        found.tests = 1
        for times in _MORE:
            if found.p_value is None or not CHANCE <= found.p_value < ODD:
                return
            self._started = time.monotonic()
            for number, ids in enumerate(self._prefixes()):
                yield from self._draw_again(number, ids, times)
            found.tests += 1

    def report(self) -> ExactnessReport:
        found, comparisons = self._findings, self._findings.comparisons
        logit_distance = max(each.logit_distance for each in comparisons)
        ties = sum(gap <= _TIE * logit_distance for gap in found.gaps)
        return ExactnessReport(
            subject=self._engine.info.benchmark_subject(self._drafter),
            taken_ms=round(time.time() * 1000),
            depth=self._depth,
            prefixes=len(comparisons),
            rows=sum(each.rows for each in comparisons),
            distance=max(each.distance for each in comparisons),
            allowed=backend.rounding(backend.policy()),
            logit_distance=logit_distance,
            first_choices=sum(each.first_choices for each in comparisons),
            greedy_prefixes=found.answers,
            greedy_same=found.answers - len(found.gaps),
            greedy_ties=ties,
            samples=found.samples,
            tokens_at=found.draws.counts,
            p_value=found.p_value,
        )

    def _compare(self, number: int, ids: list[int], cancelled: threading.Event) -> Iterator[TrialProgress]:
        """Compare rows, samples and greedy answers after one prefix."""
        replay = self._replay(ids)
        for _ in replay.read():
            yield self._progress(number, 0.0)
        comparison = replay.compare(self._depth, self._seed)
        self._findings.comparisons.append(comparison)
        yield self._progress(number, 0.1)
        samples = _shared(self._request.samples, self._request.prefixes, number)
        for share in self._draw(replay, samples):
            yield self._progress(number, 0.1 + 0.7 * share)
        yield from self._answer_greedily(number, ids, replay, cancelled)

    def _draw_again(self, number: int, ids: list[int], times: int) -> Iterator[TrialProgress]:
        """Sample `times` as many cycles as at first, with new seeds."""
        replay = self._replay(ids)
        for _ in replay.read():
            yield self._progress(number, 0.0, "odd draws, drawing more; ")
        samples = _shared(times * self._request.samples, self._request.prefixes, number)
        for share in self._draw(replay, samples):
            yield self._progress(number, share, "odd draws, drawing more; ")

    def _draw(self, replay: PrefixReplay, samples: int) -> Iterator[float]:
        """Sample cycles with drafts of all lengths in turn, so that each position and the bonus come often enough."""
        for sample in range(samples):
            self._seed += 1
            depth = self._depth - sample % self._depth
            self._findings.draws.add(replay.draw(depth, self._seed))
            self._findings.samples += 1
            yield sample / samples

    def _prefixes(self) -> Iterator[list[int]]:
        longest = min(_LONGEST, self._engine.info.context_window - _ANSWER - self._depth)
        return prompt_prefixes(
            self._request.prefixes, lambda text: self._engine.encode((ChatMessage("user", text),)), longest
        )

    def _replay(self, ids: list[int]) -> PrefixReplay:
        drafter = self._engine.drafters().new(self._drafter)
        return PrefixReplay(self._engine.model.target, drafter, ids, backend.policy().prefill_chunk)

    def _answer_greedily(
        self, number: int, ids: list[int], replay: PrefixReplay, cancelled: threading.Event
    ) -> Iterator[TrialProgress]:
        """Continue greedily, plainly and with drafting, and note the gap where the answers diverge."""
        answers = []
        for method in self._methods:
            run = method.run(number, ids, 0.0, _ANSWER, cancelled)
            yield self._progress(number, 0.9)
            if run is None:
                return
            answers.append(run.tokens)
        self._findings.answers += 1
        plain, drafted = answers
        at = next((n for n, pair in enumerate(zip(plain, drafted, strict=True)) if pair[0] != pair[1]), None)
        if at is not None:
            self._findings.gaps.append(replay.gap(plain[:at], plain[at], drafted[at]))

    def _progress(self, number: int, share: float, why: str = "") -> TrialProgress:
        total = self._request.prefixes
        fraction = (number + share) / total
        passed = time.monotonic() - self._started
        left_s = passed * (1 - fraction) / fraction if number else None
        return TrialProgress(self._request.generation, fraction, f"{why}beginning {number + 1} of {total}", left_s)


def _drafter(engine: Engine, request: CheckExactness) -> DrafterKind:
    request.check()
    drafter = engine.drafters().required(request.drafter)
    window, least = engine.info.context_window, SHORTEST + _ANSWER + engine.info.max_depth
    if window < least:
        sentence = f"The model reads at most {window} tokens, and a check needs {least}."
        raise EngineError.of(ErrorInfo(ErrorKind.CONTEXT_OVERFLOW, sentence, tokens=least, window=window))
    return drafter


def _shared(total: int, shares: int, number: int) -> int:
    # One of `shares` whole numbers that differ by one at most and sum to the total.
    return (total + shares - 1 - number) // shares
