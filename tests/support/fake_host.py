"""An engine process without a model: the real host around an engine that follows a script.

Tests of the window and of the client start it in place of the real one::

    client = EngineClient(tmp_path, fake_host_command())                       # answers at once
    client = EngineClient(tmp_path, fake_host_command(Script(load_s=5)))       # loads slowly
    client = EngineClient(tmp_path, fake_host_command(Script(crash_after=3)))  # dies in its third cycle

It speaks the whole protocol, honours Cancel, `max_tokens` and depth 0, and starts in a tenth of a second. It measures
and checks nothing, but says what the script says.
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import re
import signal
import sys
import time
from itertools import chain, cycle
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind, LoadCancelledError
from mtplx_engine.host import serve
from mtplx_engine.ipc.protocol import (
    Checked,
    CheckExactness,
    Count,
    Counted,
    Finished,
    Generate,
    Measure,
    Measured,
    ModelInfo,
    PrefillProgress,
    Tokens,
    TrialProgress,
)
from mtplx_engine.stats import DecodeStats, FinishReason
from mtplx_engine.util import files
from tests.support.fake_script import Script

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from mtplx_engine.config import ChatMessage


_START = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.support import fake_host
fake_host.main()
"""


_PLAIN = Script()


def fake_host_command(script: Script = _PLAIN) -> list[str]:
    """Return the `command` for `EngineClient` that follows `script`."""
    return [sys.executable, "-I", "-c", _START, json.dumps(dataclasses.asdict(script))]


class Panic(BaseException):
    """Not an Exception, like the panics of the tokenizer."""


def _set_within(cancelled: threading.Event, seconds: float) -> bool:
    """Whether it is set within a time; its `wait` holds a lock that a signal handler of this thread needs to set it."""
    end = time.monotonic() + seconds
    while not cancelled.is_set() and (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.01))
    return cancelled.is_set()


