r"""Where formulas are in markdown: `\( \)`, `\[ \]`, `$$ $$` and `$ $`, money and shell variables left alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

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
