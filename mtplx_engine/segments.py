"""An answer's text as a stream of segments: what is said, what is thought, and calls of tools.

The marks between them are text like any other, so a mark counts only outside code: between backticks on one line, or
in a fenced block that is closed later, it is quoted. In whatever pieces the text comes, the segments are the same.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from enum import Enum, StrEnum

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class Kind(StrEnum):
    """What a piece of an answer is."""

    ANSWER = "answer"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of an answer; a tool call comes whole, without its marks.

    Attributes:
        kind: What it is.
        text: Its text, in which nothing is left out.
        start: Where in the whole text it begins.
    """

    kind: Kind
    text: str
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Markup:
    """The marks that a model puts around what is not answer; "" for those that it has not.

    Attributes:
        think_start: Before its thinking.
        think_end: After it.
        tool_start: Before a tool call.
        tool_end: After it; "" also when a call goes on to the end of the answer.
        tool_parser: The name of the format in which calls are written.
    """

    think_start: str = ""
    think_end: str = ""
    tool_start: str = ""
    tool_end: str = ""
    tool_parser: str = ""

    def without_tools(self) -> Markup:
        """Return the marks of a chat without tools, where what looks like a call is text."""
        return Markup(self.think_start, self.think_end)


class _Quote(Enum):
    """How a piece of code ended."""

    CLOSED = "closed"
    NEVER_CLOSED = "never closed"


class _Code:
    """Follows markdown's code through a text, character by character."""

    def __init__(self) -> None:
        self._line = ""
        self._run = 0  # backticks just read
        self._inline = 0  # backticks that opened the code on this line
        self._fence = ""

    @property
    def is_open(self) -> bool:
        """Whether the text is inside code, if that is closed later."""
        return bool(self._inline or self._fence)

    def step(self, character: str) -> _Quote | None:
        """Read a character; returns how code ended here, if it did."""
        if character == "`" and not self._fence:
            self._run += 1
            self._line += character
            return None
        ended = self._end_run()
        if character != "\n":
            self._line += character
            return ended
        if self._inline:
            ended, self._inline = _Quote.NEVER_CLOSED, 0
        line, self._line = self._line, ""
        return self._end_line(line) or ended

    def _end_run(self) -> _Quote | None:
        run, self._run = self._run, 0
        if run and run == self._inline:
            self._inline = 0
            return _Quote.CLOSED
        self._inline = self._inline or run
        return None

    def _end_line(self, line: str) -> _Quote | None:
        found = _FENCE.fullmatch(line)
        if found is None:
            return None
        marks, info = found.groups()
        if self._fence.startswith(marks[0]) and len(marks) >= len(self._fence) and not info.strip():
            self._fence = ""
            return _Quote.CLOSED
        if marks[0] == "`" and "`" in info:
            return None
        was_open, self._fence = bool(self._fence), self._fence or marks
        # A block that begins where another one seems to be open: nobody closed that one.
        return _Quote.NEVER_CLOSED if was_open and info.strip() and marks[0] == self._fence[0] else None


class Segmenter:
    """Cuts a text into segments while it comes.

    Args:
        markup: The model's marks.
        thinking: Whether the prompt has opened the thinking already.
    """

    def __init__(self, markup: Markup, *, thinking: bool = False) -> None:
        self._markup = markup
        self._kind = Kind.THINKING if thinking else Kind.ANSWER
        self._code = _Code()
        self._mark = ""  # the end of the text, as far as it may be the beginning of a mark
        self._doubt: tuple[str, str] | None = None  # a mark in open code, and the text from it on
        self._call = ""
        self._after_mark = thinking  # line breaks beside marks belong to them
        self._unread: deque[str] = deque()
        self._read_to = 0  # characters taken from there
        self._out: list[Segment] = []

    def push(self, text: str) -> list[Segment]:
        """Add text; returns what became certain."""
        self._unread.extend(text)
        self._read()
        return self._take()

    def finish(self) -> list[Segment]:
        """End the text; returns the rest. A tool call that was never closed is plain text."""
        while self._doubt is not None:
            mark, held = self._doubt
            if self._code.step("\n") is _Quote.CLOSED:
                self._doubt = None
                self._emit(held, self._read_to)
            else:
                self._believe(mark, held)
                self._read()
        held, self._mark = self._mark, ""
        if self._kind is not Kind.TOOL_CALL:
            self._emit(held, self._read_to)
        elif self._markup.tool_end:
            call, self._call, self._kind = self._markup.tool_start + self._call + held, "", Kind.ANSWER
            self._emit(call, self._read_to)
        else:
            self._end_call(self._call + held, self._read_to)
        return self._take()

    def _marks(self) -> tuple[str, ...]:
        markup = self._markup
        marks = {
            Kind.ANSWER: (markup.think_start, markup.think_end, markup.tool_start),
            Kind.THINKING: (markup.think_end,),
            Kind.TOOL_CALL: (markup.tool_end,),
        }
        return tuple(mark for mark in marks[self._kind] if mark)

    def _read(self) -> None:
        while self._unread:
            self._read_to += 1
            self._step(self._unread.popleft())

    def _step(self, character: str) -> None:
        ended = self._code.step(character) if self._kind is not Kind.TOOL_CALL else None
        if self._doubt is not None:
            mark, held = self._doubt
            self._doubt = mark, held + character
            if ended is _Quote.CLOSED:
                self._doubt = None
                self._emit(held + character, self._read_to)
            elif ended is _Quote.NEVER_CLOSED:
                self._believe(mark, held + character)
            return
        self._mark += character
        marks = self._marks()
        if self._mark in marks:
            mark, self._mark = self._mark, ""
            if self._kind is not Kind.TOOL_CALL and self._code.is_open:
                self._doubt = mark, mark
            else:
                self._turn(mark)
            return
        while self._mark and not any(mark.startswith(self._mark) for mark in marks):
            self._emit(self._mark[0], self._read_to - len(self._mark) + 1)
            self._mark = self._mark[1:]

    def _believe(self, mark: str, held: str) -> None:
        """Take a mark for one after all, and read what came after it again."""
        self._doubt = None
        self._turn(mark)
        rest = held[len(mark) :]
        self._read_to -= len(rest)
        self._unread.extendleft(reversed(rest))

    def _turn(self, mark: str) -> None:
        """Go on after a mark; a closing one that nothing opened is left out."""
        self._code = _Code()
        self._after_mark = True
        if self._kind is Kind.TOOL_CALL:
            call, self._call = self._call, ""
            self._end_call(call, self._read_to - len(mark))
        elif self._kind is Kind.THINKING or mark == self._markup.think_end:
            self._kind = Kind.ANSWER
        else:
            self._kind = Kind.THINKING if mark == self._markup.think_start else Kind.TOOL_CALL

    def _end_call(self, call: str, end: int) -> None:
        self._out.append(Segment(Kind.TOOL_CALL, call, end - len(call)))
        self._kind = Kind.ANSWER

    def _emit(self, text: str, end: int) -> None:
        """Give out a piece of the text that ends before its character `end`."""
        if self._kind is Kind.TOOL_CALL:
            self._call += text
            return
        if self._after_mark:
            text = text.lstrip("\n")
        if not text:
            return
        self._after_mark = False
        start = end - len(text)
        if self._out and self._out[-1].kind is self._kind:
            last = self._out[-1]
            if last.start + len(last.text) == start:
                self._out.pop()
                start, text = last.start, last.text + text
        self._out.append(Segment(self._kind, text, start))

    def _take(self) -> list[Segment]:
        out, self._out = self._out, []
        return out
