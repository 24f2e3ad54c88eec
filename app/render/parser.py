"""Markdown text to leaves, and where it may be cut in two. Images are links to their source."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.render.dialect import markdown
from app.render.inline import parse_inline
from app.render.leaves import Leaves

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from markdown_it.token import Token

    from app.render.blocks import Leaf


@dataclass(frozen=True, slots=True)
class OpenFence:
    """A code fence that ends the text without having been closed.

    Attributes:
        marker: The character of the fence; `length` of them opened it.
        indent: Columns a line must be indented by to belong to the list item around the fence.
        strip: Columns of indentation that are taken off each line.
        line: Number of the opening line.
        quoted: Whether it sits in a quote, where every line has a mark of its own.
    """

    marker: str
    length: int
    indent: int
    strip: int
    line: int
    quoted: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """A line before which everything is final.

    Attributes:
        line: Its number.
        ordinal: When the line is a later item of an ordered list, the item's number.
    """

    line: int
    ordinal: int | None = None


class Parsed:
    """A text parsed into blocks; what stands in the blocks is parsed when their leaves are asked for.

    Args:
        text: Markdown that came through `intake`.
        known: Link definitions made earlier.
        ordinal: Number of the first item when the text begins inside an ordered list.
        live: More may follow, and close a formula that is open at the end.

    Attributes:
        cut: The last line at which the text can be cut in two, if all its lines are complete.
        fence: The code fence that was still open at the end.
        references: Link definitions made in this text: label to target, title and lines.
    """

    def __init__(
        self,
        text: str,
        known: MutableMapping[str, Any] | None = None,
        ordinal: int | None = None,
        *,
        live: bool = True,
    ) -> None:
        if text and not text.endswith("\n"):
            text += "\n"
        self.references: dict[str, Any] = {}
        self._env: dict[str, Any] = {"references": ChainMap(self.references, known or {}), "live": live}
        self._lines = text.count("\n")
        self._tokens: list[Token] = []
        markdown().block.parse(text, markdown(), self._env, self._tokens)
        if ordinal is not None and self._tokens and self._tokens[0].type == "ordered_list_open":
            self._tokens[0].attrSet("start", ordinal)
        self.cut = _last_cut(self._tokens)
        self.fence = _open_fence(self._tokens)

    def leaves(self) -> tuple[Leaf, ...]:
        """Return all leaves."""
        return self._read(self._tokens, None)

    def lines(self) -> list[tuple[int, int]]:
        """Return the lines of all leaves."""
        reader = Leaves()
        self._read(self._tokens, None, reader)
        return reader.lines

    def live_leaves(self) -> tuple[Leaf, ...]:
        """Return all leaves; more will follow, and what is open at the very end is shown as if it were closed."""
        return self._read(self._tokens, _growing(self._tokens, self._lines))

    def leaves_before_cut(self) -> tuple[Leaf, ...]:
        """Return the leaves that will not change any more."""
        behind = (at for at, token in enumerate(self._tokens) if token.map and token.map[0] >= self.cut.line)
        return self._read(self._tokens[: next(behind, len(self._tokens))], None)

    def _read(
        self, tokens: list[Token], growing: Token | None, reader: Leaves | None = None
    ) -> tuple[Leaf, ...]:
        for token in tokens:
            if token.type == "inline":
                token.children = parse_inline(token.content, self._env, is_open=token is growing)
        return (reader or Leaves()).of(tokens)


def leaf_lines(text: str) -> list[tuple[int, int]]:
    """Return the first line of each leaf of `whole(text)`, and the one behind its last."""
    return Parsed(text, live=False).lines()


def whole(text: str) -> tuple[Leaf, ...]:
    """Return the leaves of a finished message."""
    return Parsed(text, live=False).leaves()


def _growing(tokens: list[Token], end: int) -> Token | None:
    """Return the inline text that reaches line `end`, where more may come; None when no text does."""
    inlines = (token for token in reversed(tokens) if token.type == "inline" and token.content)
    last = next(inlines, None)
    return last if last is not None and last.map is not None and last.map[1] == end else None


def _last_cut(tokens: list[Token]) -> Cut:
    """Return the start of the last top-level block, or of the last item when that block is a list."""
    cut = Cut(0)
    before: Token | None = None
    items = 0
    for token in tokens:
        if token.map is None or token.nesting < 0:
            continue
        if token.meta.get("open"):
            break  # without its closing sign it may be part of what is before it
        if token.level == 0:
            loose = before is None or before.type != "definition" or (before.map or [0, 0])[1] < token.map[0]
            if loose or token.type != "paragraph_open":
                # Text right below a definition may still turn out to be its title.
                cut = Cut(token.map[0])
            if token.type == "fence" and token.meta["closed"]:
                cut = Cut(token.map[1])
            before, items = token, 0
        elif token.type == "list_item_open" and token.level == 1 and before is not None:
            if items:
                first = int(before.attrs.get("start", 1))
                cut = Cut(token.map[0], first + items if before.tag == "ol" else None)
            items += 1
    return cut


def _open_fence(tokens: list[Token]) -> OpenFence | None:
    quoted = False
    for token in reversed(tokens):
        quoted = quoted or token.type == "blockquote_close"
        if token.nesting == 0:
            break
    else:
        return None
    if token.type != "fence" or token.meta["closed"] or token.map is None:
        return None
    return OpenFence(
        marker=token.markup[0],
        length=len(token.markup),
        indent=token.meta["indent"],
        strip=token.meta["strip"],
        line=token.map[0],
        quoted=quoted,
    )
