"""Which parts of an answer were drafted and accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def accepted_runs(text: str, marks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs of cleaned `text` that were drafted and accepted.

    Args:
        text: The answer as it was given, before it was cleaned: there, line ends may be longer by a character.
        marks: Lengths of runs, in turn not drafted and accepted.
    """
    position = shift = 0
    for number, length in enumerate(marks):
        end = position + length
        longer = text.count("\r\n", position, end)
        if number % 2 and length:
            yield position - shift, end - shift - longer
        shift += longer
        position = end
