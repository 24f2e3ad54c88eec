"""Which lines of a growing message are shown.

A line that could still become a list, a heading, a fence or a table waits until it is known what it is, so that
nothing has to be taken back.
"""

from __future__ import annotations

import re

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
