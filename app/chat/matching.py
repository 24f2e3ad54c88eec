"""Where words stand in messages: in any case and script, and across the markup of an answer."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKUP = r"[*`~]{0,3}"
MOST = 10_000  # in one message; more than that nobody goes through


def spans(text: str, wanted: str, *, markup: bool) -> Iterator[tuple[int, int]]:
    """Yield where `wanted` stands in `text`; with `markup`, signs of emphasis and code between letters are nothing."""
    pattern = _pattern(wanted, _MARKUP if markup else "")
    if pattern is None:
        return
    for number, match in enumerate(pattern.finditer(text)):
        if number == MOST:
            return
        yield match.span()


def _pattern(wanted: str, between: str) -> re.Pattern[str] | None:
    """Return what finds `wanted` composed or decomposed; white space of any kind is one."""
    words = unicodedata.normalize("NFC", wanted).split()
    if not words:
        return None
    return re.compile(rf"{between}\s+{between}".join(_word(word, between) for word in words), re.IGNORECASE)


def _word(word: str, between: str) -> str:
    return between.join(_letter(letter) for letter in word)


def _letter(letter: str) -> str:
    apart = unicodedata.normalize("NFD", letter)
    return re.escape(letter) if apart == letter else f"(?:{re.escape(letter)}|{re.escape(apart)})"
