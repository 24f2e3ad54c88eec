"""Sizes and times in words, and text of others made safe to show on one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Sentence:
    """English words with named gaps, and what fills them: commands print it as it is, a window translates it.

    One without words is false; it stands for nothing to say.

    Attributes:
        template: As in "{count} tokens", which is what a translation is looked up by.
        values: What stands in each gap; sentences are translated too.
    """

    template: str
    values: tuple[tuple[str, str | int | Sentence], ...] = ()

    def filled(self, **values: str | int | Sentence) -> Sentence:
        """Return it with other values in its gaps."""
        return Sentence(self.template, tuple(values.items()))

    def text(self, translate: Callable[[str], str] = str) -> str:
        """Return it as text, every template of it translated."""
        gaps = {
            name: value.text(translate) if isinstance(value, Sentence) else value
            for name, value in self.values
        }
        return translate(self.template).format(**gaps) if self.template else ""

    def __str__(self) -> str:
        return self.text()

    def __bool__(self) -> bool:
        return bool(self.template)


NOTHING = Sentence("")


def sentence(template: str, /, **values: str | int | Sentence) -> Sentence:
    """Return a sentence; its template is written where it is called, so that translators find it."""
    return Sentence(template, tuple(values.items()))


def joined(parts: Iterable[str | Sentence], separator: str = ", ") -> Sentence:
    """Return a list of parts as one sentence, without those that say nothing."""
    values = tuple((f"part{number}", part) for number, part in enumerate(each for each in parts if each))
    return Sentence(separator.join(f"{{{name}}}" for name, _ in values), values)


def percent(share: float) -> str:
    """Return a share of 0..1 as in "71 %"."""
    return f"{share:.0%}".replace("%", " %")


def duration(seconds: float) -> str:
    """Return a time as people say it: "45 s", "12 min", "3 h 20 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def size(count: int) -> str:
    """Return bytes in the powers of ten that disks are sold by: "2.9 GB", "214 GB", "430 MB", "12 kB", "800 bytes"."""
    if count >= 99_500_000_000:
        return f"{count / 1e9:,.0f} GB"
    if count >= 999_500_000:
        return f"{count / 1e9:.1f} GB"
    if count >= 999_500:
        return f"{count / 1e6:.0f} MB"
    return f"{count / 1e3:.0f} kB" if count >= 1000 else f"{count} bytes"


def replace_surrogates(text: str) -> str:
    """Return `text` with every lone surrogate replaced by U+FFFD, and pairs joined into the character they mean."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What is not seen, and turns the order of what is."""

# Escape sequences could rename the window, move the cursor or fake a prompt.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAKS = re.compile(r"[\n\u2028\u2029]+")
_UNSEEN = re.compile(f"[{''.join(sorted(BIDI_CONTROLS))}\u200b\u2060-\u2064\ufeff]")
_ELLIPSIS = "…"


def harmless(text: str) -> str:
    """Return a text without control characters; line ends and tabs stay."""
    return _CONTROLS.sub("", text)


def unbroken(text: str) -> str:
    """Return a text as one line in which all that is there is seen, and in the order in which it is written."""
    return _UNSEEN.sub("", harmless(_BREAKS.sub(" ", replace_surrogates(text))))


def one_line(text: str, longest: int | None = None) -> str:
    """Return what somebody else wrote, fit to be quoted in a sentence or a row of ours.

    Args:
        text: Anything.
        longest: At most so many characters; the middle is left out of more, since the end of a name says what it is.
    """
    line = " ".join(unbroken(text).split())
    if longest is None or len(line) <= longest:
        return line
    end = longest // 3
    return f"{line[: longest - end - 1]}{_ELLIPSIS}{line[len(line) - end :]}"


Report = Callable[[float, str], None]
"""Called with a fraction 0..1 and what is being done; words after a comma are details that change often."""

_CLEAR_LINE = "\r\x1b[K"


class ProgressLine:
    """A `Report` that writes to a stream.

    Args:
        stream: Usually stderr. On a terminal one line is rewritten; elsewhere a line is added for each new
            phase and for each further tenth, so that a log stays short.

    Attributes:
        terminal: Whether the stream is a terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.terminal = stream.isatty()
        self._last = ""

    def __call__(self, fraction: float, phase: str) -> None:
        """Show that `fraction` of the whole is done and `phase` is going on."""
        phase = harmless(phase)
        text = f"{phase} ({fraction:.0%})"
        if self.terminal:
            if text != self._last:
                self._stream.write(_CLEAR_LINE + text)
                self._stream.flush()
            self._last = text
            return
        step = f"{phase.partition(',')[0]} {int(fraction * 10)}"
        if step != self._last:
            self._stream.write(text + "\n")
            self._stream.flush()
        self._last = step

    def close(self) -> None:
        """Take the line away again; does nothing where lines stay."""
        if self.terminal and self._last:
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
        self._last = ""
