"""Whether drafting changes what the loaded model says: its rows, its greedy answers, and what is drawn at random.

What is drawn is held against the laws of the verified rows, which have been compared with plain ones: drawing plainly
as well would take twice as long and see less. Draws that are odd are drawn again in larger numbers, since one check
of a right engine in a hundred has such.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtplx_engine import backend
from mtplx_engine.bench.methods import Ours
from mtplx_engine.bench.prefix import SHORTEST, Comparison, Draws, PrefixReplay, cuts
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


_DEPTH = 3  # where the person's depth is 0, or not known yet
_ANSWER = 24  # tokens of a greedy answer
_LONGEST = 256  # tokens of a beginning
_MORE = 3, 12  # times as many draws again, as long as they are odd
_TIE = 4  # logit distances; two tokens nearer than that may change places, since either way each may be off by one


@dataclass(slots=True)
class _Findings:
    """What was found so far.

    Attributes:
        comparisons: Of the rows, one a beginning.
        answers: How many greedy answers were compared.
        partings: Of those that were not the same, by how much the plain one's choice was better, in logits.
        draws: The tokens that were drawn.
        samples: Of how many cycles they are.
        looks: How often their p-value was looked at.
    """

    draws: Draws
    samples: int = 0
    looks: int = 0
    comparisons: list[Comparison] = field(default_factory=list)
    answers: int = 0
    partings: list[float] = field(default_factory=list)

    @property
    def p_value(self) -> float | None:
        """That of all draws so far, times the looks (Bonferroni)."""
        found = self.draws.p_value()
        return found and min(1.0, self.looks * found)


def check(
    engine: Engine, request: CheckExactness, cancelled: threading.Event
) -> Iterator[TrialProgress | Checked]:
    """Check that drafting is exact; Checked comes last, unless it is cancelled.

    Args:
        engine: Has loaded the model; what it has kept of chats is dropped.
        request: How much to check.
        cancelled: Ends it within a forward.

    Raises:
        EngineError: NO_MODEL; BAD_REQUEST for numbers that can never work; UNSUPPORTED when nothing drafts for the
            model; NON_FINITE.
    """
    trial = _Trial(engine, request)
    engine.forget()
    try:
        for progress in trial.run(cancelled):
            yield progress
            if cancelled.is_set():
                return
    finally:
        engine.forget()
    yield Checked(request.generation, trial.report())


class _Trial:
    """A check under way.

    Args:
        engine: Has loaded the model.
        request: How much to check.

    Raises:
        EngineError: As `check`.
    """

    def __init__(self, engine: Engine, request: CheckExactness) -> None:
        self._engine = engine
        self._request = request
        self._drafter = _drafter(engine, request)
        self._depth = _usual_depth(engine, self._drafter)
        self._ways = Ours(engine), Ours(engine, self._drafter, self._depth)
        self._seed = secrets.randbits(62)
        self._findings = _Findings(Draws(self._depth, self._seed))
        self._started = time.monotonic()

    def run(self, cancelled: threading.Event) -> Iterator[TrialProgress]:
        """Check, and tell how far it is between any two forwards that may take long."""
        found = self._findings
        for number, ids in enumerate(self._beginnings()):
            yield from self._try(number, ids, cancelled)
        found.looks = 1
        for times in _MORE:
            if found.p_value is None or not CHANCE <= found.p_value < ODD:
                return
            self._started = time.monotonic()
            for number, ids in enumerate(self._beginnings()):
                yield from self._draw_again(number, ids, times)
            found.looks += 1

    def report(self) -> ExactnessReport:
        """Return what was found."""
        found, comparisons = self._findings, self._findings.comparisons
        logit_distance = max(each.logit_distance for each in comparisons)
        ties = sum(gap <= _TIE * logit_distance for gap in found.partings)
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
            greedy_same=found.answers - len(found.partings),
            greedy_ties=ties,
            samples=found.samples,
            tokens_at=found.draws.counts,
            p_value=found.p_value,
        )

    def _try(self, number: int, ids: list[int], cancelled: threading.Event) -> Iterator[TrialProgress]:
        """Try one beginning."""
        beginning = self._beginning(ids)
        for _ in beginning.read():
            yield self._progress(number, 0.0)
        comparison = beginning.compare(self._depth, self._seed)
        self._findings.comparisons.append(comparison)
        yield self._progress(number, 0.1)
        samples = _shared(self._request.samples, self._request.prefixes, number)
        for share in self._draw(beginning, samples):
            yield self._progress(number, 0.1 + 0.7 * share)
        yield from self._answer_greedily(number, ids, beginning, cancelled)

    def _draw_again(self, number: int, ids: list[int], times: int) -> Iterator[TrialProgress]:
        """Draw so many times as often as at first, with seeds of its own."""
        beginning = self._beginning(ids)
        for _ in beginning.read():
            yield self._progress(number, 0.0, "odd draws, drawing more; ")
        samples = _shared(times * self._request.samples, self._request.prefixes, number)
        for share in self._draw(beginning, samples):
            yield self._progress(number, share, "odd draws, drawing more; ")

    def _draw(self, beginning: PrefixReplay, samples: int) -> Iterator[float]:
        """Draw cycles with drafts of all lengths in turn, so that each position and the bonus come often enough."""
        for sample in range(samples):
            self._seed += 1
            depth = self._depth - sample % self._depth
            self._findings.draws.add(beginning.draw(depth, self._seed))
            self._findings.samples += 1
            yield sample / samples

    def _beginnings(self) -> Iterator[list[int]]:
        longest = min(_LONGEST, self._engine.info.context_window - _ANSWER - self._depth)
        return cuts(self._request.prefixes, self._encode, longest)

    def _beginning(self, ids: list[int]) -> PrefixReplay:
        drafter = self._engine.drafters().new(self._drafter)
        return PrefixReplay(self._engine.model.target, drafter, ids, backend.policy().prefill_chunk)

    def _answer_greedily(
        self, number: int, ids: list[int], beginning: PrefixReplay, cancelled: threading.Event
    ) -> Iterator[TrialProgress]:
        """Go on greedily both ways, and look at where the answers part."""
        answers = []
        for way in self._ways:
            run = way.run(number, ids, 0.0, _ANSWER, cancelled)
            yield self._progress(number, 0.9)
            if run is None:
                return
            answers.append(run.tokens)
        self._findings.answers += 1
        parted = next((n for n, pair in enumerate(zip(*answers, strict=True)) if pair[0] != pair[1]), None)
        if parted is not None:
            plain, drafted = answers
            gap = beginning.gap(plain[:parted], plain[parted], drafted[parted])
            self._findings.partings.append(gap)

    def _progress(self, number: int, share: float, why: str = "") -> TrialProgress:
        total = self._request.prefixes
        fraction = (number + share) / total
        passed = time.monotonic() - self._started
        left_s = passed * (1 - fraction) / fraction if number else None
        return TrialProgress(
            self._request.generation, fraction, f"{why}beginning {number + 1} of {total}", left_s
        )

    def _encode(self, text: str) -> list[int]:
        return self._engine.encode((ChatMessage("user", text),))


def _drafter(engine: Engine, request: CheckExactness) -> DrafterKind:
    """Check that a request can be met, and return who drafts."""
    request.check()
    drafter = engine.drafters().required(request.drafter)
    window, least = engine.info.context_window, SHORTEST + _ANSWER + engine.info.max_depth
    if window < least:
        sentence = f"The model reads at most {window} tokens, and a check needs {least}."
        raise EngineError.of(ErrorInfo(ErrorKind.CONTEXT_OVERFLOW, sentence, tokens=least, window=window))
    return drafter


def _usual_depth(engine: Engine, drafter: DrafterKind) -> int:
    engine.depths.refresh()
    return engine.depths.of(drafter).best or _DEPTH


def _shared(total: int, shares: int, number: int) -> int:
    """Return one of so many whole shares that differ by one at most."""
    return (total + shares - 1 - number) // shares
