"""How deep a loaded model is drafted where that is left to the engine: by what was measured, then by what is seen.

A measurement that somebody asked for goes before what answers have shown so far. It is looked up when an answer
begins, since another process may have measured or forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine import results
from mtplx_engine.depth import DepthController
from mtplx_engine.depth_figures import MOST_OFFERED, Figures
from mtplx_engine.depth_memory import DepthMemory
from mtplx_engine.measurements import Measurements

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.config import DrafterKind
    from mtplx_engine.measurement import Measurement
    from mtplx_engine.results import Results

AUTO_MAX_DEPTH = 4  # deeper drafts of one chained head are never worth measuring


class Depths:
    """The depth controllers of a loaded model, one for each drafter.

    Args:
        data: The data folder.
        speed_key: Stands for the model's files and this machine, see `ModelInfo.speed_key`.
    """

    def __init__(self, data: Path, speed_key: str) -> None:
        self._memory = DepthMemory(data, speed_key)
        self._measurements = Measurements(data)
        self._speed_key = speed_key
        self._stamp: tuple[int, ...] | None = None
        self._latest: Measurement | None = None
        self._controllers: dict[DrafterKind | None, DepthController] = {}

    def refresh(self) -> None:
        """Take over what was measured or forgotten since; the controllers then begin anew."""
        stamp = self._measurements.stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        latest = self._measurements.latest(self._speed_key)
        if latest != self._latest:
            self._latest = latest
            self._controllers.clear()

    def keep(self, measurement: Measurement) -> None:
        """Keep a measurement, which holds from the next `refresh` on."""
        self._measurements.keep(measurement)

    def of(self, drafter: DrafterKind | None) -> DepthController:
        """Return the controller of a drafter; a new one begins with what is known of it."""
        if drafter not in self._controllers:
            self._controllers[drafter] = DepthController(0) if drafter is None else self._new(drafter)
        return self._controllers[drafter]

    def turned_off(self, drafter: DrafterKind | None) -> bool:
        """Whether a measurement found that drafting is slower at every depth."""
        measured = self._measured(drafter)
        return measured is not None and measured.winner == 0

    def remember(self, drafter: DrafterKind) -> None:
        """Keep what a controller has seen."""
        self._memory.remember(drafter, self.of(drafter).figures())

    def _new(self, drafter: DrafterKind) -> DepthController:
        measured = self._measured(drafter)
        if measured is not None and measured.winner:
            deepest = max(AUTO_MAX_DEPTH, measured.winner)
            return DepthController(deepest, measured_figures(measured, measured.winner))
        return DepthController(AUTO_MAX_DEPTH, self._memory.recall(drafter))

    def _measured(self, drafter: DrafterKind | None) -> Results | None:
        """Return the results of the newest measurement where it was made with this drafter."""
        latest = self._latest
        return results.of(latest) if latest is not None and latest.subject.drafter == drafter else None


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
