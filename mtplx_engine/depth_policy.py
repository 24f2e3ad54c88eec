"""Which draft depth an answer uses: the user's setting, a stored measurement, or what the depth controller finds.

`DepthPolicy` holds the controllers of a loaded model and starts each from a measurement of the speed window or the
command line, or from the estimates that `DepthMemory` stored after earlier answers. A `DepthChooser` applies one to an
answer and reports why.
"""

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


NAME, FORMAT = "depths.json", 1

USUAL_ANSWER = 256
"""Expected tokens of an answer before it is generated, where it may have more."""

_REPORTED_CHANGE = 0.05  # of the expected speedup; a smaller one is not reported


class DepthPolicy:
    """The depth controllers of a loaded model, one for each drafter and measurement it starts from.

    `tokens` is the length of prompt and answer together, as far as it is known before the answer. Changes of the stored
    `measurements` take effect with the next `refresh`.
    """

    def __init__(self, data: Path, speed_key: str) -> None:
        self._memory = DepthMemory(data, speed_key)
        self.measurements = MeasurementStore(data)
        self._speed_key = speed_key
        self._stamp: tuple[int, ...] | None = None
        self._deciding: dict[int | None, Measurement] = {}
        self._controllers: dict[tuple[DrafterKind | None, int | None], DepthController] = {}

    def refresh(self) -> None:
        """Read measurements that were stored or deleted since; when they matter, all controllers start again."""
        stamp = self.measurements.stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        found = deciding(self.measurements.all(), self._speed_key)
        if found != self._deciding:
            self._deciding = found
            self._controllers.clear()

    def of(self, drafter: DrafterKind | None, tokens: int = 0) -> DepthController:
        """Return the controller for answers of this length with a drafter."""
        start = self._start(drafter, tokens)
        key = drafter, start.context if start else None
        if key not in self._controllers:
            self._controllers[key] = self._new(drafter, start)
        return self._controllers[key]

    def turned_off(self, drafter: DrafterKind | None, tokens: int = 0) -> bool:
        """Whether a measurement of answers of this length found drafting slower at every depth."""
        measured = self._measured(drafter).get(context_bucket(tokens))
        return measured is not None and results.turns_off(measured)

    def remember(self, drafter: DrafterKind, tokens: int = 0) -> None:
        self._memory.remember(drafter, self.of(drafter, tokens).estimates())

    def _new(self, drafter: DrafterKind | None, start: Measurement | None) -> DepthController:
        if drafter is None:
            return DepthController(0)
        measured = None if start is None else results.results_of(start)
        if measured is not None and measured.winner:
            deepest = max(AUTO_MAX_DEPTH, measured.winner)
            return DepthController(deepest, measured_estimates(measured, measured.winner))
        return DepthController(AUTO_MAX_DEPTH, self._memory.recall(drafter))

    def _start(self, drafter: DrafterKind | None, tokens: int) -> Measurement | None:
        """Return the measurement that a controller starts from, one of answers of this length if there is any."""
        measured, bucket = self._measured(drafter), context_bucket(tokens)
        candidates = (measured[bucket],) if bucket in measured else measured.values()
        return next((each for each in candidates if results.results_of(each).winner), None)

    def _measured(self, drafter: DrafterKind | None) -> dict[int | None, Measurement]:
        return {bucket: each for bucket, each in self._deciding.items() if each.subject.drafter == drafter}


@dataclass(frozen=True, slots=True)
class DepthChoice:
    """A depth and its reason; the attributes are those of `protocol.DepthChosen`."""

    depth: int
    reason: DepthReason
    expected: float | None

    def differs(self, other: DepthChoice) -> bool:
        """Whether it is worth reporting after `other`."""
        if (self.depth, self.reason) != (other.depth, other.reason):
            return True
        if self.expected is None or other.expected is None:
            return self.expected is not other.expected
        return abs(self.expected - other.expected) >= _REPORTED_CHANGE


