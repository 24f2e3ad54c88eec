"""Streaming detokenization: from token ids to text as it is decoded, with stop strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_INCOMPLETE = "\ufffd"  # the decoder's output for the bytes of an incomplete character


class Detokenizer:
    """Turns tokens into text piece by piece; the pieces join to the decoding of the whole sequence.

    Tokens cannot be decoded one by one: a character may span tokens, and some tokenizers drop a leading space. So each
    piece is the difference of two decodings that start at the same, earlier token. An incomplete character at the end
    is held back, however many tokens it takes: a token can complete one character and start the next.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._window: list[int] = []
        self._read = 0
        self._shown = 0

    def push(self, token: int) -> str:
        """Add a token; return the text that became certain, possibly none."""
        self._window.append(token)
        text = self._decode(self._window)
        certain = text.rstrip(_INCOMPLETE)
        piece = certain[self._shown :]
        self._shown = max(self._shown, len(certain))
        if certain == text:
            self._window = self._window[self._read :]
            self._read = len(self._window)
            self._shown = len(self._decode(self._window))
        return piece


class StopStrings:
    """Finds stop strings in a text stream and ends it there; empty ones are ignored."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.found = False

    def push(self, text: str) -> str:
        """Add text; return what can no longer be part of a stop string."""
        self._held += text
        found = [(at + len(stop), at) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if found:  # the first to be complete, so that it does not matter in which pieces the text came
            self.found = True
            return self._release(min(found)[1], rest="")
        keep = max((_overlap(self._held, stop) for stop in self._stops), default=0)
        return self._release(len(self._held) - keep, rest=self._held[len(self._held) - keep :])

    def finish(self) -> str:
        """Return the text held back, which is no stop string after all."""
        return self._release(len(self._held), rest="")

    def _release(self, length: int, rest: str) -> str:
        text, self._held = self._held[:length], rest
        return text


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest proper prefix of `stop` that ends `text`."""
    for length in range(min(len(stop) - 1, len(text)), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0


class TextStream:
    """The text of an answer while it is being decoded, up to the first of its stop strings."""

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str]) -> None:
        self._detokenizer = Detokenizer(decode)
        self._stops = StopStrings(stops)
        self._starts: list[int] = []  # the position in the text of each token's first character
        self._accepted = bytearray()  # for each character, whether the token that completed it was an accepted draft
        self._released = 0

    @property
    def cut(self) -> int:
        """How many of the newest tokens lie entirely in or past the stop string."""
        return sum(start >= self._released for start in self._starts) if self.stopped else 0

    @property
    def stopped(self) -> bool:
        return self._stops.found

    def push(self, token: int, *, accepted: bool = False) -> str:
        """Add a token of the answer; return the text that became certain."""
        piece = self._detokenizer.push(token)
        self._starts.append(len(self._accepted))
        self._accepted += bytes([accepted]) * len(piece)
        text = self._stops.push(piece)
        self._released += len(text)
        return text

    def accepted(self, start: int, length: int) -> bytes:
        """Return for each of `length` characters of the text 1 if it came from an accepted draft, else 0."""
        return bytes(self._accepted[start : start + length])

    def finish(self) -> str:
        """Return the text that was held back; the bytes of an incomplete character are dropped."""
        return self._stops.finish()
