"""Records as the lines of a table for spreadsheets."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# A spreadsheet takes what begins so for a formula, and would run it.
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Return a line for each record; the names of the first one come above it."""
    line = io.StringIO(newline="")
    # All text in quotes: where a semicolon parts cells, what follows one in a name would be a cell of its own.
    writer = csv.writer(line, quoting=csv.QUOTE_NONNUMERIC)
    head: tuple[str, ...] = ()
    for each in records:
        if not head:
            head = tuple(each)
            writer.writerow(head)
        writer.writerow(_cell(value) for value in each.values())
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _cell(value: Any) -> Any:
    """Return a value as a cell has it: nothing where it is not known, and no text that is a formula."""
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value
