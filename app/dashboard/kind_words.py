"""What kinds of prompts and context lengths are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.translate import marked, tr
from mtplx_engine import measurement
from mtplx_engine.measurement import CONTEXT_BUCKETS, PromptKind

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def chats(bucket: int | None) -> str:
    """Return which chats a bucket of context stands for, as in "in chats up to 8k tokens"."""
    text, count = measurement.chats(bucket)
    return tr(text).format(count=count)


def kinds(values: Sequence[PromptKind]) -> str:
    """Return several kinds of prompts in words, as in "chat, code"."""
    return (
        tr("all kinds")
        if set(values) == set(PromptKind)
        else ", ".join(kind(each).lower() for each in values)
    )
