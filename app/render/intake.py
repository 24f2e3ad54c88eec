"""The edge where text of unknown making becomes text that can be parsed and laid out."""

from __future__ import annotations

import re

# NUL and surrogates are no characters; the others mean paragraph, frame and object to a QTextDocument.
_UNFIT = re.compile("[\x00\r\u2029\ufdd0\ufdd1\ufffc\ud800-\udfff]")
_REPLACED = str.maketrans(
    {
        "\x00": "\ufffd",
        "\r": "\n",
        "\u2029": "\n",
        "\ufdd0": "\ufffd",
        "\ufdd1": "\ufffd",
        "\ufffc": "\ufffd",
    }
)


def clean(text: str) -> str:
    """Return `text` with line ends as newlines, halves of characters joined, and unfit ones replaced."""
    if not _UNFIT.search(text):
        return text
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\r\n", "\n").translate(_REPLACED)


class Intake:
    """Cleans text that arrives in pieces; a piece may end between two halves of a character or line end."""

    def __init__(self) -> None:
        self._held = ""

    def accept(self, text: str) -> str:
        """Return what is certain now, cleaned."""
        text = self._held + text
        undecided = text.endswith("\r") or "\ud800" <= text[-1:] <= "\udbff"
        self._held = text[-1] if undecided else ""
        return clean(text[:-1] if undecided else text)

    def rest(self) -> str:
        """Return what was held back: nothing follows any more."""
        held, self._held = self._held, ""
        return clean(held)
