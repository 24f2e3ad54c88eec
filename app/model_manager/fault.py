"""What went wrong with a model, and the one thing to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.model_manager.face import Action
from app.translate import tr
from mtplx_engine.hub.problem import Problem

if TYPE_CHECKING:
    from app.widgets.error_card import ErrorCard
    from mtplx_engine.errors import ErrorInfo

ABOUT_TOKEN: Final = frozenset({Problem.NO_TOKEN, Problem.BAD_TOKEN, Problem.FORBIDDEN})
"""What another token helps against."""

ABOUT_WAY: Final = frozenset({Problem.PROXY, Problem.ADDRESS})
"""What another address in the settings helps against."""

ABOUT_CHOICE: Final = frozenset({Problem.NOT_FOUND, Problem.UNSAFE, Problem.NO_MODEL, Problem.UNFIT_HEAD})
"""What only another model helps against."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure.

    Attributes:
        sentence: What happened, for people.
        problem: What kind of failure it is, None when it has none of the hub's.
    """

    sentence: str
    problem: Problem | None = None

    @classmethod
    def of(cls, error: ErrorInfo, problem: Problem | None) -> Fault:
        """Return the failure that a service tells of."""
        return cls(error.message, problem)

    @property
    def remedy(self) -> str:
        """What the button about it says."""
        return tr(self.problem.value) if self.problem is not None else tr(Action.LOOK_AGAIN.value)


def show_fault(card: ErrorCard, fault: Fault | None) -> None:
    """Let a card say what went wrong, and hide it when nothing did."""
    card.setVisible(fault is not None)
    if fault is not None:
        card.label.setText(fault.sentence)
        card.set_action(fault.remedy)
