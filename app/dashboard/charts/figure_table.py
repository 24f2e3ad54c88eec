"""The figures of a chart as a table: what a screen reader reads, and what is copied."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FigureTable:
    """Words in rows and columns.

    Attributes:
        head: What the columns are, the first of which names the rows.
        rows: As long as `head`.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        """Return it as spreadsheets paste it: a line for each row, tabs between the cells."""
        return "\n".join("\t".join(row) for row in (self.head, *self.rows))
