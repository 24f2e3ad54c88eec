"""Translation of texts in the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

if TYPE_CHECKING:
    from mtplx_engine.util.formatting import Sentence


_CONTEXT = "MTPLX"


def tr(text: str) -> str:
    """Return `text` in the person's language; with named gaps as in "{count} tokens", filled by the caller.

    Call it where the words are shown, never at import: translations are installed at start-up.
    """
    return QCoreApplication.translate(_CONTEXT, text)


def marked(text: str) -> str:
    """Return `text` as it is: words that are written in one place and given to `tr` in another."""
    return text


def said(sentence: Sentence) -> str:
    """Return a sentence of the engine in the person's language."""
    return sentence.text(tr)
