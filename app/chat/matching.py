"""Find words in chats. No Qt."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.chat.conversation import ChatSummary


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


_BEFORE, _AFTER = 24, 140
# What Markdown writes around words; not in the way of reading a line.
_FOUND_MARKUP = re.compile(r"\*\*|__|`+")
_WORD = 16  # a word that is cut off at the start of a passage is left out when it is no longer than this


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of one line with what was looked for in it.

    Attributes:
        text: As it is shown.
        marks: Start and end of each place in `text` that was looked for.
        message_id: The message that it is from; "" for a chat's title.
    """

    text: str
    marks: tuple[tuple[int, int], ...]
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class FoundChat:
    """A chat in which something was found.

    Attributes:
        chat: Its id, title and times.
        title: The title, with what was found in it.
        passages: From its messages, the best ones first.
    """

    chat: ChatSummary
    title: Passage
    passages: tuple[Passage, ...]


class Wanted:
    """What is looked for: a text that holds every term, whatever the case; all characters mean themselves."""

    def __init__(self, query: str) -> None:
        self.terms = tuple(dict.fromkeys(query.split()))
        longest_first = sorted(self.terms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)

    def marked(self, text: str, message_id: str = "") -> Passage:
        """Return the whole text with its marks."""
        return Passage(text, tuple(match.span() for match in self._pattern.finditer(text)), message_id)

    def passage(self, text: str, message_id: str) -> Passage:
        """Return the piece of `text` around the first place that was looked for."""
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
        return self.marked(
            f"{'…' if start else ''}{piece}{'…' if end + _AFTER < len(text) else ''}", message_id
        )
