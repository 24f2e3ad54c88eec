"""A long message in portions, so that the window has its turn while it is written into a document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.render.blocks import Code, Heading, Paragraph, Table, text_of
from app.render.markdown_stream import Update

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.render.blocks import Leaf

# In characters. Few messages are longer than the first portion.
_FIRST = 60_000
_NEXT = 12_000
_LINE = 30  # a line costs about as much as so many characters


def portions(leaves: Sequence[Leaf]) -> Iterator[Update]:
    """Yield updates that together write `leaves` into an empty document."""
    room = _FIRST
    ready: list[Leaf] = []
    for leaf in leaves:
        size = _size(leaf)
        if size > room and ready:
            yield Update(frozen=tuple(ready), tail=())
            ready, room = [], _NEXT
        if isinstance(leaf, Code) and size > room:
            yield from _code(leaf)
            room = _NEXT
        else:
            ready.append(leaf)
            room -= size
    if ready:
        yield Update(frozen=tuple(ready), tail=())


def _code(leaf: Code) -> Iterator[Update]:
    pieces = text_portions(leaf.text)
    yield Update(tail=(replace(leaf, text=next(pieces), is_open=True),))
    for piece in pieces:
        yield Update(appended=piece)
    yield Update(frozen=(leaf,), tail=())


def text_portions(text: str) -> Iterator[str]:
    """Yield `text` in pieces that cost about the same."""
    start = 0
    while start < len(text):
        end = min(len(text), start + _NEXT)
        lines = text.count("\n", start, end)
        if lines * _LINE > _NEXT:
            end = start + max(1, (end - start) * _NEXT // (lines * _LINE))
        yield text[start:end]
        start = end


def _size(leaf: Leaf) -> int:
    match leaf:
        case Code():
            return len(leaf.text) + _LINE * leaf.text.count("\n")
        case Paragraph() | Heading():
            return len(text_of(leaf.runs)) + _LINE
        case Table():
            return sum(len(text_of(cell)) + _LINE for row in leaf.rows for cell in row)
        case _:
            return _LINE
