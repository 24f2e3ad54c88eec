"""How deep an answer is drafted, and why: by what the person asked for, by a seed, or by what is fastest here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.depth import REPEATABLE_DEPTH
from mtplx_engine.protocol import DepthReason

if TYPE_CHECKING:
    from mtplx_engine.config import DrafterKind, SamplerConfig
    from mtplx_engine.depth import DepthController

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
