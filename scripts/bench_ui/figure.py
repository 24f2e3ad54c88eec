"""What was measured, and the table that is printed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.bench_ui.own_time import Moment


LONGEST_BLOCK_MS: Final = 300.0
_HEAD = ("what", "measured", "limit", "by the clock", "")


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    Attributes:
        what: What was measured.
        measured: The figure that is judged; of times without what other programs took (see `OwnTime`).
        unit: Its unit.
        limit: What it must not be above; None where there is no limit.
        wall: The same by the clock on the wall, where the two can differ.
    """

    what: str
    measured: float
    unit: str
    limit: float | None = None
    wall: float | None = None

    @property
    def over(self) -> bool:
        """Whether it is above its limit."""
        return self.limit is not None and self.measured > self.limit

    def cells(self) -> tuple[str, ...]:
        """Return what stands in its line of the table."""
        verdict = "" if self.limit is None else "over" if self.over else "ok"
        return (
            self.what,
            f"{_number(self.measured)} {self.unit}",
            "" if self.limit is None else f"{_number(self.limit)} {self.unit}",
            "" if self.wall is None else f"{_number(self.wall)} {self.unit}",
            verdict,
        )


def timed(what: str, took: Moment, limit_ms: float | None = None) -> Figure:
    """Return how long something took, in milliseconds."""
    return Figure(what, 1000 * took.own, "ms", limit_ms, 1000 * took.wall)


def table(figures: Sequence[Figure]) -> str:
    """Return all figures below each other."""
    rows = [_HEAD, *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 0 < column < len(_HEAD) - 1 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
