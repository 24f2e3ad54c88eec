"""Maps ranges of the markdown source, such as matches of a search, to ranges of the document."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.render.blocks import Code, Heading, Paragraph, Run, Table, utf16_length
from app.render.markdown import leaf_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.render.blocks import Leaf


_LINK_TARGET = re.compile(r"\](?:\([^)\n]*\)|\[[^\]\n]*\])")
_PIECE_LENGTHS = (16, 4, 1)


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A range of one text block of the document, in UTF-16 units.

    Attributes:
        leaf: Index of the leaf.
        part: Index of the line of code, or of the cell of a table, row by row; else 0.
        start: Start in the text block; `end` is its end.
    """

    leaf: int
    part: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Segment:
    """Text of the document that is found in one piece at `source` in the source."""

    source: int
    text: str
    leaf: int
    part: int
    start: int
    drawn: bool = False

    def cut(self, start: int, end: int) -> SourceSpan:
        """Return the range that shows the characters of the source from `start` to `end`."""
        if self.drawn:
            return SourceSpan(self.leaf, self.part, self.start, self.start + 1)
        first = max(0, start - self.source)
        begin = self.start + utf16_length(self.text[:first])
        return SourceSpan(self.leaf, self.part, begin, begin + utf16_length(self.text[first : end - self.source]))


class SourceMap:
    """Maps ranges of the source to ranges of the document.

    markdown-it tells the lines of a block, not the columns of its text. So the text of each run is searched for in the
    lines of its leaf, in order: it is there in one piece, unless there are escapes in it.

    Args:
        source: Sanitized markdown.
        leaves: The leaves of the document, with which runs are typeset.
    """

    def __init__(self, source: str, leaves: Sequence[Leaf]) -> None:
        self._source = source
        self._segments: list[_Segment] = []
        self._at = 0
        starts = [0]
        for line in source.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        for number, (leaf, (first, last)) in enumerate(zip(leaves, leaf_lines(source), strict=False)):
            self._at = max(self._at, starts[min(first, len(starts) - 1)])
            self._end = min(starts[min(last, len(starts) - 1)], len(source))
            self._read(number, leaf)
        self._starts = [each.source for each in self._segments]

    def spans(self, start: int, end: int) -> list[SourceSpan]:
        """Return the ranges that show the characters of the source from `start` to `end`."""
        found = []
        for segment in self._segments[max(0, bisect_right(self._starts, start) - 1) :]:
            if segment.source >= end:
                break
            if segment.source + len(segment.text) > start:
                found.append(segment.cut(start, end))
        return found

    def _read(self, number: int, leaf: Leaf) -> None:
        match leaf:
            case Paragraph() | Heading():
                self._read_runs(number, 0, leaf.runs)
            case Code():
                for part, line in enumerate(leaf.text.split("\n")):
                    self._read_runs(number, part, (Run(line),))
            case Table():
                for row, cells in enumerate(leaf.rows):
                    for column, cell in enumerate(cells):
                        self._read_runs(number, row * len(leaf.aligns) + column, cell)
            case _:
                pass

    def _read_runs(self, number: int, part: int, runs: Sequence[Run]) -> None:
        position = 0
        before = ""
        for run in runs:
            if before != run.href and (target := _LINK_TARGET.match(self._source, self._at, self._end)):
                self._at = target.end()
            before = run.href
            if run.drawn:
                self._find(number, part, position, run.text, drawn=True)
            else:
                start = position + run.lead
                for piece in _pieces(run.text):
                    self._find_pieces(number, part, start, piece)
                    start += utf16_length(piece)
            position += run.length

    def _find(self, number: int, part: int, position: int, text: str, *, drawn: bool = False) -> bool:
        """Find `text` in the source in one piece; return whether it is there."""
        found = self._source.find(text, self._at, self._end) if text else -1
        if found < 0:
            return False
        self._segments.append(_Segment(found, text, number, part, position, drawn))
        self._at = found + len(text)
        return True

    def _find_pieces(self, number: int, part: int, position: int, text: str) -> None:
        """Find `text` in the source, piece by piece where it is not there in one."""
        if self._find(number, part, position, text):
            return
        index = 0
        while index < len(text):
            for length in _PIECE_LENGTHS:
                piece = text[index : index + length]
                if self._find(number, part, position, piece):
                    break
            index += len(piece)
            position += utf16_length(piece)


def _pieces(text: str) -> Iterator[str]:
    yield from (piece for piece in re.split("(\n)", text) if piece)


def accepted_spans(text: str, marks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the sanitized text that were drafted and accepted.

    Args:
        text: The answer before it was sanitized, which shortens CR LF by a character.
        marks: Lengths of ranges that are, in turn, not drafted and accepted.
    """
    position = shift = 0
    for number, length in enumerate(marks):
        end = position + length
        longer = text.count("\r\n", position, end)
        if number % 2 and length:
            yield position - shift, end - shift - longer
        shift += longer
        position = end
