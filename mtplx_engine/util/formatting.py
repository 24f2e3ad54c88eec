"""Text for the user: translatable sentences, sizes and times, untrusted text made safe, a progress line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Sentence:
    """An English sentence with placeholders and their values: commands print it as it is, the window translates it.

    An empty one is false; it stands for no text at all.

    Attributes:
        template: As in "{count} tokens"; translations are found by it.
        values: The value of each placeholder; sentences among them are translated too.
    """

    template: str
    values: tuple[tuple[str, str | int | Sentence], ...] = ()

    def filled(self, **values: str | int | Sentence) -> Sentence:
        return Sentence(self.template, tuple(values.items()))

    def text(self, translate: Callable[[str], str] = str) -> str:
        """Return the sentence as text, every template in it translated."""
        values = {name: value.text(translate) if isinstance(value, Sentence) else value for name, value in self.values}
        return translate(self.template).format(**values) if self.template else ""

    def __str__(self) -> str:
        return self.text()

    def __bool__(self) -> bool:
        return bool(self.template)


NOTHING = Sentence("")


def sentence(template: str, /, **values: str | int | Sentence) -> Sentence:
    """Return a sentence; its template is written where it is called, so that translators find it."""
    return Sentence(template, tuple(values.items()))


def joined(parts: Iterable[str | Sentence], separator: str = ", ") -> Sentence:
    """Return parts joined to one sentence, without empty ones."""
    values = tuple((f"part{number}", part) for number, part in enumerate(each for each in parts if each))
    return Sentence(separator.join(f"{{{name}}}" for name, _ in values), values)


def percent(share: float) -> str:
    """Return a share of 0..1 as text, as in "71 %"."""
    return f"{share:.0%}".replace("%", " %")


def duration(seconds: float) -> str:
    """Return a duration as text: "45 s", "12 min", "3 h 20 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def size(count: int) -> str:
    """Return bytes as text, in powers of ten: "2.9 GB", "214 GB", "430 MB", "12 kB", "800 bytes"."""
    if count >= 99_500_000_000:
        return f"{count / 1e9:,.0f} GB"
    if count >= 999_500_000:
        return f"{count / 1e9:.1f} GB"
    if count >= 999_500:
        return f"{count / 1e6:.0f} MB"
    return f"{count / 1e3:.0f} kB" if count >= 1000 else f"{count} bytes"


def replace_surrogates(text: str) -> str:
    """Return `text` with every lone surrogate replaced by U+FFFD, and pairs joined to their character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Invisible characters that change the order in which text is shown."""

# Escape sequences could rename the window, move the cursor or fake a prompt.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAKS = re.compile(r"[\n\u2028\u2029]+")
_UNSEEN = re.compile(f"[{''.join(sorted(BIDI_CONTROLS))}\u200b\u2060-\u2064\ufeff]")


def harmless(text: str) -> str:
    """Return a text without control characters; line breaks and tabs stay."""
    return _CONTROLS.sub("", text)


def unbroken(text: str) -> str:
    """Return a text on one line without invisible characters and changes of direction."""
    return _UNSEEN.sub("", harmless(_BREAKS.sub(" ", replace_surrogates(text))))


def one_line(text: str, longest: int | None = None) -> str:
    """Return untrusted text on one line, fit to be quoted in a sentence or a row.

    Of more than `longest` characters the middle is left out, since the end of a name matters.
    """
    line = " ".join(unbroken(text).split())
    if longest is None or len(line) <= longest:
        return line
    end = longest // 3
    return f"{line[: longest - end - 1]}…{line[len(line) - end :]}"


Report = Callable[[float, str], None]
"""Called with a fraction 0..1 and the present phase as text; details that change often follow a comma."""

_CLEAR_LINE = "\r\x1b[K"


class ProgressLine:
    """A `Report` that writes to a stream, usually stderr.

    On a terminal one line is rewritten; elsewhere a line is added for each new phase and for each further tenth, so
    that a log stays short.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.terminal = stream.isatty()
        self._last = ""

    def __call__(self, fraction: float, phase: str) -> None:
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
        """Erase the line on a terminal."""
        if self.terminal and self._last:
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
        self._last = ""
