"""Syntax highlighting: pygments' tokens as coloured spans for each line, also while the code is still streaming."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String
from pygments.util import ClassNotFound

from app.render.blocks import utf16_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygments.lexer import Lexer
    from pygments.token import _TokenType


class Role(Enum):
    """Role of a span of code; the value is the name of its colour in `SyntaxColors`."""

    KEYWORD = "keyword"
    NAME = "name"
    TYPE = "type"
    STRING = "string"
    NUMBER = "number"
    COMMENT = "comment"
    INSERTED = "inserted"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Span:
    """A coloured range of a line, in UTF-16 units as Qt counts them."""

    start: int
    length: int
    role: Role


Spans = tuple[Span, ...]

_ROLES = {
    Comment: Role.COMMENT,
    Comment.Preproc: Role.KEYWORD,
    Comment.PreprocFile: Role.STRING,
    Keyword: Role.KEYWORD,
    Keyword.Type: Role.TYPE,
    Keyword.Constant: Role.NUMBER,
    Operator.Word: Role.KEYWORD,
    Name.Attribute: Role.NAME,
    Name.Builtin: Role.NAME,
    Name.Class: Role.TYPE,
    Name.Constant: Role.NUMBER,
    Name.Decorator: Role.TYPE,
    Name.Exception: Role.TYPE,
    Name.Function: Role.NAME,
    Name.Namespace: Role.TYPE,
    Name.Tag: Role.KEYWORD,
    Name.Variable: Role.TYPE,
    Number: Role.NUMBER,
    Literal: Role.NUMBER,
    String: Role.STRING,
    String.Escape: Role.NUMBER,
    String.Interpol: Role.NUMBER,
    Generic.Inserted: Role.INSERTED,
    Generic.Deleted: Role.DELETED,
    Generic.Heading: Role.NAME,
    Generic.Subheading: Role.NAME,
    Generic.Prompt: Role.COMMENT,
}
# Characters; longer lines and blocks are minified code or data, whose colours cost more than they tell.
_LONGEST_LINE = 2_000
_LONGEST_BLOCK = 400_000
# Lines that are lexed again when a line is added. A window without a line to restart at grows, up to the cap.
_WINDOW = 32
_WINDOW_CAP = 256
_SETTLED = 8
# Ends a comment that is open at the end of the window, so that it is seen as one; dropped after lexing.
_CLOSER = "\n*/"


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


class CodeColors:
    """Highlights a code block whose lines arrive one after the other.

    Only a window of the last lines is lexed when lines are added. The window moves forward to a line from which
    lexing afresh gives the same spans as lexing from its start did, or at the cap in any case. `finish` lexes the
    whole block and corrects what the window could not know, such as a string that opened before it.
    """

    def __init__(self, language: str) -> None:
        self._lexer = _lexer(language) if language else None
        self._lines: list[str] = []
        self._spans: list[Spans] = []
        self._base = 0
        self._tried = 0
        self._size = 0

    def add(self, text: str, *, color: bool = True) -> list[tuple[int, Spans]]:
        """Take complete lines; return the numbers and spans of the lines whose spans have changed.

        With `color` off the lines wait for `finish`.
        """
        lines = [line + "\n" for line in text.split("\n")[:-1]]
        self._lines += lines
        self._spans += [()] * len(lines)
        self._size += len(text)
        if not color or self._size > _LONGEST_BLOCK:
            return []
        changed = list(self._changes(self._base))
        self._advance()
        return changed

    def finish(self) -> Iterator[tuple[int, Spans]]:
        """Lex the whole block; yield each line whose spans have changed, lazily."""
        return self._changes(0) if self._size <= _LONGEST_BLOCK else iter(())

    def _changes(self, first: int) -> Iterator[tuple[int, Spans]]:
        for line, spans in enumerate(self._lex(first), first):
            if spans != self._spans[line]:
                self._spans[line] = spans
                yield line, spans

    def _lex(self, first: int) -> Iterator[Spans]:
        """Yield the spans of the lines from `first` on, as if the block began there."""
        lines = self._lines[first:]
        if self._lexer is None or not lines or any(len(line) > _LONGEST_LINE for line in lines):
            return
        spans: list[Span] = []
        column = 0
        done = 0
        for _, token, value in self._lexer.get_tokens_unprocessed("".join(lines) + _CLOSER):
            role = _role(token)
            for index, piece in enumerate(value.split("\n")):
                if index:
                    yield tuple(spans)
                    done += 1
                    if done == len(lines):
                        return
                    spans, column = [], 0
                length = utf16_length(piece)
                if role is not None and length:
                    spans.append(Span(column, length, role))
                column += length

    def _advance(self) -> None:
        """Move the window to a line from which the code gets the same spans without the lines before it."""
        count = len(self._lines) - self._base
        if count < _WINDOW or len(self._lines) - self._tried < _SETTLED:
            return
        self._tried = len(self._lines)
        for line in self._restarts():
            if list(self._lex(line)) == self._spans[line:]:
                self._base = line
                return
        if count > _WINDOW_CAP:
            self._base = len(self._lines) - _WINDOW

    def _restarts(self) -> list[int]:
        last = len(self._lines) - _SETTLED
        paragraphs = (line for line in range(last, self._base, -1) if not self._lines[line - 1].strip())
        return [*({next(paragraphs, last), last})]


@cache
def _role(token: _TokenType) -> Role | None:
    while token is not None:
        if token in _ROLES:
            return _ROLES[token]
        token = token.parent
    return None
