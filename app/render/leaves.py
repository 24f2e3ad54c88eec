"""markdown-it's tokens to leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.render.blocks import (
    BULLET,
    TASK_DONE,
    TASK_OPEN,
    Align,
    Code,
    Container,
    Heading,
    Kind,
    Leaf,
    Mark,
    Paragraph,
    Place,
    Rule,
    Run,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it.token import Token

# Qt lays a paragraph out anew when a character is added to it; this bounds what that costs.
_LONGEST = 4096
_MARKS = {"strong": Mark.STRONG, "em": Mark.EMPHASIS, "s": Mark.STRIKE}
_TASKS = {"[ ] ": TASK_OPEN, "[x] ": TASK_DONE, "[X] ": TASK_DONE}
_ALIGNS = {"text-align:center": Align.CENTER, "text-align:right": Align.RIGHT}
_SCHEMES = ("http:", "https:", "mailto:")


@dataclass(slots=True)
class _Open:
    """A quote or list item that is being read; `marker` until a leaf has taken it."""

    kind: Kind
    line: int
    marker: str = ""


@dataclass(slots=True)
class _List:
    ordered: bool
    next_number: int


class Leaves:
    """Reads a row of block tokens."""

    def __init__(self) -> None:
        self._found: list[tuple[int, Leaf]] = []
        self._open: list[_Open] = []
        self._lists: list[_List] = []
        self._rows: list[list[tuple[Run, ...]]] = []
        self._aligns: list[Align] = []

    def of(self, tokens: list[Token]) -> list[tuple[int, Leaf]]:
        """Return the leaves of `tokens`, each with the line it begins on."""
        for index, token in enumerate(tokens):
            line = token.map[0] if token.map else 0
            match token.type:
                case "paragraph_open":
                    self._add_paragraph(line, _runs(tokens[index + 1].children or []))
                case "heading_open":
                    runs = _runs(tokens[index + 1].children or [])
                    self._add(line, Heading(self._place(), int(token.tag[1:]), runs))
                case "hr":
                    self._add(line, Rule(self._place()))
                case "fence" | "code_block":
                    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
                    self._add(line, Code(self._place(), language, token.content))
                case _ if token.type.startswith(("bullet", "ordered", "list", "blockquote")):
                    self._nest(token, line)
                case _:
                    self._read_table(token, tokens[index + 1] if index + 1 < len(tokens) else token, line)
        return self._found

    def _add(self, line: int, leaf: Leaf) -> None:
        self._found.append((line, leaf))

    def _add_paragraph(self, line: int, runs: tuple[Run, ...]) -> None:
        if self._open and self._open[-1].marker:
            runs = self._read_task(runs)
        place = self._place()
        for index, part in enumerate(_parts(runs)):
            self._add(line, Paragraph(place if index == 0 else _unmarked(place), part, index > 0))

    def _read_task(self, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        first = runs[0] if runs else Run("")
        sign = _TASKS.get(first.text[:4]) if first.marks == Mark.NONE and not first.href else None
        if sign is None:
            return runs
        self._open[-1].marker = sign
        return (Run(first.text[4:]), *runs[1:])

    def _place(self) -> Place:
        """Return where the next leaf stands; the markers go to it and to no later one."""
        place = tuple(Container(each.kind, each.marker) for each in self._open)
        for each in self._open:
            each.marker = ""
        return place

    def _nest(self, token: Token, line: int) -> None:
        match token.type:
            case "bullet_list_open":
                self._lists.append(_List(ordered=False, next_number=0))
            case "ordered_list_open":
                self._lists.append(_List(ordered=True, next_number=int(token.attrs.get("start", 1))))
            case "list_item_open":
                parent = self._lists[-1]
                marker = f"{parent.next_number}{token.markup}" if parent.ordered else BULLET
                parent.next_number += 1
                self._open.append(_Open(Kind.LIST, line, marker))
            case "list_item_close":
                if self._open[-1].marker:
                    self._add(self._open[-1].line, Paragraph(self._place(), ()))
                self._open.pop()
            case "blockquote_open":
                self._open.append(_Open(Kind.QUOTE, line))
            case "blockquote_close":
                self._open.pop()
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()

    def _read_table(self, token: Token, following: Token, line: int) -> None:
        match token.type:
            case "table_open":
                self._rows, self._aligns = [], []
            case "tr_open":
                self._rows.append([])
            case "th_open" | "td_open":
                if token.type == "th_open":
                    self._aligns.append(_ALIGNS.get(str(token.attrs.get("style")), Align.LEADING))
                self._rows[-1].append(_runs(following.children or []))
            case "table_close":
                rows = tuple(tuple(row) for row in self._rows)
                self._add(line, Table(self._place(), tuple(self._aligns), rows))


def _unmarked(place: Place) -> Place:
    return tuple(Container(each.kind) for each in place)


def _runs(children: Iterable[Token]) -> tuple[Run, ...]:
    """Return the runs of an inline token, neighbours of one look joined."""
    runs: list[Run] = []
    marks = Mark.NONE
    href = ""
    hidden_target = ""
    for child in children:
        kind = child.type
        if kind in ("text", "text_special"):
            _push(runs, child.content, marks, href)
        elif kind == "code_inline":
            _push(runs, child.content, marks | Mark.CODE, href)
        elif kind in ("softbreak", "hardbreak"):
            _push(runs, "\n", marks & ~Mark.CODE, href)
        elif kind == "image":
            source = str(child.attrs.get("src", ""))
            _push(runs, child.content or source, marks, href or _allowed(source))
        elif kind == "link_open":
            target = str(child.attrs.get("href", ""))
            href = _allowed(target)
            hidden_target = "" if href else target
        elif kind == "link_close":
            if hidden_target:
                _push(runs, f" ({hidden_target})", marks, "")
            href = hidden_target = ""
        elif kind.endswith("_open"):
            marks |= _MARKS[child.tag]
        elif kind.endswith("_close"):
            marks &= ~_MARKS[child.tag]
    return tuple(runs)


def _push(runs: list[Run], text: str, marks: Mark, href: str) -> None:
    if not text:
        return
    if runs and (runs[-1].marks, runs[-1].href) == (marks, href):
        text = runs.pop().text + text
    runs.append(Run(text, marks, href))


def _allowed(target: str) -> str:
    return target if target.lower().startswith(_SCHEMES) else ""


def _parts(runs: tuple[Run, ...]) -> list[tuple[Run, ...]]:
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
