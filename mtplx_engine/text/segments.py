"""Split a stream of model output into thinking, tool calls and answer, by the marks of the model's tokenizer.

A mark inside markdown code (`Code`) may be quoted and then is text. That is certain only when the code is closed, so a
mark in open code is held back as a `_Doubt` until then, and taken as a mark after all when the code never closes.
"""

from __future__ import annotations

import importlib
import json
import re
from collections import deque
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

from mlx_lm import tokenizer_utils

from mtplx_engine.text.prompt import template_of

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
# mlx-lm imports the module that tokenizer_config.json names; only these are formats of tool calls.
TOOL_PARSERS = frozenset(
    {
        "function_gemma",
        "gemma4",
        "glm47",
        "json_tools",
        "kimi_k2",
        "kimi_k3",
        "laguna",
        "longcat",
        "minicpm5",
        "minimax_m2",
        "mistral",
        "muse_spark",
        "pythonic",
        "qwen3_coder",
    }
)
_SWITCH = "enable_thinking"  # the name that templates agree on
_TAIL = 32  # tokens at the end of a prompt that may contain an opening mark


class Kind(StrEnum):
    """The kind of a segment."""

    ANSWER = "answer"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the model's output, from its character `start` on; a tool call is one segment, without its marks."""

    kind: Kind
    text: str
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Markup:
    """The marks around a model's thinking and tool calls; "" for those that it does not use.

    Attributes:
        tool_end: After it; "" also when a call extends to the end of the answer.
        tool_parser: The name of the format of its tool calls, one of `TOOL_PARSERS`.
    """

    think_start: str = ""
    think_end: str = ""
    tool_start: str = ""
    tool_end: str = ""
    tool_parser: str = ""

    def without_tools(self) -> Markup:
        """Return the marks of a chat without tools, where the text of a call is part of the answer."""
        return Markup(self.think_start, self.think_end)


class Segmenter:
    """Splits a stream of text into segments; with `thinking` the prompt has opened the thinking already."""

    def __init__(self, markup: Markup, *, thinking: bool = False) -> None:
        self._markup = markup
        self._kind = Kind.THINKING if thinking else Kind.ANSWER
        self._code = Code()
        self._mark = ""  # the end of the text that may be the start of a mark
        self._doubt: _Doubt | None = None
        self._call = ""  # the text of the tool call so far
        self._has_answer = False  # whether any answer text was emitted
        self._after_mark = thinking  # line breaks after a mark belong to it
        self._unread: deque[str] = deque()
        self._read_to = 0  # characters taken from `_unread`
        self._out: list[Segment] = []

    def push(self, text: str) -> list[Segment]:
        """Add text; returns the segments that became certain."""
        self._unread.extend(text)
        self._read()
        return self._take()

    def finish(self) -> list[Segment]:
        """End the text; returns the rest. A tool call that was never closed is plain text."""
        while (doubt := self._doubt) is not None:
            doubt.held.append("")  # the end of the text instead of a character
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
        return doubt.close() or self._kind is Kind.ANSWER

    def _settle(self, doubt: _Doubt, character: str, ended: CodeEnd | None) -> bool:
        """Read a character after a mark in doubt; returns whether `_step` shall read it too."""
        doubt.held.append(character)
        if ended is CodeEnd.NEVER_CLOSED and doubt.open_at is not None:
            self._believe(doubt, doubt.open_at)
            return False
        if ended is CodeEnd.CLOSED and self._is_quoted(doubt):
            self._doubt, self._mark = None, ""
            self._emit("".join(doubt.held[:-1]), self._read_to - 1)
            return True
        if self._kind is Kind.THINKING:
            self._find_thinking_end(doubt, character)
        return False

    def _find_thinking_end(self, doubt: _Doubt, character: str) -> None:
        """Find a further mark that ends the thinking after one in doubt, which then was a quoted one."""
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
        """Take the mark at index `at` of the held text as a mark after all, and read the text after it again."""
        held = "".join(doubt.held)
        self._doubt, self._mark = None, ""
        self._emit(held[:at], self._read_to - len(held) + at)
        self._turn(doubt.mark)
        rest = held[at + len(doubt.mark) :]
        self._read_to -= len(rest)
        self._unread.extendleft(reversed(rest))

    def _turn(self, mark: str) -> None:
        """Change the kind after a mark; a stray closing mark is left out, but not the line breaks after it."""
        self._code = Code()
        is_stray = self._kind is Kind.ANSWER and mark == self._markup.think_end
        self._after_mark = not (is_stray and self._has_answer)
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
        if self._kind is Kind.TOOL_CALL:
            self._call += text
            return
        if self._after_mark:
            text = text.lstrip("\n")
        if not text:
            return
        self._after_mark = False
        self._has_answer = self._has_answer or self._kind is Kind.ANSWER
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


