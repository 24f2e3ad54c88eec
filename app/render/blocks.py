"""Types of parsed markdown: leaf blocks, the containers around them, and the runs of text in them.

As in CommonMark, a leaf block holds no other block, and quotes and list items are containers. A message is a flat row
of leaves, each with its containers, so that a document can be compared and changed from the first leaf that differs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, Flag, auto

_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


def utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def utf16_slice(text: str, start: int, end: int) -> str:
    if text.isascii():
        return text[start:end]
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", "ignore")


def unit_per_character(text: str) -> str:
    """Return `text` with one character for each UTF-16 unit: two blanks stand for a surrogate pair."""
    return text if text.isascii() else _TWO_UNITS.sub("  ", text)


class Mark(Flag):
    """Emphasis of a run of text."""

    NONE = 0
    STRONG = auto()
    EMPHASIS = auto()
    STRIKE = auto()
    CODE = auto()
    MATH = auto()


@dataclass(frozen=True, slots=True)
class Run:
    """Text with the same marks and link.

    Attributes:
        text: A line break is a newline; a formula is its source, with its delimiters.
        href: Target of the link, "" for none.
        drawn: The document shows it as one typeset formula. A fact about the document, so not compared.
        isolated: The document has it between two directional isolates, so that the text around does not change its
            direction. Not compared either.
    """

    text: str
    marks: Mark = Mark.NONE
    href: str = ""
    drawn: bool = field(default=False, compare=False)
    isolated: bool = field(default=False, compare=False)

    @property
    def length(self) -> int:
        """Length in the document, in UTF-16 units."""
        return 1 if self.drawn else utf16_length(self.text) + 2 * self.lead

    @property
    def lead(self) -> int:
        """UTF-16 units of the document before the text of the run, and as many behind it."""
        return int(self.isolated)


class ContainerKind(Enum):
    """Kinds of container blocks."""

    QUOTE = auto()
    LIST = auto()


@dataclass(frozen=True, slots=True)
class Container:
    """One quote or list item around a leaf; `marker`, as it is shown, is on the first leaf of an item only."""

    kind: ContainerKind
    marker: str = ""


BULLET = "•"
TASK_OPEN = "☐"
TASK_DONE = "☑"

Containers = tuple[Container, ...]
"""The containers of a leaf, outermost first."""


class Align(Enum):
    """Alignment of a table's column."""

    LEADING = auto()
    CENTER = auto()
    RIGHT = auto()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text. A very long one is several leaves, of which all but the first continue the one before."""

    containers: Containers
    runs: tuple[Run, ...]
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6."""

    containers: Containers
    level: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A thematic break: a line between sections."""

    containers: Containers


@dataclass(frozen=True, slots=True)
class Code:
    """A code block.

    Attributes:
        language: First word behind the fence, as it was written.
        text: Source, each line ending in a newline.
        is_open: More lines may come. A fact about the stream, so not compared.
    """

    containers: Containers
    language: str
    text: str
    is_open: bool = field(default=False, compare=False)


Cell = tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as there are `aligns`, the first row is the header."""

    containers: Containers
    aligns: tuple[Align, ...]
    rows: tuple[tuple[Cell, ...], ...]


Leaf = Paragraph | Heading | Rule | Code | Table


def text_of(runs: tuple[Run, ...]) -> str:
    return "".join(run.text for run in runs)


def is_display_formula(leaf: Leaf) -> bool:
    """Return whether `leaf` is nothing but a display formula."""
    return (
        isinstance(leaf, Paragraph)
        and len(leaf.runs) == 1
        and Mark.MATH in leaf.runs[0].marks
        and leaf.runs[0].text.startswith(("$$", "\\["))
    )


def starts_item(leaf: Leaf) -> bool:
    return any(each.marker for each in leaf.containers)


def is_within(leaf: Leaf, kind: ContainerKind) -> bool:
    return any(each.kind is kind for each in leaf.containers)


def without_markers(containers: Containers) -> Containers:
    return tuple(Container(each.kind) for each in containers)


_SCHEMES = frozenset({"http", "https", "mailto"})


def is_allowed(href: str) -> bool:
    """Return whether `href` is of a scheme that the user may open: http, https or mailto."""
    scheme, colon, rest = href.partition(":")
    return bool(colon and rest) and scheme.lower() in _SCHEMES
