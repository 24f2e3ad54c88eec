"""The markdown that is understood: CommonMark with GitHub's tables, strikethrough and bare links, and formulas.

Raw HTML is text like any other.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, fence, paragraph, table
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from app.render.formula_syntax import formulas

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline

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