@dataclass(slots=True)
class _Doubt:
    """A mark in open code, which may be quoted, and the text after it.

    Attributes:
        is_tight: Whether backticks are right before it.
        held: The characters from the mark on.
        open_at: The index in `held` of the first mark in the code that is still open; None when all code is closed.
    """

    mark: str
    is_tight: bool
    held: list[str]
    open_at: int | None = 0

    def close(self) -> bool:
        """Note that the code closed before the last character; returns whether the mark is certainly quoted."""
        between = set(self.held[len(self.mark) : -1])
        is_quote = self.is_tight and self.open_at == 0 and between == {"`"}
        self.open_at = None
        return is_quote


class CodeEnd(Enum):
    """How a span or block of code ended."""

    CLOSED = "closed"
    NEVER_CLOSED = "never closed"


class Code:
    """Tracks markdown code spans and fenced blocks in a text, character by character."""

    def __init__(self) -> None:
        self._line = ""
        self._run = 0  # backticks just read
        self._inline = 0  # backticks that opened the code on this line
        self._fence = ""

    @property
    def is_open(self) -> bool:
        """Whether the text is inside code, provided that it is closed later."""
        return bool(self._inline or self._fence)

    @property
    def line(self) -> str:
        return self._line

    def step(self, character: str) -> CodeEnd | None:
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
            ended, self._inline = CodeEnd.NEVER_CLOSED, 0
        line, self._line = self._line, ""
        return self._end_line(line) or ended

    def _end_run(self) -> CodeEnd | None:
        run, self._run = self._run, 0
        if run and run == self._inline:
            self._inline = 0
            return CodeEnd.CLOSED
        self._inline = self._inline or run
        return None

    def _end_line(self, line: str) -> CodeEnd | None:
        found = _FENCE.fullmatch(line)
        if found is None:
            return None
        marks, info = found.groups()
        if self._fence.startswith(marks[0]) and len(marks) >= len(self._fence) and not info.strip():
            self._fence = ""
            return CodeEnd.CLOSED
        if marks[0] == "`" and "`" in info:
            return None
        was_open, self._fence = bool(self._fence), self._fence or marks
        # A fence with an info string starts a block: the one that seemed to be open was never closed.
        return CodeEnd.NEVER_CLOSED if was_open and info.strip() and marks[0] == self._fence[0] else None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model: the name of the function, and its arguments as a JSON object."""

    name: str
    arguments: str


def read_markup(tokenizer: Any) -> Markup:
    """Return the marks of a model with this transformers tokenizer; unknown formats of tool calls count as none."""
    wrapper = tokenizer_utils.TokenizerWrapper(tokenizer)
    named = tokenizer.init_kwargs.get("tool_parser_type")
    parser = named if named is not None else tokenizer_utils._infer_tool_parser(tokenizer)  # noqa: SLF001
    if not isinstance(parser, str) or parser not in TOOL_PARSERS:
        return Markup(wrapper.think_start or "", wrapper.think_end or "")
    module = _tool_parser(parser)
    return Markup(
        wrapper.think_start or "",
        wrapper.think_end or "",
        module.tool_call_start,
        module.tool_call_end,
        parser,
    )


def opens_thinking(tokenizer: Any, markup: Markup, prompt: list[int]) -> bool:
    """Return whether a prompt ends with the mark that opens the thinking, which some templates add."""
    if not markup.think_start:
        return False
    tail: str = tokenizer.decode(prompt[-_TAIL:], skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return tail.rstrip().endswith(markup.think_start)


def has_thinking_switch(tokenizer: Any) -> bool:
    """Return whether the chat template uses `enable_thinking`."""
    return _SWITCH in template_of(tokenizer)


def hidden_ids(tokenizer: Any, markup: Markup) -> frozenset[int]:
    """Return the ids of control tokens, which are not shown, except those that are part of a mark."""
    marks = (markup.think_start, markup.think_end, markup.tool_start, markup.tool_end)
    return frozenset(
        token_id
        for token_id, token in tokenizer.added_tokens_decoder.items()
        if token.special and not any(token.content in mark for mark in marks)
    )


def tool_calls(markup: Markup, text: str) -> tuple[ToolCall, ...]:
    """Return the calls in a tool-call segment; raises ValueError where they are not in the model's format."""
    if markup.tool_parser not in TOOL_PARSERS:
        raise ValueError("this model has no format for tool calls")
    try:
        found = _tool_parser(markup.tool_parser).parse_tool_call(text, None)
        calls = found if isinstance(found, list) else [found]
        return tuple(
            ToolCall(str(call["name"]), json.dumps(call.get("arguments") or {}, ensure_ascii=False)) for call in calls
        )
    except Exception as error:  # the text is the model's, and each parser fails in its own way
        raise ValueError(f"not a tool call: {error!r}") from error


def _tool_parser(name: str) -> Any:
    return importlib.import_module(f"mlx_lm.tool_parsers.{name}")