class ScriptedEngine:
    """An `Engine` that needs no mlx and no model."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._loaded = False

    def load(
        self,
        model: str,
        data_dir: Path,
        report: Callable[[float, str], None],
        cancelled: threading.Event,
        draft_model: str,
        *,
        anyway: bool = False,
    ) -> ModelInfo:
        self._loaded = False
        started = time.monotonic()
        for step in range(10):
            report(step / 10, "reading weights")
            if cancelled.wait(self._script.load_s / 10):
                raise LoadCancelledError
        if self._script.load_error and not anyway:
            raise EngineError(ErrorKind(self._script.load_error_kind), self._script.load_error)
        self._loaded = True
        return ModelInfo(
            name=Path(model).name,
            path=str(data_dir / "models" / model),
            context_window=self._script.window,
            drafter="none" if self._script.note else "mtp",
            drafter_note=self._script.note,
            max_depth=0 if self._script.note else 3,
            recommended=SamplerConfig(),
            backend="scripted",
            load_s=time.monotonic() - started,
            token_bytes=1000,
            thinking_switch=bool(self._script.thinking),
            speed_key=self._script.speed_key,
        )

    def generate(self, request: Generate, cancelled: threading.Event) -> Iterator[PrefillProgress | Tokens | Finished]:
        if not self._loaded:
            raise EngineError(ErrorKind.NO_MODEL, "No model is loaded; choose one first.")
        started = time.monotonic()
        prompt = _prompt_tokens(request.messages)
        window = min(self._script.window, request.context or self._script.window)
        if prompt >= window:
            words = f"{prompt} tokens are too many for a window of {window}."
            raise EngineError.of(ErrorInfo(ErrorKind.CONTEXT_OVERFLOW, words, tokens=prompt, window=window))
        stats = DecodeStats(prompt_tokens=prompt, depth=str(request.sampler.speculative_depth))
        if self._script.stray:
            yield Tokens(request.generation - 1, (0,), "stray", 0, 0, 0.0)
        for step in range(5):
            yield PrefillProgress(request.generation, prompt * step // 4, prompt, 0)
            if step < 4 and _set_within(cancelled, self._script.prefill_s / 4):
                yield Finished(request.generation, FinishReason.CANCELLED, stats)
                return
        yield from self._decode(request, cancelled, started, stats)

    def _decode(
        self, request: Generate, cancelled: threading.Event, started: float, stats: DecodeStats
    ) -> Iterator[Tokens | Finished]:
        words, unthought = self._plan(request)
        limit = request.max_tokens or len(words)
        reason = FinishReason.LENGTH if limit < len(words) else FinishReason.END
        words = words[:limit]
        drafting = request.sampler.speculative_depth != 0
        stats = dataclasses.replace(stats, prefill_s=time.monotonic() - started, ttft_s=time.monotonic() - started)
        decode_started = due = time.monotonic()
        # The first token comes from the prefill.
        for accepted in chain((0,), cycle(self._script.accepted if drafting else (0,))):
            if not words:
                break
            self._misbehave(stats.verify_steps + stats.plain_steps, request)
            due += self._script.cycle_s
            if _set_within(cancelled, due - time.monotonic()):
                reason = FinishReason.CANCELLED
                break
            first = stats.emitted == 0
            emitted, words = words[: accepted + 1], words[accepted + 1 :]
            thought = min(unthought, len(emitted))
            unthought -= thought
            drafted = 3 if drafting and not first else 0
            kept = min(accepted, len(emitted)) if drafted else 0
            stats = _count(stats, drafted, kept, len(emitted), time.monotonic() - decode_started)
            yield Tokens(
                request.generation,
                tuple(range(stats.emitted - len(emitted), stats.emitted)),
                "".join(emitted[thought:]),
                drafted,
                kept,
                time.monotonic() - started,
                "".join(emitted[:thought]),
                _marks(emitted, thought, kept),
            )
            if first:
                decode_started = due = time.monotonic()  # or what is late would shorten what is measured
        yield Finished(request.generation, reason, stats)

    def _plan(self, request: Generate) -> tuple[list[str], int]:
        """Return all words that are to come, and how many of them are thinking."""
        last = request.messages[-1]
        answer = self._script.answer.replace("{question}", last.content)
        answer = answer.replace("{turns}", str(len(request.messages)))
        thinking = "" if request.thinking is False else self._script.thinking
        if request.continues:
            answer = answer.removeprefix(last.content)
            thinking = "" if last.content else thinking.removeprefix(last.thinking)
        thoughts = _words(thinking)
        return [*thoughts, *_words(answer)], len(thoughts)

    def measure(self, request: Measure, cancelled: threading.Event) -> Iterator[TrialProgress | Measured]:
        yield from self._try(request, "depth 3, chat", cancelled)
        if not cancelled.is_set():
            yield Measured(request.generation, self._script.measurement)

    def check(self, request: CheckExactness, cancelled: threading.Event) -> Iterator[TrialProgress | Checked]:
        yield from self._try(request, "greedy, prefix 3", cancelled)
        if not cancelled.is_set():
            yield Checked(request.generation, self._script.report)

    def _try(self, request: Measure | CheckExactness, what: str, cancelled: threading.Event) -> Iterator[TrialProgress]:
        if not self._loaded:
            raise EngineError(ErrorKind.NO_MODEL, "No model is loaded; choose one first.")
        for step in range(10):
            if self._script.trial_error and step == 5:
                raise EngineError(ErrorKind.INTERNAL, self._script.trial_error)
            left_s = self._script.trial_s * (10 - step) / 10
            yield TrialProgress(request.generation, step / 10, what, left_s if step else None)
            if _set_within(cancelled, self._script.trial_s / 10):
                return

    def count(self, request: Count) -> Counted:
        time.sleep(self._script.count_s)
        if not self._loaded:
            return Counted(request.request, None)
        texts = tuple(len(_words(text)) for text in request.texts)
        return Counted(request.request, _prompt_tokens(request.messages), texts)

    def unload(self) -> None:
        self._loaded = False

    def _misbehave(self, cycles: int, request: Generate) -> None:
        script = self._script
        if script.answer_error and cycles == 1:
            raise EngineError(ErrorKind.NON_FINITE, script.answer_error)
        if script.panic_after == cycles:
            raise Panic(request.messages[-1].content)
        if cycles in {script.crash_after, script.hang_after}:
            time.sleep(0.05)  # lets the events so far out of the writer's queue
        if script.crash_after == cycles:
            os.kill(os.getpid(), signal.SIGKILL)
        if script.hang_after == cycles:
            ctypes.PyDLL(None).sleep(60)  # keeps the interpreter's lock, so that no thread runs
        if script.deaf_after == cycles:
            time.sleep(60)


def _marks(emitted: list[str], thought: int, kept: int) -> tuple[int, ...]:
    """Return the runs of the text of a cycle that kept so many drafts."""
    drafted = sum(len(word) for word in emitted[thought:kept])
    rest = sum(len(word) for word in emitted[max(thought, kept) :])
    return (0, drafted, rest) if drafted else (rest,) if rest else ()


def _prompt_tokens(messages: Sequence[ChatMessage]) -> int:
    """Return the length of a chat whose template keeps no thinking and adds nothing."""
    return sum(len(_words(message.content)) for message in messages)


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


def _count(stats: DecodeStats, drafted: int, accepted: int, emitted: int, decode_s: float) -> DecodeStats:
    """Add a cycle to the figures."""
    at = (n + (position < accepted) for position, n in enumerate(stats.accepted_at or (0, 0, 0)))
    return dataclasses.replace(
        stats,
        emitted=stats.emitted + emitted,
        verify_steps=stats.verify_steps + (drafted > 0),
        plain_steps=stats.plain_steps + (drafted == 0),
        drafted=stats.drafted + drafted,
        accepted=stats.accepted + accepted,
        accepted_at=tuple(at),
        decode_s=decode_s,
        decode_tokens=stats.decode_tokens + (emitted if stats.emitted else 0),
    )


def main() -> None:
    """Be the process: its arguments are the script, and what every host gets."""
    script = files.build(Script, json.loads(sys.argv[1]))
    serve(sys.argv[2:], lambda: ScriptedEngine(script), ScriptedEngine.measure, ScriptedEngine.check)
