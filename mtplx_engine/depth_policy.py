"""Which draft depth a request starts with: what the user set, what was measured, what was seen."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine.config import AUTO_MAX_DEPTH
from mtplx_engine.depth import MOST_OFFERED, REPEATABLE_DEPTH, DepthController, DepthEstimates
from mtplx_engine.ipc.protocol import DepthReason
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import context_bucket
from mtplx_engine.measure.store import MeasurementStore, deciding
from mtplx_engine.util.files import JsonStore

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.config import DrafterKind, SamplerConfig
    from mtplx_engine.measure.measurement import Measurement
    from mtplx_engine.measure.results import Results


NAME = "depths.json"
FORMAT = 1


class DepthMemory:
    """The figures of one loaded model.

    Args:
        data: The data folder; it may not exist yet.
        speed_key: Stands for its files and the machine, see `identity.speed_key`.
    """

    def __init__(self, data: Path, speed_key: str) -> None:
        self._results = JsonStore(data / NAME, FORMAT)
        self._speed_key = speed_key

    def recall(self, drafter: str) -> DepthEstimates | None:
        """Return what was measured with a drafter, None where nothing usable is kept."""
        entry = self._results.get(self._key(drafter))
        try:
            return None if entry is None else _parse(entry)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def remember(self, drafter: str, figures: DepthEstimates) -> None:
        """Keep what was measured with a drafter."""
        self._results.put(self._key(drafter), dataclasses.asdict(figures))

    def _key(self, drafter: str) -> str:
        return f"{self._speed_key} {drafter}"


def _parse(entry: dict[str, Any]) -> DepthEstimates:
    costs = tuple(None if cost is None else _number(cost, above=0.0) for cost in entry["costs"])
    offered = tuple(_number(count) for count in entry["offered"])
    accepted = tuple(
        min(_number(count), most) for count, most in zip(entry["accepted"], offered, strict=True)
    )
    best = entry["best"]
    if not isinstance(best, int) or best < 0:
        raise ValueError("no depth")
    return DepthEstimates(best, costs, accepted, offered)


def _number(value: float, above: float = -1.0) -> float:
    number = float(value)
    if not (math.isfinite(number) and number >= 0 and number > above):
        raise ValueError("no count or time")
    return number


USUAL_ANSWER = 256
"""Tokens that an answer is taken to have before it is written, where it may have more."""


class DepthPolicy:
    """The depth controllers of a loaded model, one for each drafter and what it begins with.

    `tokens` are those of an answer and its prompt, as far as they are known when it begins.

    Args:
        data: The data folder.
        speed_key: Stands for the model's files and this machine, see `ModelInfo.speed_key`.

    Attributes:
        measurements: What was measured; what is kept there holds from the next `refresh` on.
    """

    def __init__(self, data: Path, speed_key: str) -> None:
        self._memory = DepthMemory(data, speed_key)
        self.measurements = MeasurementStore(data)
        self._speed_key = speed_key
        self._stamp: tuple[int, ...] | None = None
        self._deciding: dict[int | None, Measurement] = {}
        self._controllers: dict[tuple[DrafterKind | None, int | None], DepthController] = {}

    def refresh(self) -> None:
        """Take over what was measured or forgotten since; the controllers then begin anew."""
        stamp = self.measurements.stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        found = deciding(self.measurements.all(), self._speed_key)
        if found != self._deciding:
            self._deciding = found
            self._controllers.clear()

    def of(self, drafter: DrafterKind | None, tokens: int = 0) -> DepthController:
        """Return the controller of a drafter; a new one begins with what is known of it."""
        start = self._start(drafter, tokens)
        key = drafter, start.context if start else None
        if key not in self._controllers:
            self._controllers[key] = self._new(drafter, start)
        return self._controllers[key]

    def turned_off(self, drafter: DrafterKind | None, tokens: int = 0) -> bool:
        """Whether a measurement of such answers found that drafting is slower at every depth."""
        measured = self._measured(drafter).get(context_bucket(tokens))
        return measured is not None and results.turns_off(measured)

    def remember(self, drafter: DrafterKind, tokens: int = 0) -> None:
        """Keep what a controller has seen."""
        self._memory.remember(drafter, self.of(drafter, tokens).figures())

    def _new(self, drafter: DrafterKind | None, start: Measurement | None) -> DepthController:
        if drafter is None:
            return DepthController(0)
        measured = None if start is None else results.results_of(start)
        if measured is not None and measured.winner:
            deepest = max(AUTO_MAX_DEPTH, measured.winner)
            return DepthController(deepest, measured_figures(measured, measured.winner))
        return DepthController(AUTO_MAX_DEPTH, self._memory.recall(drafter))

    def _start(self, drafter: DrafterKind | None, tokens: int) -> Measurement | None:
        """Return the measurement that a controller begins with, one of such answers if there is any."""
        measured, bucket = self._measured(drafter), context_bucket(tokens)
        looked_at = (measured[bucket],) if bucket in measured else measured.values()
        return next((each for each in looked_at if results.results_of(each).winner), None)

    def _measured(self, drafter: DrafterKind | None) -> dict[int | None, Measurement]:
        """Return what was measured with this drafter, by bucket of context, the newest first."""
        return {bucket: each for bucket, each in self._deciding.items() if each.subject.drafter == drafter}


def measured_figures(measured: Results, best: int) -> DepthEstimates:
    """Return the results of a measurement as what a depth controller begins with.

    Args:
        measured: The results.
        best: The depth to begin with.
    """
    deepest = max(result.depth for result in measured.depths)
    cycles = {0: measured.plain.step_s, **{result.depth: result.cycle_s for result in measured.depths}}
    accepted, offered = [], []
    for place in range(deepest):
        reaching = [result for result in measured.depths if result.depth > place]
        kept = sum(result.accepted_at[place] for result in reaching)
        # A draft is judged only where those before it were accepted.
        tried = sum(result.accepted_at[place - 1] if place else result.verify_steps for result in reaching)
        weight = min(1.0, MOST_OFFERED / tried) if tried else 0.0
        accepted.append(weight * kept)
        offered.append(weight * tried)
    return DepthEstimates(
        best=best,
        costs=tuple(cycles.get(depth) for depth in range(deepest + 1)),
        accepted=tuple(accepted),
        offered=tuple(offered),
    )


_NEWS = 0.05  # an expected speedup that has changed by less is the same


@dataclass(frozen=True, slots=True)
class DepthChoice:
    """A depth and why; the attributes are those of `protocol.DepthChosen`."""

    depth: int
    reason: DepthReason
    expected: float | None

    def differs(self, other: DepthChoice) -> bool:
        """Whether it is worth telling of after the other."""
        if (self.depth, self.reason) != (other.depth, other.reason):
            return True
        if self.expected is None or other.expected is None:
            return self.expected is not other.expected
        return abs(self.expected - other.expected) >= _NEWS


class DepthChooser:
    """Chooses the depth of an answer's cycles.

    Args:
        sampler: What was asked for.
        drafter: Who drafts, None for nobody.
        controller: Knows which depth is fastest; told of every cycle, whoever chose its depth.
        turned_off: Whether a measurement on this machine found drafting slower, which rules what nobody chose.
    """

    def __init__(
        self,
        sampler: SamplerConfig,
        drafter: DrafterKind | None,
        controller: DepthController,
        *,
        turned_off: bool,
    ) -> None:
        self._controller = controller
        self._rule = _rule(sampler, drafter, turned_off=turned_off)
        self._round = -1
        self._told: DepthChoice | None = None

    @property
    def drafts(self) -> bool:
        """Whether any cycle may draft."""
        return self._rule is None or self._rule[0] != 0

    def next(self) -> int:
        """Return the depth of the next cycle."""
        return self._controller.choose() if self._rule is None else self._rule[0]

    def record(self, depth: int, accepted: int, seconds: float) -> None:
        """Tell of a cycle, see `DepthController.record`."""
        self._controller.record(depth, accepted, seconds)

    def news(self, deepest: int) -> DepthChoice | None:
        """Return what is chosen where it has changed since it was told; once a round of the controller at most.

        Args:
            deepest: What the drafter can do.
        """
        if self._controller.rounds == self._round:
            return None
        self._round = self._controller.rounds
        choice = self._choice(deepest)
        if self._told is not None and not choice.differs(self._told):
            return None
        self._told = choice
        return choice

    def _choice(self, deepest: int) -> DepthChoice:
        controller = self._controller
        depth, reason = self._rule or (controller.steady, _reason(controller))
        depth = min(depth, deepest)
        return DepthChoice(depth, reason, controller.speedup(depth))


def _rule(
    sampler: SamplerConfig, drafter: DrafterKind | None, *, turned_off: bool
) -> tuple[int, DepthReason] | None:
    """Return the depth of all cycles and what rules it, None when what is fastest does."""
    wanted = 0 if sampler.draft_core == "off" else sampler.speculative_depth
    if wanted != 0 and drafter is None:
        return 0, DepthReason.NO_DRAFTER
    if wanted != "auto":
        return wanted, DepthReason.CHOSEN
    if sampler.seed is not None and not sampler.greedy:
        return REPEATABLE_DEPTH, DepthReason.REPEATABLE
    return (0, DepthReason.TURNED_OFF) if turned_off else None


def _reason(controller: DepthController) -> DepthReason:
    if controller.steady:
        return DepthReason.FASTEST
    # Where the best depth drafts and yet does not run, what it won and what is expected of it are at odds.
    is_open = controller.best != 0 or controller.speedup(0) is None
    return DepthReason.MEASURING if is_open else DepthReason.PARKED
