"""A long answer at the end of a long chat: does the window keep up, and does it cost the same to the end."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from app.chat.conversation import MessageStatus
from mtplx_engine.ipc.protocol import Tokens
from scripts.bench_ui.figure import LONGEST_BLOCK_MS, Figure, timed
from scripts.bench_ui.program import Program
from scripts.bench_ui.texts import SECTION_TOKENS, answer, chat
from tests.support.fake_script import Script

if TYPE_CHECKING:
    from pathlib import Path

    from app.chat.conversation import Message
    from app.chat.generation import Generation, Piece
    from mtplx_engine.ipc.protocol import Event


TOKENS_PER_S = 200
_MESSAGES = 200
_ACCEPTED = (2, 1, 3, 0, 2)
_PER_CYCLE = 1 + sum(_ACCEPTED) / len(_ACCEPTED)
_PART = 1000  # tokens whose cost is compared
_WARM_UP = 600  # tokens of an answer before, which loads what is loaded once


class StreamMeter:
    """Follows one answer from its first token on.

    Attributes:
        tokens: How many have come.
        costs: The CPU time of this process, in seconds, at the first token and after every thousand.
        ages: The age of the answer at its first and at its newest tokens, in seconds, by the engine's clock.
    """

    def __init__(self, program: Program) -> None:
        self.tokens = 0
        self.costs: list[float] = []
        self.ages: list[float] = []
        self._offset = math.inf  # between the two clocks: the age zero by this one, as of the quickest event
        program.app.link.happened.connect(self._note)

    def lag(self, done: float) -> float:
        """Return by what share the answer took longer until it was shown, at `done`, than the engine took."""
        return (done - self._offset - self.ages[-1]) / (self.ages[-1] - self.ages[0])

    def rate(self) -> float:
        """Return the tokens per second that the engine reached after the first token."""
        return (self.tokens - 1) / (self.ages[-1] - self.ages[0])

    def _note(self, event: Event) -> None:
        if not isinstance(event, Tokens):
            return
        self._offset = min(self._offset, time.monotonic() - event.at_s)
        self.ages[1:] = [event.at_s]
        if not self.costs:
            self.ages = [event.at_s]
            self.costs.append(time.process_time())
        self.tokens += len(event.token_ids)
        while self.tokens >= _PART * len(self.costs):
            self.costs.append(time.process_time())


def measure(folder: Path, tokens: int, messages: int = _MESSAGES) -> list[Figure]:
    """Stream an answer of so many tokens into a chat of so many messages."""
    text = answer(max(1, tokens // SECTION_TOKENS))
    script = Script(answer=text, accepted=_ACCEPTED, cycle_s=_PER_CYCLE / TOKENS_PER_S, window=10**7)
    with Program(folder, script, [chat("long", messages)]) as program:
        program.open_chat("long")
        _warm_up(program, min(_WARM_UP, tokens // 2))
        meter = StreamMeter(program)
        shown: list[float] = []

        def note_end(message: Message) -> None:
            if message.status is MessageStatus.DONE:
                shown.append(time.monotonic())

        program.app.session.changed.connect(note_end)
        program.watch.start()
        program.ask("Write a long answer.")
        program.until(lambda: bool(shown))
        lag = meter.lag(shown[0])
        program.settle()
        program.watch.stop()
        return _figures(program, meter, lag)


def _warm_up(program: Program, tokens: int) -> None:
    came = 0

    def note(generation: Generation, _piece: Piece) -> None:
        nonlocal came
        came = generation.tokens

    program.app.queue.streamed.connect(note)
    program.ask("Write something.")
    program.until(lambda: came >= tokens)
    program.app.session.stop()
    program.app.queue.streamed.disconnect(note)
    program.settle()


def _figures(program: Program, meter: StreamMeter, lag: float) -> list[Figure]:
    high, longest = program.watch.percentile(0.99), program.watch.longest()
    found = [
        Figure("streaming: tokens the engine made each second", meter.rate(), "tok/s"),
        timed("streaming: event-loop gap, p99", high, 33),
        timed("streaming: longest event-loop gap", longest, LONGEST_BLOCK_MS),
        Figure("streaming: lag behind the engine", 100 * lag, "%", 3),
    ]
    costs = [after - before for before, after in zip(meter.costs, meter.costs[1:], strict=False)]
    if len(costs) > 1:
        found += [
            Figure("streaming: CPU time of the first 1,000 tokens", 1000 * costs[0], "ms"),
            Figure("streaming: CPU time of the last 1,000 tokens", 1000 * costs[-1], "ms"),
            Figure("streaming: last 1,000 tokens against the first", costs[-1] / costs[0], "x", 1.3),
        ]
    return found
