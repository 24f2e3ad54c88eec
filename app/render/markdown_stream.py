"""Markdown that arrives piece by piece: what is finished is given once, only the tail is parsed again.

Text is cut where a later top-level block, or a later item of a top-level list, begins on a complete line; what
stands before a cut never changes, with these exceptions, which `finish` puts right:

- a link whose definition comes more than a block later,
- text of a list or quote that runs on for more than `_LONG_TAIL` characters shows its newest part unparsed for
  a moment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.render.blocks import Code
from app.render.fence import FenceReader
from app.render.intake import Intake
from app.render.parser import Parsed, whole
from app.render.preview import visible

if TYPE_CHECKING:
    from app.render.blocks import Leaf

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
        self._intake = Intake()
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
