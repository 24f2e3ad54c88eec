"""How deep a loaded model is drafted where that is left to the engine: by what was measured, then by what is seen.

A measurement that somebody asked for goes before what answers have shown so far. It decides for answers of its own
bucket of context; where that was not measured, drafting may begin with what won in another one, but is never turned
off. It is looked up when an answer begins, since another process may have measured or forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine import results
from mtplx_engine.config import AUTO_MAX_DEPTH
from mtplx_engine.depth import DepthController
from mtplx_engine.depth_figures import MOST_OFFERED, Figures
from mtplx_engine.depth_memory import DepthMemory
from mtplx_engine.measurement import context_bucket
from mtplx_engine.measurements import Measurements, deciding

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.config import DrafterKind
    from mtplx_engine.measurement import Measurement
    from mtplx_engine.results import Results


USUAL_ANSWER = 256
"""Tokens that an answer is taken to have before it is written, where it may have more."""


class Depths:
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
        self.measurements = Measurements(data)
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
        measured = None if start is None else results.of(start)
        if measured is not None and measured.winner:
            deepest = max(AUTO_MAX_DEPTH, measured.winner)
            return DepthController(deepest, measured_figures(measured, measured.winner))
        return DepthController(AUTO_MAX_DEPTH, self._memory.recall(drafter))

    def _start(self, drafter: DrafterKind | None, tokens: int) -> Measurement | None:
        """Return the measurement that a controller begins with, one of such answers if there is any."""
        measured, bucket = self._measured(drafter), context_bucket(tokens)
        looked_at = (measured[bucket],) if bucket in measured else measured.values()
        return next((each for each in looked_at if results.of(each).winner), None)

    def _measured(self, drafter: DrafterKind | None) -> dict[int | None, Measurement]:
        """Return what was measured with this drafter, by bucket of context, the newest first."""
        return {bucket: each for bucket, each in self._deciding.items() if each.subject.drafter == drafter}


def measured_figures(measured: Results, best: int) -> Figures:
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
    return Figures(
        best=best,
        costs=tuple(cycles.get(depth) for depth in range(deepest + 1)),
        accepted=tuple(accepted),
        offered=tuple(offered),
    )
