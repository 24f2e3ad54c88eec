"""Downloads that were begun and are not over, as they are on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine import words
from mtplx_engine.hub import download
from mtplx_engine.hub import plan as plans

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.hub.plan import Plan


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A download.

    Attributes:
        plan: What is to be installed.
        present: About how many bytes of it have arrived.
        running: Whether a program fetches it at this moment.
    """

    plan: Plan
    present: int
    running: bool

    @property
    def amount(self) -> str:
        """How much of it is there, in words."""
        return f"{words.size(self.present)} of {words.size(self.plan.size)}"


def find(data: Path) -> tuple[Unfinished, ...]:
    """Return all of them, by folder and name."""
    return tuple(_of(data, plan) for plan in plans.unfinished(data))


def called(name: str, data: Path) -> Unfinished | None:
    """Return the one that a name means: its folder's or its repository's; None without one."""
    plan = next((plan for plan in plans.unfinished(data) if name in (plan.id, plan.target.id)), None)
    return _of(data, plan) if plan is not None else None


def _of(data: Path, plan: Plan) -> Unfinished:
    folder = plans.staging(data, plan.id, plan.home)
    return Unfinished(plan, download.present(data, plan), download.is_running(folder))
