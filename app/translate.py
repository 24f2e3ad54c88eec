"""Words for people, in their language where there is a translation."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

_CONTEXT = "MTPLX"


def tr(text: str) -> str:
    """Return `text` in the person's language; with named gaps as in "{count} tokens", filled by the caller.

    Call it where the words are shown, never at import: translations are installed at start-up.
    """
    return QCoreApplication.translate(_CONTEXT, text)


def marked(text: str) -> str:
    """Return `text` as it is: words that are written in one place and given to `tr` in another."""
    return text
