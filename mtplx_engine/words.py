"""Times, sizes and sentences as people read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


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
