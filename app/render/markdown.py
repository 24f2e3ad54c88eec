"""Parse finished markdown into blocks."""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, fence, paragraph, table
from markdown_it.token import Token
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from app.render.blocks import BlockBuilder

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from markdown_it.rules_inline import StateInline

    from app.render.blocks import Leaf


_CLOSERS = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_DOLLAR = re.compile(r"\$(?![\s$])((?:\\[^\n]|[^$\\`\n])*?)(?<!\s)\$(?![\w$])")
_COMMAND = re.compile(r"\\(?:text|mathrm|operatorname|mathbf)\s*\{[^{}]*\}|\\[A-Za-z]+")
_PROSE = re.compile(r"[^\W\d_]{2,}\W*\s\W*[^\W\d_]{2,}")
_WORD = re.compile(r"[^\W\d_]{2,}")
_TEX = re.compile(r"\\[A-Za-z]|\^|_\{")


def formulas(md: MarkdownIt) -> None:
    """Teach `md` formulas: a "math" token, whose content is the source with its signs."""
    md.inline.ruler.before("escape", "math", _inline)
    md.block.ruler.before("table", "math", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def is_whole(content: str) -> bool:
    """Return whether `content` is one formula that stands alone, and nothing else."""
    closer = _CLOSERS.get(content[:2], "") if not content.startswith("\\(") else ""
    return bool(closer) and content.find(closer, 2) == len(content) - 2 and bool(content[2:-2].strip())


def _inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    source, start = state.src, state.pos
    if source[start] not in "\\$":
        return False
    end = _end(source, start, state.posMax)
    if end is None:
        if _is_certain(source, start, state.posMax) and "math_open" in state.env:
            # Shown as typed until it is closed.
            state.env["math_open"] = min(start, state.env["math_open"])
        return False
    if not silent:
        token = state.push("math", "", 0)
        token.content = source[start:end]
    state.pos = end
    return True


def _end(source: str, start: int, limit: int) -> int | None:
    """Return where the formula that begins at `start` ends; None when none begins there."""
    closer = _CLOSERS.get(source[start : start + 2])
    if closer is not None:
        found = source.find(closer, start + 2, limit)
        return found + 2 if found >= 0 and source[start + 2 : found].strip() else None
    match = _DOLLAR.match(source, start, limit)
    if match is None or (start and source[start - 1].isalnum()) or _is_money(match.group(1)):
        return None
    return match.end()


def _is_money(content: str) -> bool:
    """Return whether what stands between two dollar signs is prose."""
    bare = _COMMAND.sub(" ", content)
    return bool(_PROSE.search(bare)) or (content[0].isdigit() and bool(_WORD.search(bare)))


def _is_certain(source: str, start: int, limit: int) -> bool:
    """Return whether an unclosed sign can hardly mean anything but a formula."""
    if source[start : start + 2] in _CLOSERS:
        return True
    rest = source[start + 1 : limit]
    return source[start] == "$" and "$" not in rest and "\n" not in rest and bool(_TEX.search(rest))


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    r"""Parse lines from `$$` or `\[` on to the closing sign as one paragraph, whatever they look like."""
    if state.is_code_block(start):
        return False
    first = _line(state, start)
    closer = _CLOSERS.get(first[:2])
    if closer is None or first.startswith("\\("):
        return False
    last = _last_line(state, start, end, closer)
    if last is None:
        return False
    is_open = not _line(state, last).endswith(closer) or (last == start and len(first) < 4)
    if silent:
        return True
    state.line = last + 1
    token = state.push("paragraph_open", "p", 1)
    token.map = [start, state.line]
    token.meta = {"open": is_open}
    token = state.push("inline", "", 0)
    token.content = "\n".join(_line(state, line) for line in range(start, state.line))
    token.map = [start, state.line]
    token.children = []
    state.push("paragraph_close", "p", -1)
    return True


def _last_line(state: StateBlock, start: int, end: int, closer: str) -> int | None:
    """Return the line that the closing sign ends; in a growing text, the last one when there is none yet."""
    for line in range(start, end):
        text = _line(state, line)
        if not text or (line > start and state.sCount[line] < state.blkIndent):
            return None
        found = text.find(closer, 2 if line == start else 0)
        if found >= 0:
            return line if found + 2 == len(text) else None
    grows = state.env.get("live") and end >= len(state.bMarks) - 1
    return end - 1 if grows else None


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


# Deeper, markdown-it drops the text; from here on it is kept as a paragraph.
_MAX_LEVEL = 60
_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_BAR = re.compile(r"(?<!\\)\|")
_MASK = "\ufdd0"  # never in text that came through `intake`


@cache
def markdown() -> MarkdownIt:
    """Return the parser. Its fences say in `meta` whether they were closed and how their lines are indented."""
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": 100, "inline_definitions": True})
    md.enable(["table", "strikethrough"])
    md.use(gfm_autolink_plugin)
    md.use(formulas)
    md.block.ruler.before("table", "too_deep", _too_deep)
    md.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    md.block.ruler.at("fence", _fence, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    md.inline.ruler2.after("balance_pairs", "remember_unclosed", _remember_unclosed)
    return md


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    return state.level >= _MAX_LEVEL and paragraph(state, start, end, silent)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Parse a table in which a bar inside of code separates nothing."""
    source, before = state.src, len(state.tokens)
    if "|" not in source:
        return False
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


def _remember_unclosed(state: StateInline) -> None:
    """Note in the environment which emphasis was opened and not closed; runs behind "balance_pairs"."""
    state.env["unclosed"] = [
        chr(delimiter.marker)
        for delimiter in state.delimiters
        if delimiter.open and not delimiter.close and delimiter.end < 0
    ]


# The time for hostile text, such as a thousand opening brackets, grows with its length, up to the square.
_LONGEST = 2048
_TRIES = 8
# What may grow or close: signs of emphasis and code, an escape, the end of a link's text, an entity.
_DELIMITERS = "*_~`\\]"
_HALF_ENTITY = re.compile(r"&#?\w{0,31}")
_OPEN_TARGET = re.compile(r"(\[[^\[\]]*\])\([^()\n]*$")
_PAIRED = ("`", "**", "$$")
_BACKTICKS = re.compile("`+")


def parse_inline(content: str, env: dict[str, Any], *, is_open: bool) -> list[Token]:
    """Return the tokens of a block's text; `is_open` means that more of it may come."""
    if is_whole(content):
        return [Token("math", "", 0, content=content)]
    tokens: list[Token] = []
    while len(content) > _LONGEST:
        end = _piece_end(content[:_LONGEST])
        tokens += _parse(content[:end], env)
        content = content[end:].lstrip(" ") if content[end - 1] == "\n" else content[end:]
    return tokens + (_parse_open(content, env) if is_open else _parse(content, env))


def _parse(content: str, env: dict[str, Any]) -> list[Token]:
    tokens: list[Token] = []
    markdown().inline.parse(content, markdown(), env, tokens)
    return tokens


def _piece_end(window: str) -> int:
    """Return where to cut `window`: behind a line or sentence in which code and bold are closed, if there is one."""
    for separator in ("\n", ". ", " "):
        end = len(window)
        for _ in range(_TRIES):
            end = window.rfind(separator, 0, end)
            if end < 0:
                break
            piece = window[: end + len(separator)]
            if all(piece.count(sign) % 2 == 0 for sign in _PAIRED):
                return len(piece)
    return window.rfind(" ") + 1 or len(window)


def _parse_open(content: str, env: dict[str, Any]) -> list[Token]:
    """Parse text that is still growing, as if what it has opened ended here."""
    env["math_open"] = len(content)
    _parse(content, env)
    literal = content[env.pop("math_open") :]
    bare = _OPEN_TARGET.sub(r"\1()", _settled(content[: len(content) - len(literal)]))
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


def _settled(content: str) -> str:
    """Return `content` without an end that may still become part of something else."""
    if content.endswith("\\]"):
        return content
    content = content.rstrip(_DELIMITERS)
    start = content.rfind("&", len(content) - 32)
    return content[:start] if start >= 0 and _HALF_ENTITY.fullmatch(content, start) else content


def _closer(children: list[Token], unclosed: list[str]) -> str:
    """Return what would close the code or emphasis that is still open."""
    for child in children:
        if child.type == "text" and (run := _BACKTICKS.search(child.content)):
            return run.group()
    return "".join({"~": "~~"}.get(marker, marker) for marker in reversed(unclosed))


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
        reader = BlockBuilder()
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
        self, tokens: list[Token], growing: Token | None, reader: BlockBuilder | None = None
    ) -> tuple[Leaf, ...]:
        for token in tokens:
            if token.type == "inline":
                token.children = parse_inline(token.content, self._env, is_open=token is growing)
        return (reader or BlockBuilder()).of(tokens)


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
