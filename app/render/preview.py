"""What is shown of markdown whose end has not arrived: no half-typed sign, nothing that would be taken back.

`**bo` is bold at once, of `[a](http://b` only the "a" is shown, and a line that could still become a list, a heading, a
fence or a table waits until it is known what it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# Quote marks, list markers, task boxes, rules, underlines of headings, fences: a line of nothing else waits.
_SIGN = r"[\s>*+\-=_~`#|:]*"
_SIGNS = re.compile(rf"{_SIGN}(?:\d{{1,9}}[.)]?{_SIGN})?(?:\[[ xX]?\]?{_SIGN})?")
_FENCE = re.compile(r"[\s>*+\-\d.)]*(?:```|~~~)")
_DELIMITER_ROW = re.compile(r"[\s|:\-]*")
# Delimiters that may grow or close, an escape, an entity, the start of a link's target.
_DANGLING = re.compile(r"(?:[*_~`]+|\\|\]|&#?\w{0,31})$")
_OPEN_TARGET = re.compile(r"(\[[^\[\]]*\])\([^()\n]*$")
_BACKTICKS = re.compile("`+")


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


def remember_unclosed(state: StateInline) -> None:
    """Note in the environment which emphasis was opened and not closed; runs behind "balance_pairs"."""
    state.env["unclosed"] = [
        chr(delimiter.marker)
        for delimiter in state.delimiters
        if delimiter.open and not delimiter.close and delimiter.end < 0
    ]


def parse_open(md: MarkdownIt, content: str, env: dict[str, Any]) -> list[Token]:
    """Parse inline text that is still growing, as if what it has opened ended here."""
    bare = _OPEN_TARGET.sub(r"\1()", _DANGLING.sub("", content))
    closed = bare
    for _ in range(4):
        children: list[Token] = []
        md.inline.parse(closed, md, env, children)
        closer = _closer(children, env["unclosed"])
        if not closer:
            return children
        closed = closed.rstrip() + closer
    children = []
    md.inline.parse(bare, md, env, children)
    return children


def _closer(children: list[Token], unclosed: list[str]) -> str:
    """Return what would close the code or emphasis that is still open."""
    for child in children:
        if child.type == "text" and (run := _BACKTICKS.search(child.content)):
            return run.group()
    return "".join({"~": "~~"}.get(marker, marker) for marker in reversed(unclosed))