class DepthChooser:
    """Chooses the depth of an answer's cycles.

    Args:
        controller: Finds the fastest depth; every cycle is recorded there, also those of a fixed depth.
        turned_off: Whether a measurement on this machine found drafting slower; it decides where the user did not.
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
        self._fixed = _fixed_depth(sampler, drafter, turned_off=turned_off)
        self._round = -1
        self._reported: DepthChoice | None = None

    @property
    def drafts(self) -> bool:
        return self._fixed is None or self._fixed[0] != 0

    def next(self) -> int:
        return self._controller.choose() if self._fixed is None else self._fixed[0]

    def record(self, depth: int, accepted: int, seconds: float) -> None:
        self._controller.record(depth, accepted, seconds)

    def changed(self, deepest: int) -> DepthChoice | None:
        """Return the present choice if it differs from the one reported last; at most once a controller round.

        `deepest` is the drafter's largest depth.
        """
        if self._controller.rounds == self._round:
            return None
        self._round = self._controller.rounds
        depth, reason = self._fixed or (self._controller.steady, _reason(self._controller))
        depth = min(depth, deepest)
        choice = DepthChoice(depth, reason, self._controller.speedup(depth))
        if self._reported is not None and not choice.differs(self._reported):
            return None
        self._reported = choice
        return choice


def _fixed_depth(
    sampler: SamplerConfig, drafter: DrafterKind | None, *, turned_off: bool
) -> tuple[int, DepthReason] | None:
    """Return the depth of all cycles and its reason, None when the controller chooses."""
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
    # Where the best depth drafts and yet is paused, its expected gain and what it won so far contradict each other.
    is_open = controller.best != 0 or controller.speedup(0) is None
    return DepthReason.MEASURING if is_open else DepthReason.PARKED


class DepthMemory:
    """The stored depth estimates of one model on this machine, by drafter; arguments as of `DepthPolicy`."""

    def __init__(self, data: Path, speed_key: str) -> None:
        self._store = JsonStore(data / NAME, FORMAT)
        self._speed_key = speed_key

    def recall(self, drafter: str) -> DepthEstimates | None:
        """Return the estimates of a drafter, None where nothing usable is stored."""
        entry = self._store.get(self._key(drafter))
        try:
            return None if entry is None else _parse(entry)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def remember(self, drafter: str, estimates: DepthEstimates) -> None:
        self._store.put(self._key(drafter), dataclasses.asdict(estimates))

    def _key(self, drafter: str) -> str:
        return f"{self._speed_key} {drafter}"


def _parse(entry: dict[str, Any]) -> DepthEstimates:
    costs = tuple(None if cost is None else _number(cost, above=0.0) for cost in entry["costs"])
    offered = tuple(_number(count) for count in entry["offered"])
    accepted = tuple(min(_number(count), most) for count, most in zip(entry["accepted"], offered, strict=True))
    best = entry["best"]
    if not isinstance(best, int) or best < 0:
        raise ValueError("no depth")
    return DepthEstimates(best, costs, accepted, offered)


def _number(value: float, above: float = -1.0) -> float:
    number = float(value)
    if not (math.isfinite(number) and number >= 0 and number > above):
        raise ValueError("no count or time")
    return number


def measured_estimates(measured: Results, best: int) -> DepthEstimates:
    """Return the results of a measurement as the estimates that a depth controller starts from, at depth `best`."""
    deepest = max(result.depth for result in measured.depths)
    cycles = {0: measured.plain.step_s, **{result.depth: result.cycle_s for result in measured.depths}}
    accepted, offered = [], []
    for position in range(deepest):
        reaching = [result for result in measured.depths if result.depth > position]
        hits = sum(result.accepted_at[position] for result in reaching)
        # A draft is verified only where those before it were accepted.
        tried = sum(result.accepted_at[position - 1] if position else result.verify_steps for result in reaching)
        weight = min(1.0, MOST_OFFERED / tried) if tried else 0.0
        accepted.append(weight * hits)
        offered.append(weight * tried)
    return DepthEstimates(
        best=best,
        costs=tuple(cycles.get(depth) for depth in range(deepest + 1)),
        accepted=tuple(accepted),
        offered=tuple(offered),
    )
