"""Translation of texts in the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

if TYPE_CHECKING:
    from mtplx_engine.util.formatting import Sentence


_CONTEXT = "MTPLX"


def tr(text: str) -> str:
    """Return `text` in the user's language; the caller fills placeholders as in "{count} tokens".

    Call it where the text is shown, never at import: translations are installed at start-up.
    """
    return QCoreApplication.translate(_CONTEXT, text)


def marked(text: str) -> str:
    """Return `text` as it is; marks a text for translation that is given to `tr` elsewhere."""
    return text


def said(sentence: Sentence) -> str:
    """Return a sentence of the engine in the user's language."""
    return sentence.text(tr)
