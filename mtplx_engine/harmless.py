"""Text of others made harmless: for a terminal, and for a line that says something of ours."""

from __future__ import annotations

import re

from mtplx_engine.surrogates import replace_surrogates

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
