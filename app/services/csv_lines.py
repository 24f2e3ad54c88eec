"""Records as the lines of a table for spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# A spreadsheet takes what begins so for a formula, and would run it; in some countries a semicolon begins a new cell.
_FORMULA_STARTS: Final = re.compile(r"(^|;)(?=[-=+@\t\r])")


def csv_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Return a line for each record; the names of the first one come above it."""
    line = io.StringIO(newline="")
    writer = csv.writer(line)
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
    return _FORMULA_STARTS.sub(r"\1'", value) if isinstance(value, str) else value
