"""From token ids to text as it is decoded, with stop strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_INCOMPLETE = "\ufffd"  # what a decoder gives for the bytes of an unfinished character


class Detokenizer:
    """Turns tokens into text piece by piece; the pieces join to the decoding of the whole.

    Decoding is not token by token: a character may span tokens, and some tokenizers drop a leading space. So each
    piece is the difference of two decodings that start at the same, earlier token. What ends the text and may still
    become a character waits, however many tokens it takes: a token can end one character and begin the next.

    Args:
        decode: Token ids -> text.
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
    """Watches a text stream for strings that end it.

    Args:
        stops: The strings; empty ones are ignored.

    Attributes:
        found: Whether a stop string came; nothing follows it.
    """

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
        """Return what was held back, none of which turned into a stop string."""
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
    """The text of an answer while it is being decoded.

    Args:
        decode: Token ids -> text.
        stops: Strings that end the answer.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str]) -> None:
        self._detokenizer = Detokenizer(decode)
        self._stops = StopStrings(stops)
        self._starts: list[int] = []  # where in the text each token begins
        self._accepted = (
            bytearray()
        )  # of each character, whether the token that ended it was an accepted draft
        self._released = 0

    @property
    def cut(self) -> int:
        """How many of the newest tokens lie wholly at or past the stop string, so that nothing of them is shown."""
        return sum(start >= self._released for start in self._starts) if self.stopped else 0

    @property
    def stopped(self) -> bool:
        """Whether a stop string came."""
        return self._stops.found

    def push(self, token: int, *, accepted: bool = False) -> str:
        """Add a token of the answer, maybe an accepted draft; return the text that became certain."""
        piece = self._detokenizer.push(token)
        self._starts.append(len(self._accepted))
        self._accepted += bytes([accepted]) * len(piece)
        text = self._stops.push(piece)
        self._released += len(text)
        return text

    def accepted(self, start: int, length: int) -> bytes:
        """Return for each of so many characters of the text 1 if it came from an accepted draft, else 0."""
        return bytes(self._accepted[start : start + length])

    def finish(self) -> str:
        """Return the text that was held back; the bytes of a character that never became whole are dropped."""
        return self._stops.finish()
