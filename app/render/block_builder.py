"""Builds blocks and runs from the tokens of markdown-it."""

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
    ContainerKind,
    Heading,
    Mark,
    Paragraph,
    Rule,
    Run,
    Table,
    is_allowed,
    without_markers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it.token import Token

    from app.render.blocks import Containers, Leaf


# Qt lays a paragraph out anew when a character is added to it; this bounds what that costs.
_LONGEST_PARAGRAPH = 4096
_MARKS = {"strong": Mark.STRONG, "em": Mark.EMPHASIS, "s": Mark.STRIKE}


def build_runs(children: Iterable[Token]) -> tuple[Run, ...]:
    """Return the runs of an inline token, neighbours with the same marks and link joined."""
    builder = _RunBuilder()
    for child in children:
        builder.add(child)
    return tuple(builder.runs)


class _RunBuilder:
    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._marks = Mark.NONE
        self._href = ""
        self._refused = ""

    def add(self, child: Token) -> None:
        match child.type:
            case "text" | "text_special":
                self._add(child.content, self._marks, self._href)
            case "code_inline":
                self._add(child.content, self._marks | Mark.CODE, self._href)
            case "math":
                is_short = len(child.content) <= _LONGEST_PARAGRAPH
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

    def _add_image(self, text: str, source: str) -> None:
        self._add(text or source, self._marks, self._href or _allowed(source))
        if text and not _allowed(source):
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


def split_long(runs: tuple[Run, ...]) -> list[tuple[Run, ...]]:
    """Split runs that are too long for one paragraph, at line breaks or spaces where there are any."""
    if sum(len(run.text) for run in runs) <= _LONGEST_PARAGRAPH:
        return [runs]
    text = "".join(run.text for run in runs)
    ends = []
    start = 0
    while len(text) - start > _LONGEST_PARAGRAPH:
        window = text[start : start + _LONGEST_PARAGRAPH]
        space = max(window.rfind("\n"), window.rfind(" ")) + 1
        start += space or _LONGEST_PARAGRAPH
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


_TASKS = {"[ ] ": TASK_OPEN, "[x] ": TASK_DONE, "[X] ": TASK_DONE}
_ALIGNS = {"text-align:center": Align.CENTER, "text-align:right": Align.RIGHT}


@dataclass(slots=True)
class _OpenContainer:
    """An open quote or list item; `marker` until its first leaf has taken it."""

    kind: ContainerKind
    marker: str = ""


@dataclass(slots=True)
class _OpenList:
    ordered: bool
    next_number: int


class BlockBuilder:
    """Builds leaves from block tokens; `lines` has for each leaf its first line and the one behind its last."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, int]] = []
        self._leaves: list[Leaf] = []
        self._open: list[_OpenContainer] = []
        self._lists: list[_OpenList] = []
        self._rows: list[list[tuple[Run, ...]]] = []
        self._aligns: list[Align] = []

    def build(self, tokens: list[Token]) -> tuple[Leaf, ...]:
        """Return the leaves of `tokens`, whose inline tokens have been parsed."""
        span = table = (0, 0)
        for index, token in enumerate(tokens):
            if token.map is not None:
                span = (token.map[0], token.map[1])
            if token.type == "table_open":
                table = span
            match token.type:
                case "paragraph_open":
                    self._add_paragraph(build_runs(tokens[index + 1].children or []))
                case "heading_open":
                    runs = build_runs(tokens[index + 1].children or [])
                    self._leaves.append(Heading(self._take_containers(), int(token.tag[1:]), runs))
                case "hr":
                    self._leaves.append(Rule(self._take_containers()))
                case "fence" | "code_block":
                    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
                    self._leaves.append(Code(self._take_containers(), language, token.content))
                case _ if token.type.startswith(("bullet", "ordered", "list", "blockquote")):
                    self._nest(token)
                case _:
                    self._read_table(token, tokens[index + 1 : index + 2])
            lines = table if token.type == "table_close" else span
            self.lines += [lines] * (len(self._leaves) - len(self.lines))
        return tuple(self._leaves)

    def _add_paragraph(self, runs: tuple[Run, ...]) -> None:
        if self._open and self._open[-1].marker:
            runs = self._read_task(runs)
        containers = self._take_containers()
        for index, part in enumerate(split_long(runs)):
            self._leaves.append(Paragraph(containers if index == 0 else without_markers(containers), part, index > 0))

    def _read_task(self, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        first = runs[0] if runs else Run("")
        sign = _TASKS.get(first.text[:4]) if first.marks == Mark.NONE and not first.href else None
        if sign is None:
            return runs
        self._open[-1].marker = sign
        return (Run(first.text[4:]), *runs[1:])

    def _take_containers(self) -> Containers:
        """Return the containers of the next leaf; the markers go to it and to no later one."""
        containers = tuple(Container(each.kind, each.marker) for each in self._open)
        for each in self._open:
            each.marker = ""
        return containers

    def _nest(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self._lists.append(_OpenList(ordered=False, next_number=0))
            case "ordered_list_open":
                self._lists.append(_OpenList(ordered=True, next_number=int(token.attrs.get("start", 1))))
            case "list_item_open":
                parent = self._lists[-1]
                marker = f"{parent.next_number}{token.markup}" if parent.ordered else BULLET
                parent.next_number += 1
                self._open.append(_OpenContainer(ContainerKind.LIST, marker))
            case "list_item_close":
                if self._open[-1].marker:
                    self._leaves.append(Paragraph(self._take_containers(), ()))
                self._open.pop()
            case "blockquote_open":
                self._open.append(_OpenContainer(ContainerKind.QUOTE))
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
                self._rows[-1].append(build_runs(following[0].children or []))
            case "table_close":
                rows = tuple(tuple(row) for row in self._rows)
                self._leaves.append(Table(self._take_containers(), tuple(self._aligns), rows))
