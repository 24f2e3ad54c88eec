"""Parse markdown while it streams: finished blocks frozen, only the tail parsed again."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.render.blocks import Code
from app.render.markdown import Parsed, whole

if TYPE_CHECKING:
    from app.render.blocks import Leaf
    from app.render.markdown import OpenFence


# NUL and surrogates are no characters; the others mean paragraph, frame and object to a QTextDocument.
_UNFIT = re.compile("[\x00\r\u2029\ufdd0\ufdd1\ufffc\ud800-\udfff]")
_REPLACED = str.maketrans(
    {
        "\x00": "\ufffd",
        "\r": "\n",
        "\u2029": "\n",
        "\ufdd0": "\ufffd",
        "\ufdd1": "\ufffd",
        "\ufffc": "\ufffd",
    }
)


def clean(text: str) -> str:
    """Return `text` with line ends as newlines, halves of characters joined, and unfit ones replaced."""
    if not _UNFIT.search(text):
        return text
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\r\n", "\n").translate(_REPLACED)


class Sanitizer:
    """Cleans text that arrives in pieces; a piece may end between two halves of a character or line end."""

    def __init__(self) -> None:
        self._held = ""

    def accept(self, text: str) -> str:
        """Return what is certain now, cleaned."""
        text = self._held + text
        undecided = text.endswith("\r") or "\ud800" <= text[-1:] <= "\udbff"
        self._held = text[-1] if undecided else ""
        return clean(text[:-1] if undecided else text)

    def rest(self) -> str:
        """Return what was held back: nothing follows any more."""
        held, self._held = self._held, ""
        return clean(held)


_TAB = 4


class FenceReader:
    """Reads the text behind the opening line of a fence.

    The fence may sit in list items, not in a quote. When `read` finds its end, or something that only the
    parser can tell, it says so, and the parser takes over.
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
        """Return the code that `text` adds, or None when the fence has ended before the end of `text`."""
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
    """Return how many columns `line` is indented by, and where its first other character is."""
    columns = 0
    for position, character in enumerate(line):
        if character not in " \t":
            return columns, position
        columns += 1 if character == " " else _TAB - columns % _TAB
    return columns, len(line)


# Quote marks, list markers, task boxes, rules, underlines of headings, fences: a line of nothing else waits.
_SIGN = r"[\s>*+\-=_~`#|:]*"
_SIGNS = re.compile(rf"{_SIGN}(?:\d{{1,9}}[.)]?{_SIGN})?(?:\[[ xX]?\]?{_SIGN})?")
_FENCE = re.compile(r"[\s>*+\-\d.)]*(?:```|~~~)")
_DELIMITER_ROW = re.compile(r"[\s|:\-]*")


def visible(text: str) -> str:
    """Return the part of a live `text` whose meaning as blocks is known."""
    start = text.rfind("\n") + 1
    partial = text[start:]
    if partial and (_SIGNS.fullmatch(partial) or _FENCE.match(partial)):
        text = text[:start]
    return _without_table_head(text)


def _without_table_head(text: str) -> str:
    """Hold back the first line of a table until the line below it has made it one."""
    lines = text[-2048:].split("\n")
    last = lines[-1]
    above = lines[-2] if len(lines) > 1 else ""
    if _is_row(last) and not _is_row(above):
        return text[: len(text) - len(last)]
    if _is_row(last) and last.count("`") % 2:
        # A bar may follow that belongs to the code.
        return text[: text.rindex("`")]
    second_above = lines[-3] if len(lines) > 2 else ""
    if _is_row(above) and not _is_row(second_above) and _DELIMITER_ROW.fullmatch(last):
        return text[: len(text) - len(last) - len(above) - 1]
    return text


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


# From here on the tail is parsed again only when it has grown by a part: the cost per character is bounded.
_LONG_TAIL = 4096
_GROWTH = 32


@dataclass(frozen=True, slots=True)
class Update:
    """What a piece of text changed.

    Attributes:
        frozen: Leaves that will not change any more; they follow those frozen before.
        tail: The leaves behind all frozen ones, in place of the former tail; None leaves the tail as it was.
        appended: Text to add to the last leaf of the tail.
    """

    frozen: tuple[Leaf, ...] = ()
    tail: tuple[Leaf, ...] | None = None
    appended: str = ""


class StreamingMarkdown:
    """A message that is still being written."""

    def __init__(self) -> None:
        self._intake = Sanitizer()
        self._pieces: list[str] = []
        self._tail = ""
        self._parsed_length = 0
        self._references: dict[str, Any] = {}
        self._ordinal: int | None = None
        self._fence: FenceReader | None = None
        self._fence_pieces: list[str] = []

    def feed(self, text: str) -> Update:
        """Take the next piece of the message."""
        text = self._intake.accept(text)
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
        """Return all leaves of the message, parsed as a whole; the stream is over."""
        self._pieces.append(self._intake.rest())
        return whole("".join(self._pieces))

    def source(self) -> str:
        """Return the text so far."""
        return "".join(self._pieces)

    def _freeze(self) -> tuple[Leaf, ...]:
        """Cut the tail where its last block begins, and return the leaves before the cut."""
        complete = self._tail[: self._tail.rfind("\n") + 1]
        parsed = Parsed(complete, self._references, self._ordinal)
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
        parsed = Parsed(visible(self._tail), self._references, self._ordinal)
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
