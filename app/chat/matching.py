"""Text search in messages: match positions, and excerpts of search results. No Qt."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.chat.conversation import ChatSummary


_MARKUP = r"[*`~]{0,3}"
MOST = 10_000  # matches in one message


def spans(text: str, wanted: str, *, markup: bool) -> Iterator[tuple[int, int]]:
    """Yield start and end of each match; with `markup`, emphasis and code marks between letters are ignored."""
    pattern = _pattern(wanted, _MARKUP if markup else "")
    if pattern is None:
        return
    for number, match in enumerate(pattern.finditer(text)):
        if number == MOST:
            return
        yield match.span()


def _pattern(wanted: str, between: str) -> re.Pattern[str] | None:
    """Return a pattern for `wanted`, composed or decomposed; any white space matches any other."""
    words = unicodedata.normalize("NFC", wanted).split()
    if not words:
        return None
    return re.compile(rf"{between}\s+{between}".join(between.join(map(_letter, word)) for word in words), re.IGNORECASE)


def _letter(letter: str) -> str:
    apart = unicodedata.normalize("NFD", letter)
    return re.escape(letter) if apart == letter else f"(?:{re.escape(letter)}|{re.escape(apart)})"


_BEFORE, _AFTER = 24, 140  # characters of an excerpt
# Markdown around words, left out of excerpts.
_FOUND_MARKUP = re.compile(r"\*\*|__|`+")
_WORD = 16  # a cut word of at most this length at the start of an excerpt is left out


@dataclass(frozen=True, slots=True)
class Passage:
    """An excerpt of a line around a match; `marks`: start and end of each match; `message_id`: "" for a title."""

    text: str
    marks: tuple[tuple[int, int], ...]
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class FoundChat:
    """A chat that matches a search, with excerpts of its messages, the best match first."""

    chat: ChatSummary
    title: Passage
    passages: tuple[Passage, ...]


class SearchTerms:
    """A search for texts that contain every term, ignoring case, without wildcards."""

    def __init__(self, query: str) -> None:
        self.terms = tuple(dict.fromkeys(query.split()))
        longest_first = sorted(self.terms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)

    def marked(self, text: str, message_id: str = "") -> Passage:
        return Passage(text, tuple(match.span() for match in self._pattern.finditer(text)), message_id)

    def passage(self, text: str, message_id: str) -> Passage:
        """Return the excerpt of `text` around the first match."""
        first = self._pattern.search(text)
        at, end = first.span() if first else (0, 0)
        start = max(0, at - _BEFORE)
        if start:
            space = text.find(" ", start - 1, at)
            start = space + 1 if 0 <= space <= start + _WORD else start
        piece = text[start : end + _AFTER]
        if not any(_FOUND_MARKUP.search(term) for term in self.terms):
            piece = _FOUND_MARKUP.sub("", piece)
        piece = " ".join(piece.split())
        return self.marked(f"{'…' if start else ''}{piece}{'…' if end + _AFTER < len(text) else ''}", message_id)
