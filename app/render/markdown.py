"""Parses markdown, finished or still growing, into blocks."""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markdown_it.token import Token

from app.render.block_builder import BlockBuilder
from app.render.markdown_options import is_lone_formula, markdown

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from app.render.blocks import Leaf


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


def sanitize(text: str) -> str:
    """Return `text` for parser and QTextDocument: newlines only, surrogates joined, unfit characters replaced."""
    if not _UNFIT.search(text):
        return text
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\r\n", "\n").translate(_REPLACED)


class Sanitizer:
    """Sanitizes text that arrives in pieces; a piece may end inside a surrogate pair or a CR LF."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Return the text that is certain by now, sanitized."""
        text = self._held + text
        undecided = text.endswith("\r") or "\ud800" <= text[-1:] <= "\udbff"
        self._held = text[-1] if undecided else ""
        return sanitize(text[:-1] if undecided else text)

    def finish(self) -> str:
        """Return what was held back: no more text follows."""
        held, self._held = self._held, ""
        return sanitize(held)


@dataclass(frozen=True, slots=True)
class OpenFence:
    """A code fence that is still open at the end of the text.

    Attributes:
        marker: Character of the fence; `length` of them opened it.
        indent: Columns that a line must be indented by to belong to the list item around the fence.
        strip: Columns of indentation that are removed from each line.
        line: Number of the opening line.
        quoted: Whether it is in a quote, where every line has a marker of its own.
    """

    marker: str
    length: int
    indent: int
    strip: int
    line: int
    quoted: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """A line before which no later text can change anything: the frozen head may end there.

    `ordinal` is the number of the item when the line begins a later one of an ordered list.
    """

    line: int
    ordinal: int | None = None


class ParsedMarkdown:
    """A text parsed into blocks; the text in the blocks is parsed when their leaves are asked for.

    Args:
        text: Sanitized markdown.
        known: Link definitions from earlier text.
        ordinal: Number of the first item when the text begins inside an ordered list.
        live: Whether more may follow, and close a formula that is open at the end.

    Attributes:
        cut: The last line at which the text can be cut in two, provided that all its lines are complete.
        references: Link definitions of this text: label to target, title and lines.
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
        return self._build(self._tokens, None)

    def lines(self) -> list[tuple[int, int]]:
        """Return for each leaf its first line and the one behind its last."""
        builder = BlockBuilder()
        self._build(self._tokens, None, builder)
        return builder.lines

    def live_leaves(self) -> tuple[Leaf, ...]:
        """Return all leaves of a live text: emphasis and code that are open at the very end count as closed."""
        return self._build(self._tokens, _growing(self._tokens, self._lines))

    def leaves_before_cut(self) -> tuple[Leaf, ...]:
        """Return the leaves that no later text can change."""
        behind = (at for at, token in enumerate(self._tokens) if token.map and token.map[0] >= self.cut.line)
        return self._build(self._tokens[: next(behind, len(self._tokens))], None)

    def _build(
        self, tokens: list[Token], growing: Token | None, builder: BlockBuilder | None = None
    ) -> tuple[Leaf, ...]:
        for token in tokens:
            if token.type == "inline":
                token.children = parse_inline(token.content, self._env, is_open=token is growing)
        return (builder or BlockBuilder()).build(tokens)


def leaf_lines(text: str) -> list[tuple[int, int]]:
    """Return the first line of each leaf of `whole(text)`, and the one behind its last."""
    return ParsedMarkdown(text, live=False).lines()


def parse_markdown(text: str) -> tuple[Leaf, ...]:
    """Return the leaves of a finished, sanitized message."""
    return ParsedMarkdown(text, live=False).leaves()


def _growing(tokens: list[Token], end: int) -> Token | None:
    """Return the inline token that ends at line `end`, where more may come; None when none does."""
    inlines = (token for token in reversed(tokens) if token.type == "inline" and token.content)
    last = next(inlines, None)
    return last if last is not None and last.map is not None and last.map[1] == end else None


def _last_cut(tokens: list[Token]) -> Cut:
    """Return the start of the last top-level block, or of its last item when it is a list."""
    cut = Cut(0)
    before: Token | None = None
    items = 0
    for token in tokens:
        if token.map is None or token.nesting < 0:
            continue
        if token.meta.get("open"):
            break  # without its closing delimiter it may turn out to continue the block before it
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


# The time for hostile text, such as a thousand opening brackets, grows with its length, up to the square.
_LONGEST_PIECE = 2048
_MAX_TRIES = 8
# At the end of a live text these may still open, close or grow: emphasis, code, an escape, the text of a link.
_DELIMITERS = "*_~`\\]"
_HALF_ENTITY = re.compile(r"&#?\w{0,31}")
_OPEN_TARGET = re.compile(r"(\[[^\[\]]*\])\([^()\n]*$")
_PAIRED = ("`", "**", "$$")
_BACKTICKS = re.compile("`+")


def parse_inline(content: str, env: dict[str, Any], *, is_open: bool) -> list[Token]:
    """Return the inline tokens of a block's text; `is_open` means that more of it may come."""
    if is_lone_formula(content):
        return [Token("math", "", 0, content=content)]
    tokens: list[Token] = []
    while len(content) > _LONGEST_PIECE:
        end = _piece_end(content[:_LONGEST_PIECE])
        tokens += _parse(content[:end], env)
        content = content[end:].lstrip(" ") if content[end - 1] == "\n" else content[end:]
    return tokens + (_parse_open(content, env) if is_open else _parse(content, env))


def _parse(content: str, env: dict[str, Any]) -> list[Token]:
    tokens: list[Token] = []
    markdown().inline.parse(content, markdown(), env, tokens)
    return tokens


def _piece_end(window: str) -> int:
    """Return where to cut `window`: behind a line or sentence with code and bold closed, if there is one."""
    for separator in ("\n", ". ", " "):
        end = len(window)
        for _ in range(_MAX_TRIES):
            end = window.rfind(separator, 0, end)
            if end < 0:
                break
            piece = window[: end + len(separator)]
            if all(piece.count(sign) % 2 == 0 for sign in _PAIRED):
                return len(piece)
    return window.rfind(" ") + 1 or len(window)


def _parse_open(content: str, env: dict[str, Any]) -> list[Token]:
    """Parse text that is still growing as if its open emphasis, code and links ended here."""
    env["math_open"] = len(content)
    _parse(content, env)
    literal = content[env.pop("math_open") :]
    bare = _OPEN_TARGET.sub(r"\1()", _strip_undecided(content[: len(content) - len(literal)]))
    if literal:
        literal = bare[len(bare.rstrip(" ")) :] + literal
        bare = bare.rstrip(" ")
    rest = [Token("text", "", 0, content=literal)] if literal else []
    closed = bare
    for _ in range(4):
        children = _parse(closed, env)
        closer = _closer(children, env["unclosed"])
        if not closer:
            return children + rest
        closed = closed.rstrip() + closer
    return _parse(bare, env) + rest


def _strip_undecided(content: str) -> str:
    """Return `content` without characters at its end that may still become part of markup."""
    if content.endswith("\\]"):
        return content
    content = content.rstrip(_DELIMITERS)
    start = content.rfind("&", len(content) - 32)
    return content[:start] if start >= 0 and _HALF_ENTITY.fullmatch(content, start) else content


def _closer(children: list[Token], unclosed: list[str]) -> str:
    """Return the delimiters that would close the code or emphasis that is still open."""
    for child in children:
        if child.type == "text" and (run := _BACKTICKS.search(child.content)):
            return run.group()
    return "".join({"~": "~~"}.get(marker, marker) for marker in reversed(unclosed))
