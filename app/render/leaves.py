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
    unmarked,
)
from app.render.runs import parts, read_runs

if TYPE_CHECKING:
    from markdown_it.token import Token

_TASKS = {"[ ] ": TASK_OPEN, "[x] ": TASK_DONE, "[X] ": TASK_DONE}
_ALIGNS = {"text-align:center": Align.CENTER, "text-align:right": Align.RIGHT}


@dataclass(slots=True)
class _Open:
    """A quote or list item that is being read; `marker` until a leaf has taken it."""

    kind: Kind
    marker: str = ""


@dataclass(slots=True)
class _List:
    ordered: bool
    next_number: int


class Leaves:
    """Reads a row of block tokens.

    Attributes:
        lines: The first line of each leaf, and the one behind its last.
    """

    def __init__(self) -> None:
        self.lines: list[tuple[int, int]] = []
        self._found: list[Leaf] = []
        self._open: list[_Open] = []
        self._lists: list[_List] = []
        self._rows: list[list[tuple[Run, ...]]] = []
        self._aligns: list[Align] = []

    def of(self, tokens: list[Token]) -> tuple[Leaf, ...]:
        """Return the leaves of `tokens`."""
        span = table = (0, 0)
        for index, token in enumerate(tokens):
            if token.map is not None:
                span = (token.map[0], token.map[1])
            if token.type == "table_open":
                table = span
            match token.type:
                case "paragraph_open":
                    self._add_paragraph(read_runs(tokens[index + 1].children or []))
                case "heading_open":
                    runs = read_runs(tokens[index + 1].children or [])
                    self._found.append(Heading(self._place(), int(token.tag[1:]), runs))
                case "hr":
                    self._found.append(Rule(self._place()))
                case "fence" | "code_block":
                    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
                    self._found.append(Code(self._place(), language, token.content))
                case _ if token.type.startswith(("bullet", "ordered", "list", "blockquote")):
                    self._nest(token)
                case _:
                    self._read_table(token, tokens[index + 1 : index + 2])
            lines = table if token.type == "table_close" else span
            self.lines += [lines] * (len(self._found) - len(self.lines))
        return tuple(self._found)

    def _add_paragraph(self, runs: tuple[Run, ...]) -> None:
        if self._open and self._open[-1].marker:
            runs = self._read_task(runs)
        place = self._place()
        for index, part in enumerate(parts(runs)):
            self._found.append(Paragraph(place if index == 0 else unmarked(place), part, index > 0))

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

    def _nest(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self._lists.append(_List(ordered=False, next_number=0))
            case "ordered_list_open":
                self._lists.append(_List(ordered=True, next_number=int(token.attrs.get("start", 1))))
            case "list_item_open":
                parent = self._lists[-1]
                marker = f"{parent.next_number}{token.markup}" if parent.ordered else BULLET
                parent.next_number += 1
                self._open.append(_Open(Kind.LIST, marker))
            case "list_item_close":
                if self._open[-1].marker:
                    self._found.append(Paragraph(self._place(), ()))
                self._open.pop()
            case "blockquote_open":
                self._open.append(_Open(Kind.QUOTE))
            case "blockquote_close":
                self._open.pop()
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()

    def _read_table(self, token: Token, following: list[Token]) -> None:
        match token.type:
            case "table_open":
                self._rows, self._aligns = [], []
            case "tr_open":
                self._rows.append([])
            case "th_open" | "td_open":
                if token.type == "th_open":
                    self._aligns.append(_ALIGNS.get(str(token.attrs.get("style")), Align.LEADING))
                self._rows[-1].append(read_runs(following[0].children or []))
            case "table_close":
                rows = tuple(tuple(row) for row in self._rows)
                self._found.append(Table(self._place(), tuple(self._aligns), rows))
