"""An answer's text as a stream of segments: what is said, what is thought, and calls of tools.

The marks between them are text like any other, so a mark counts only outside code: between backticks on one line, or
in a fenced block that is closed later, it is quoted. The code that thinking leaves open must not take in the answer,
though: there, a mark at the start of a line counts, and a mark in code is quoted only if another one ends the thinking
later, or if there is nothing but it between its backticks. In whatever pieces the text comes, the segments are the
same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from mtplx_engine.markdown_code import Code, CodeEnd


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


@dataclass(slots=True)
class _Doubt:
    """A mark in open code, and what came after it.

    Attributes:
        mark: The mark.
        is_tight: Whether backticks are right before it.
        held: The characters from it on.
        open_at: Where in them the first mark of the code begins that is still open; None when all code is closed.
    """

    mark: str
    is_tight: bool
    held: list[str]
    open_at: int | None = 0

    def close(self) -> bool:
        """Note that the code is closed before the last character; returns whether the mark is surely quoted."""
        between = set(self.held[len(self.mark) : -1])
        is_quote = self.is_tight and self.open_at == 0 and between == {"`"}
        self.open_at = None
        return is_quote


class Segmenter:
    """Cuts a text into segments while it comes.

    Args:
        markup: The model's marks.
        thinking: Whether the prompt has opened the thinking already.
    """

    def __init__(self, markup: Markup, *, thinking: bool = False) -> None:
        self._markup = markup
        self._kind = Kind.THINKING if thinking else Kind.ANSWER
        self._code = Code()
        self._mark = ""  # the end of the text, as far as it may be the beginning of a mark
        self._doubt: _Doubt | None = None
        self._call = ""
        self._has_said = False
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
        while (doubt := self._doubt) is not None:
            doubt.held.append("")  # the end, in the place of a character
            if self._code.step("\n") is CodeEnd.CLOSED and self._is_quoted(doubt):
                self._doubt = None
                self._emit("".join(doubt.held), self._read_to)
            else:
                self._believe(doubt, doubt.open_at or 0)
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
        if self._doubt is not None and not self._settle(self._doubt, character, ended):
            return
        self._mark += character
        marks = self._marks()
        if self._mark in marks:
            mark, self._mark = self._mark, ""
            if self._may_be_quoted(mark):
                is_tight = self._code.line.removesuffix(mark).endswith("`")
                self._doubt = _Doubt(mark, is_tight, list(mark))
            else:
                self._turn(mark)
            return
        while self._mark and not any(mark.startswith(self._mark) for mark in marks):
            self._emit(self._mark[0], self._read_to - len(self._mark) + 1)
            self._mark = self._mark[1:]

    def _may_be_quoted(self, mark: str) -> bool:
        if self._kind is Kind.TOOL_CALL or not self._code.is_open:
            return False
        return self._kind is Kind.ANSWER or self._code.line != mark

    def _is_quoted(self, doubt: _Doubt) -> bool:
        """Whether a mark is quoted whose code is closed just before the last character."""
        return doubt.close() or self._kind is Kind.ANSWER

    def _settle(self, doubt: _Doubt, character: str, ended: CodeEnd | None) -> bool:
        """Read a character behind a mark in doubt; returns whether it is left to be read as any other."""
        doubt.held.append(character)
        if ended is CodeEnd.NEVER_CLOSED and doubt.open_at is not None:
            self._believe(doubt, doubt.open_at)
            return False
        if ended is CodeEnd.CLOSED and self._is_quoted(doubt):
            self._doubt, self._mark = None, ""
            self._emit("".join(doubt.held[:-1]), self._read_to - 1)
            return True
        if self._kind is Kind.THINKING:
            self._look_for_the_end(doubt, character)
        return False

    def _look_for_the_end(self, doubt: _Doubt, character: str) -> None:
        """Look whether the thinking ends behind a mark in doubt, which is quoted then."""
        self._mark += character
        while not doubt.mark.startswith(self._mark):
            self._mark = self._mark[1:]
        if self._mark != doubt.mark:
            return
        self._mark = ""
        at = len(doubt.held) - len(doubt.mark)
        if not self._may_be_quoted(doubt.mark):
            self._believe(doubt, at)
        elif doubt.open_at is None:
            doubt.open_at = at

    def _believe(self, doubt: _Doubt, at: int) -> None:
        """Take the mark `at` a place of what is held for one after all, and read what came after it again."""
        held = "".join(doubt.held)
        self._doubt, self._mark = None, ""
        self._emit(held[:at], self._read_to - len(held) + at)
        self._turn(doubt.mark)
        rest = held[at + len(doubt.mark) :]
        self._read_to -= len(rest)
        self._unread.extendleft(reversed(rest))

    def _turn(self, mark: str) -> None:
        """Go on after a mark; a closing one that nothing opened is left out, but not the break that it makes."""
        self._code = Code()
        is_stray = self._kind is Kind.ANSWER and mark == self._markup.think_end
        self._after_mark = not (is_stray and self._has_said)
        if self._kind is Kind.TOOL_CALL:
            call, self._call = self._call, ""
            self._end_call(call, self._read_to - len(mark))
        elif self._kind is Kind.THINKING or is_stray:
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
        self._has_said = self._has_said or self._kind is Kind.ANSWER
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
