"""The dialect of markdown: CommonMark with tables, strikethrough, autolinks and formulas, as a markdown-it parser."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, fence, paragraph, table
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline


# Deeper, markdown-it drops the text; from here on it is kept as a paragraph.
_DEEPEST = 60
_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_BAR = re.compile(r"(?<!\\)\|")
_MASK = "\ufdd0"  # never in sanitized text


@cache
def markdown() -> MarkdownIt:
    """Return the parser.

    Beyond CommonMark it makes "math" tokens, whose content is a formula with its delimiters. The `meta` of a fence says
    whether it was closed and how its lines are indented; a paragraph with an unclosed formula has "open" there. In the
    environment the parser expects "live" while more text may come, and leaves "unclosed", the emphasis that was opened
    but not closed.
    """
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": 100, "inline_definitions": True})
    md.enable(["table", "strikethrough"])
    md.use(gfm_autolink_plugin)
    md.inline.ruler.before("escape", "math", _inline_math)
    md.block.ruler.before("table", "math", _block_math, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    md.block.ruler.before("table", "too_deep", _too_deep)
    md.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    md.block.ruler.at("fence", _fence, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    md.inline.ruler2.after("balance_pairs", "remember_unclosed", _remember_unclosed)
    return md


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    return state.level >= _DEEPEST and paragraph(state, start, end, silent)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Parse a table in which a bar inside inline code separates no cells."""
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
    """Parse a fence as markdown-it does, and note how its later lines must be indented."""
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
    """Note in the environment which emphasis was opened and not closed."""
    state.env["unclosed"] = [
        chr(delimiter.marker)
        for delimiter in state.delimiters
        if delimiter.open and not delimiter.close and delimiter.end < 0
    ]


_CLOSERS = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_DOLLAR = re.compile(r"\$(?![\s$])((?:\\[^\n]|[^$\\`\n])*?)(?<!\s)\$(?![\w$])")
_COMMAND = re.compile(r"\\(?:text|mathrm|operatorname|mathbf)\s*\{[^{}]*\}|\\[A-Za-z]+")
_PROSE = re.compile(r"[^\W\d_]{2,}\W*\s\W*[^\W\d_]{2,}")
_WORD = re.compile(r"[^\W\d_]{2,}")
_TEX = re.compile(r"\\[A-Za-z]|\^|_\{")


def _inline_math(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    source, start = state.src, state.pos
    if source[start] not in "\\$":
        return False
    end = _math_end(source, start, state.posMax)
    if end is None:
        if _is_surely_math(source, start, state.posMax) and "math_open" in state.env:
            # Shown as typed until it is closed.
            state.env["math_open"] = min(start, state.env["math_open"])
        return False
    if not silent:
        token = state.push("math", "", 0)
        token.content = source[start:end]
    state.pos = end
    return True


def _math_end(source: str, start: int, limit: int) -> int | None:
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
    bare = _COMMAND.sub(" ", content)
    return bool(_PROSE.search(bare)) or (content[0].isdigit() and bool(_WORD.search(bare)))


def _is_surely_math(source: str, start: int, limit: int) -> bool:
    """Return whether an unclosed delimiter can hardly mean anything but a formula."""
    if source[start : start + 2] in _CLOSERS:
        return True
    rest = source[start + 1 : limit]
    return source[start] == "$" and "$" not in rest and "\n" not in rest and bool(_TEX.search(rest))


def _block_math(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    r"""Parse lines from `$$` or `\[` on to the closing delimiter as one paragraph, whatever is in them."""
    if state.is_code_block(start):
        return False
    first = _line_text(state, start)
    closer = _CLOSERS.get(first[:2])
    if closer is None or first.startswith("\\("):
        return False
    last = _last_math_line(state, start, end, closer)
    if last is None:
        return False
    is_open = not _line_text(state, last).endswith(closer) or (last == start and len(first) < 4)
    if silent:
        return True
    state.line = last + 1
    token = state.push("paragraph_open", "p", 1)
    token.map = [start, state.line]
    token.meta = {"open": is_open}
    token = state.push("inline", "", 0)
    token.content = "\n".join(_line_text(state, line) for line in range(start, state.line))
    token.map = [start, state.line]
    token.children = []
    state.push("paragraph_close", "p", -1)
    return True


def _last_math_line(state: StateBlock, start: int, end: int, closer: str) -> int | None:
    """Return the line that the closing delimiter ends; in live text, the last one while there is none."""
    for line in range(start, end):
        text = _line_text(state, line)
        if not text or (line > start and state.sCount[line] < state.blkIndent):
            return None
        found = text.find(closer, 2 if line == start else 0)
        if found >= 0:
            return line if found + 2 == len(text) else None
    grows = state.env.get("live") and end >= len(state.bMarks) - 1
    return end - 1 if grows else None


def _line_text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def is_lone_formula(content: str) -> bool:
    """Return whether `content` is exactly one display formula."""
    closer = _CLOSERS.get(content[:2], "") if not content.startswith("\\(") else ""
    return bool(closer) and content.find(closer, 2) == len(content) - 2 and bool(content[2:-2].strip())
