"""Markdown text to leaves: CommonMark with GitHub's tables, strikethrough, task items and bare links.

Raw HTML is text like any other, images are links to their source, and nothing is fetched.
"""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, fence, paragraph, table
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from app.render.leaves import Leaves
from app.render.preview import parse_open, remember_unclosed

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from markdown_it.token import Token

    from app.render.blocks import Leaf

# Deeper, markdown-it drops the text; from here on it is kept as a paragraph.
_MAX_LEVEL = 60
_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_BAR = re.compile(r"(?<!\\)\|")
_MASK = "\ufdd0"  # never in text that came through `intake`


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


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed text.

    Attributes:
        leaves: The leaves, each with the line it begins on.
        cut: The last line at which the text can be cut in two, if all its lines are complete.
        fence: The code fence that was still open at the end.
        references: Link definitions made in this text: label to target, title and lines.
    """

    leaves: list[tuple[int, Leaf]]
    cut: Cut
    fence: OpenFence | None
    references: dict[str, Any] = field(default_factory=dict)


def parse(
    text: str,
    known: MutableMapping[str, Any] | None = None,
    *,
    ordinal: int | None = None,
    live: bool = False,
) -> Parsed:
    """Parse clean text.

    Args:
        text: Markdown that came through `intake`.
        known: Link definitions made earlier.
        ordinal: Number of the first item when the text begins inside an ordered list.
        live: More will follow; what is open at the very end is shown as if it were closed.
    """
    md = _markdown()
    references: dict[str, Any] = {}
    env: dict[str, Any] = {"references": ChainMap(references, known or {})}
    tokens: list[Token] = []
    if text and not text.endswith("\n"):
        text += "\n"
    md.block.parse(text, md, env, tokens)
    if ordinal is not None and tokens and tokens[0].type == "ordered_list_open":
        tokens[0].attrSet("start", ordinal)
    growing = _growing(tokens, text.count("\n")) if live else None
    for token in tokens:
        if token is growing:
            token.children = parse_open(md, token.content, env)
        elif token.type == "inline":
            token.children = []
            md.inline.parse(token.content, md, env, token.children)
    return Parsed(Leaves().of(tokens), _last_cut(tokens), _open_fence(tokens), references)


def whole(text: str) -> tuple[Leaf, ...]:
    """Return the leaves of a finished message."""
    return tuple(leaf for _, leaf in parse(text).leaves)


@cache
def _markdown() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": 100, "inline_definitions": True})
    md.enable(["table", "strikethrough"])
    md.use(gfm_autolink_plugin)
    md.block.ruler.before("table", "too_deep", _too_deep)
    md.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    md.block.ruler.at("fence", _fence, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    md.inline.ruler2.after("balance_pairs", "remember_unclosed", remember_unclosed)
    return md


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    return state.level >= _MAX_LEVEL and paragraph(state, start, end, silent)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Parse a table in which a bar inside of code separates nothing."""
    source, before = state.src, len(state.tokens)
    if "masked" not in state.env:
        state.env["masked"] = _CODE.sub(lambda code: _BAR.sub(_MASK, code.group()), source)
    state.src = state.env["masked"]
    is_table = table(state, start, end, silent)
    state.src = source
    for token in state.tokens[before:]:
        token.content = token.content.replace(_MASK, "|")
    return is_table


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Parse a fence as markdown-it does, and note what its later lines must look like."""
    strip = state.sCount[start]
    if not fence(state, start, end, silent):
        return False
    if not silent:
        token = state.tokens[-1]
        lines = state.line - start - 1
        token.meta = {
            "closed": token.content.count("\n") < lines,
            "indent": state.blkIndent,
            "strip": strip,
        }
    return True


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
