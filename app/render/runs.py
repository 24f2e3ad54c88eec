"""Inline tokens to runs of text, and runs that are too long for one paragraph to several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.render.blocks import Mark, Run
from app.render.links import is_allowed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it.token import Token

# Qt lays a paragraph out anew when a character is added to it; this bounds what that costs.
_LONGEST = 4096
_MARKS = {"strong": Mark.STRONG, "em": Mark.EMPHASIS, "s": Mark.STRIKE}


def read_runs(children: Iterable[Token]) -> tuple[Run, ...]:
    """Return the runs of an inline token, neighbours of one look joined."""
    reader = _Reader()
    for child in children:
        reader.read(child)
    return tuple(reader.runs)


class _Reader:
    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._marks = Mark.NONE
        self._href = ""
        self._refused = ""

    def read(self, child: Token) -> None:
        match child.type:
            case "text" | "text_special":
                self._add(child.content, self._marks, self._href)
            case "code_inline":
                self._add(child.content, self._marks | Mark.CODE, self._href)
            case "math":
                is_short = len(child.content) <= _LONGEST
                self._add(child.content, self._marks | (Mark.MATH if is_short else Mark.CODE), self._href)
            case "softbreak" | "hardbreak":
                self._add("\n", self._marks, self._href)
            case "image":
                self._add_image(child.content, str(child.attrs.get("src", "")))
            case "link_open":
                target = str(child.attrs.get("href", ""))
                self._href = _allowed(target)
                self._refused = "" if self._href else target
            case "link_close":
                self._href = ""
                if self._refused:
                    self._add(f" ({self._refused})", self._marks, "")
            case _ if child.nesting > 0:
                self._marks |= _MARKS[child.tag]
            case _:
                self._marks &= ~_MARKS[child.tag]

    def _add_image(self, words: str, source: str) -> None:
        self._add(words or source, self._marks, self._href or _allowed(source))
        if words and not _allowed(source):
            self._add(f" ({source})", self._marks, self._href)

    def _add(self, text: str, marks: Mark, href: str) -> None:
        if not text:
            return
        joins = Mark.MATH not in marks and self.runs
        if joins and (self.runs[-1].marks, self.runs[-1].href) == (marks, href):
            text = self.runs.pop().text + text
        self.runs.append(Run(text, marks, href))


def _allowed(target: str) -> str:
    return target if is_allowed(target) else ""


def parts(runs: tuple[Run, ...]) -> list[tuple[Run, ...]]:
    """Cut what is too long for one paragraph at line breaks or spaces, else anywhere."""
    if sum(len(run.text) for run in runs) <= _LONGEST:
        return [runs]
    text = "".join(run.text for run in runs)
    ends = []
    start = 0
    while len(text) - start > _LONGEST:
        window = text[start : start + _LONGEST]
        space = max(window.rfind("\n"), window.rfind(" ")) + 1
        start += space or _LONGEST
        ends.append(start)
    return _split_at(runs, [*ends, len(text)])


def _split_at(runs: tuple[Run, ...], ends: list[int]) -> list[tuple[Run, ...]]:
    parts: list[list[Run]] = [[]]
    position = 0
    for run in runs:
        left = run.text
        while left:
            room = ends[len(parts) - 1] - position
            piece, left = left[:room], left[room:]
            position += len(piece)
            if piece:
                parts[-1].append(Run(piece, run.marks, run.href))
            if left:
                parts.append([])
    return [tuple(part) for part in parts]
