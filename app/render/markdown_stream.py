"""Incremental parser for a message that is still being streamed.

The text is split into a frozen head, whose blocks no later text can change, and a live tail, which is parsed again
with each piece that arrives. A block is frozen when another one has begun behind it, so the tail is mostly one block,
and the cost of a piece does not grow with the message. Two kinds of blocks have their own path since they alone could
be long: a code block, whose lines `FenceReader` takes without the parser, and any other tail of thousands of
characters, which is parsed again only when it has grown by a fraction; until then new text is appended as it is.

Of the tail only what is decided is shown (`strip_undecided`), so that the first characters of a list, rule or table do
not appear as text. `StreamingMarkdown.finish` parses the message once more as a whole: the result is exact, whatever
was shown before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.render.blocks import Code
from app.render.markdown import ParsedMarkdown, Sanitizer, parse_markdown

if TYPE_CHECKING:
    from app.render.blocks import Leaf
    from app.render.markdown import OpenFence


# A tail this long is parsed again only when it has grown by 1/_GROWTH: the cost per character is bounded.
_LONG_TAIL = 4096
_GROWTH = 32


@dataclass(frozen=True, slots=True)
class Update:
    """What one piece of text changes in the row of leaves.

    Attributes:
        frozen: Leaves that will not change any more; they follow those frozen before.
        tail: Leaves of the live tail, in place of the former ones; None leaves them as they were.
        appended: Text to append to the last leaf of the tail.
    """

    frozen: tuple[Leaf, ...] = ()
    tail: tuple[Leaf, ...] | None = None
    appended: str = ""


class StreamingMarkdown:
    """Parser of one message that is still being streamed."""

    def __init__(self) -> None:
        self._sanitizer = Sanitizer()
        self._pieces: list[str] = []
        self._tail = ""
        self._parsed_length = 0
        self._references: dict[str, Any] = {}
        self._ordinal: int | None = None
        self._fence: FenceReader | None = None
        self._fence_pieces: list[str] = []

    def feed(self, text: str) -> Update:
        text = self._sanitizer.feed(text)
        if not text:
            return Update()
        self._pieces.append(text)
        if self._fence is not None:
            self._fence_pieces.append(text)
            added = self._fence.read(text)
            if added is not None:
                return Update(appended=added)
            self._leave_fence()
        else:
            self._tail += text
        if len(self._tail) > _LONG_TAIL and len(self._tail) < self._parsed_length * (1 + 1 / _GROWTH):
            return Update(appended=text)
        frozen = self._freeze() if "\n" in text else ()
        return Update(frozen, self._parse_tail())

    def finish(self) -> tuple[Leaf, ...]:
        """End the stream; return all leaves of the message, parsed as a whole."""
        self._pieces.append(self._sanitizer.finish())
        return parse_markdown("".join(self._pieces))

    def source(self) -> str:
        """Return the sanitized text so far."""
        return "".join(self._pieces)

    def _freeze(self) -> tuple[Leaf, ...]:
        """Cut the tail where its last block begins; return the leaves before the cut, which are final."""
        complete = self._tail[: self._tail.rfind("\n") + 1]
        parsed = ParsedMarkdown(complete, self._references, self._ordinal)
        cut = parsed.cut
        if not cut.line:
            return ()
        leaves = parsed.leaves_before_cut()
        self._tail = _from_line(self._tail, cut.line)
        self._ordinal = cut.ordinal
        for label, target in parsed.references.items():
            if target["map"][1] <= cut.line:
                self._references[label] = target
        return leaves

    def _parse_tail(self) -> tuple[Leaf, ...]:
        self._parsed_length = len(self._tail)
        parsed = ParsedMarkdown(strip_undecided(self._tail), self._references, self._ordinal)
        leaves = parsed.live_leaves()
        if parsed.fence is None or parsed.fence.quoted:
            return leaves
        reader = FenceReader(parsed.fence)
        shown = reader.read(_from_line(self._tail, parsed.fence.line + 1))
        last = leaves[-1]
        if shown is None or not isinstance(last, Code):
            return leaves
        self._fence, self._fence_pieces = reader, [self._tail]
        return (*leaves[:-1], replace(last, text=shown, is_open=True))

    def _leave_fence(self) -> None:
        self._tail = "".join(self._fence_pieces)
        self._fence, self._fence_pieces = None, []
        self._parsed_length = 0


def _from_line(text: str, line: int) -> str:
    """Return `text` without its first `line` lines."""
    start = 0
    for _ in range(line):
        start = text.index("\n", start) + 1
    return text[start:]


_TAB = 4


class FenceReader:
    """Reads the code of an open fence without the parser.

    The fence may be in list items, not in a quote. At the end of the fence, or where only the parser can decide,
    `read` gives up and the parser takes over.
    """

    def __init__(self, fence: OpenFence) -> None:
        self._indent = fence.indent
        self._strip = fence.strip
        marker = re.escape(fence.marker)
        self._closing = re.compile(rf"[ \t]*{marker}{{{fence.length},}}[ \t]*")
        self._undecided = re.compile(rf"[ \t]*{marker}*[ \t]*")
        self._line = ""
        self._shown = 0

    def read(self, text: str) -> str | None:
        """Return the code that `text` adds, or None when the parser must take over."""
        *complete, partial = (self._line + text).split("\n")
        added = []
        for line in complete:
            if self._is_end(line):
                return None
            added.append(self._body(line)[self._shown :] + "\n")
            self._shown = 0
        self._line = partial
        if not self._undecided.fullmatch(partial):
            if self._is_end(partial):
                return None
            body = self._body(partial)
            added.append(body[self._shown :])
            self._shown = len(body)
        return "".join(added)

    def _is_end(self, line: str) -> bool:
        columns, first = _indentation(line)
        if first < len(line) and columns < self._indent:
            return True
        return columns - self._indent < 4 and bool(self._closing.fullmatch(line))

    def _body(self, line: str) -> str:
        """Return `line` without the indentation of the list item and of the opening line."""
        if not self._strip:
            return line
        columns = position = 0
        while position < len(line) and columns < self._strip and line[position] in " \t":
            columns += 1 if line[position] == " " else _TAB - columns % _TAB
            position += 1
        return " " * (columns - self._strip) + line[position:]


def _indentation(line: str) -> tuple[int, int]:
    """Return the columns that `line` is indented by, and the index of its first other character."""
    columns = 0
    for position, character in enumerate(line):
        if character not in " \t":
            return columns, position
        columns += 1 if character == " " else _TAB - columns % _TAB
    return columns, len(line)


# Quote and list markers, task boxes, rules, underlines of headings, fences: a line of nothing else is undecided.
_MARKUP = r"[\s>*+\-=_~`#|:]*"
_MARKUP_ONLY = re.compile(rf"{_MARKUP}(?:\d{{1,9}}[.)]?{_MARKUP})?(?:\[[ xX]?\]?{_MARKUP})?")
_FENCE_START = re.compile(r"[\s>*+\-\d.)]*(?:```|~~~)")
_DELIMITER_ROW = re.compile(r"[\s|:\-]*")


def strip_undecided(text: str) -> str:
    """Return a live `text` without the last lines while they may still become another kind of block."""
    start = text.rfind("\n") + 1
    partial = text[start:]
    if partial and (_MARKUP_ONLY.fullmatch(partial) or _FENCE_START.match(partial)):
        text = text[:start]
    return _without_table_head(text)


def _without_table_head(text: str) -> str:
    """Hold back the first line of a table until the delimiter row below it makes it one."""
    lines = text[-2048:].split("\n")
    last = lines[-1]
    above = lines[-2] if len(lines) > 1 else ""
    if _is_row(last) and not _is_row(above):
        return text[: len(text) - len(last)]
    if _is_row(last) and last.count("`") % 2:
        # The inline code is open: a bar that follows belongs to it.
        return text[: text.rindex("`")]
    second_above = lines[-3] if len(lines) > 2 else ""
    if _is_row(above) and not _is_row(second_above) and _DELIMITER_ROW.fullmatch(last):
        return text[: len(text) - len(last) - len(above) - 1]
    return text


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")
