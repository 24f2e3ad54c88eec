"""Block and inline types of parsed markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it.token import Token


_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


def units(text: str) -> int:
    """Return the length of `text` in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def part(text: str, start: int, end: int) -> str:
    """Return `text` from `start` to `end`, both in UTF-16 units."""
    if text.isascii():
        return text[start:end]
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", "ignore")


def by_unit(text: str) -> str:
    """Return `text` with one character for each unit: two blanks stand for a character of two."""
    return text if text.isascii() else _TWO_UNITS.sub("  ", text)


class Mark(Flag):
    """How a run of text is set."""

    NONE = 0
    STRONG = auto()
    EMPHASIS = auto()
    STRIKE = auto()
    CODE = auto()
    MATH = auto()


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one look.

    Attributes:
        text: A line break is a newline; a formula is its source, with its signs.
        marks: The look.
        href: Where it leads, "" for nowhere.
        drawn: The document has it as one drawn formula; says nothing about what it is, so it does not count in
            comparisons.
        isolated: The document has it between two signs, so that what is around it does not change its direction;
            does not count either.
    """

    text: str
    marks: Mark = Mark.NONE
    href: str = ""
    drawn: bool = field(default=False, compare=False)
    isolated: bool = field(default=False, compare=False)

    @property
    def length(self) -> int:
        """Its length in the document, in UTF-16 units."""
        return 1 if self.drawn else units(self.text) + 2 * self.lead

    @property
    def lead(self) -> int:
        """How many units stand in the document before its text, and behind it."""
        return int(self.isolated)


class Kind(Enum):
    """What a leaf can sit in."""

    QUOTE = auto()
    LIST = auto()


@dataclass(frozen=True, slots=True)
class Container:
    """One quote or list item around a leaf.

    Attributes:
        kind: Quote or list item.
        marker: The item's sign as it is shown, on the first leaf of an item only.
    """

    kind: Kind
    marker: str = ""


BULLET = "•"
TASK_OPEN = "☐"
TASK_DONE = "☑"

Place = tuple[Container, ...]
"""The containers of a leaf, outermost first."""


class Align(Enum):
    """Where the text of a table's column stands."""

    LEADING = auto()
    CENTER = auto()
    RIGHT = auto()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text. A very long one is several leaves, of which all but the first continue the one before."""

    place: Place
    runs: tuple[Run, ...]
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6."""

    place: Place
    level: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line between sections."""

    place: Place


@dataclass(frozen=True, slots=True)
class Code:
    """A code block.

    Attributes:
        language: First word behind the fence, as it was written.
        text: The source, each line ending in a newline.
        is_open: More may come; says nothing about what the block is, so it does not count in comparisons.
    """

    place: Place
    language: str
    text: str
    is_open: bool = field(default=False, compare=False)


Cell = tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as there are `aligns`, the first row is the header."""

    place: Place
    aligns: tuple[Align, ...]
    rows: tuple[tuple[Cell, ...], ...]


Leaf = Paragraph | Heading | Rule | Code | Table


def text_of(runs: tuple[Run, ...]) -> str:
    """Return the bare text of `runs`."""
    return "".join(run.text for run in runs)


def stands_alone(leaf: Leaf) -> bool:
    """Return whether `leaf` is a formula on a line of its own."""
    return (
        isinstance(leaf, Paragraph)
        and len(leaf.runs) == 1
        and Mark.MATH in leaf.runs[0].marks
        and leaf.runs[0].text.startswith(("$$", "\\["))
    )


def unmarked(place: Place) -> Place:
    """Return `place` for a leaf that begins no item there."""
    return tuple(Container(each.kind) for each in place)


_SCHEMES = frozenset({"http", "https", "mailto"})


def is_allowed(href: str) -> bool:
    """Return whether `href` may be offered for a click at all."""
    scheme, colon, rest = href.partition(":")
    return bool(colon and rest) and scheme.lower() in _SCHEMES


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


class BlockBuilder:
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
