"""What kinds of prompts and context lengths are called."""

from __future__ import annotations

from app.translate import marked, tr
from mtplx_engine.measurement import CONTEXT_BUCKETS, PromptKind

_KINDS = {
    PromptKind.CHAT: marked("Chat"),
    PromptKind.CODE: marked("Code"),
    PromptKind.MATHS: marked("Maths"),
    PromptKind.LANGUAGE: marked("Another language"),
    PromptKind.COPY: marked("Copy-edit"),
}


def kind(value: PromptKind) -> str:
    """Return what a kind of prompts is called."""
    return tr(_KINDS[value])


def context(tokens: int) -> str:
    """Return a context length in words, as in "up to 8k" for one of the buckets and "300 tokens" for others."""
    if tokens in CONTEXT_BUCKETS:
        return tr("up to {count}k").format(count=tokens // 1024)
    return tr("{count} tokens").format(count=f"{tokens:,}")
