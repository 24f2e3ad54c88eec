"""The chat pane: a long answer at the end of a long chat, a chat of thousands of messages, and large pastes."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QTimer
from PySide6.QtTest import QTest

from app.chat.conversation import MessageStatus
from app.chat_view.question_row import QuestionRow
from mtplx_engine.ipc.protocol import Tokens
from scripts.bench_ui.program import SECTION_TOKENS, Program, answer, chat, lines, long_line
from scripts.bench_ui.timing import LONGEST_BLOCK_MS, OwnTime, Result, timed
from tests.support.fake_script import Script

if TYPE_CHECKING:
    from pathlib import Path

    from app.chat.conversation import Message
    from app.chat.generation import Generation, Piece
    from mtplx_engine.ipc.protocol import Event


TOKENS_PER_S = 200
_EARLIER_MESSAGES = 200
_ACCEPTED = (2, 1, 3, 0, 2)
_PER_CYCLE = 1 + sum(_ACCEPTED) / len(_ACCEPTED)
_COMPARED_TOKENS = 1000  # tokens whose cost is compared
_WARM_UP_TOKENS = 600  # of an answer before, which loads what is loaded once


class StreamMeter:
    """Follows one answer from its first token on.

    Attributes:
        tokens: Their number so far.
        costs: The CPU time of this process, in seconds, at the first token and after every thousand.
        ages: The age of the answer at its first and at its newest tokens, in seconds, by the engine's clock.
    """

    def __init__(self, program: Program) -> None:
        self.tokens = 0
        self.costs: list[float] = []
        self.ages: list[float] = []
        self._offset = math.inf  # when the answer started by our clock, estimated from the event with the least delay
        program.app.link.happened.connect(self._note)

    def lag(self, done: float) -> float:
        """Return the relative delay of an answer that was shown at `done`, against the time that the engine took."""
        return (done - self._offset - self.ages[-1]) / (self.ages[-1] - self.ages[0])

    def rate(self) -> float:
        """Return the decode rate of the engine, in tokens per second."""
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
        while self.tokens >= _COMPARED_TOKENS * len(self.costs):
            self.costs.append(time.process_time())


def measure_streaming(folder: Path, tokens: int, messages: int = _EARLIER_MESSAGES) -> list[Result]:
    """Stream an answer of so many tokens into a chat of so many messages."""
    text = answer(max(1, tokens // SECTION_TOKENS))
    script = Script(answer=text, accepted=_ACCEPTED, cycle_s=_PER_CYCLE / TOKENS_PER_S, window=10**7)
    with Program(folder, script, [chat("long", messages)]) as program:
        program.open_chat("long")
        _warm_up(program, min(_WARM_UP_TOKENS, tokens // 2))
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
        return _streaming_results(program, meter, lag)


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


def _streaming_results(program: Program, meter: StreamMeter, lag: float) -> list[Result]:
    high, longest = program.watch.percentile(0.99), program.watch.longest()
    found = [
        Result("streaming: tokens the engine made each second", meter.rate(), "tok/s"),
        timed("streaming: event-loop gap, p99", high, 33),
        timed("streaming: longest event-loop gap", longest, LONGEST_BLOCK_MS),
        Result("streaming: lag behind the engine", 100 * lag, "%", 3),
    ]
    costs = [after - before for before, after in zip(meter.costs, meter.costs[1:], strict=False)]
    if len(costs) > 1:
        found += [
            Result("streaming: CPU time of the first 1,000 tokens", 1000 * costs[0], "ms"),
            Result("streaming: CPU time of the last 1,000 tokens", 1000 * costs[-1], "ms"),
            Result("streaming: last 1,000 tokens against the first", costs[-1] / costs[0], "x", 1.3),
        ]
    return found


_SCREENS = 20
_SCREEN_MS = 100


def measure_opening(folder: Path, messages: int) -> list[Result]:
    """Open a chat of so many messages."""
    name = f"chat of {messages:,} messages"
    with Program(folder, Script(window=10**7), [chat("short", 2), chat("long", messages)]) as program:
        program.open_chat("short")
        found = [_until_shown(program, f"{name}: until it is shown")]
        program.open_chat("short")
        acts = (
            ("opening it", lambda: program.app.session.open_chat("long")),
            (f"scrolling {_SCREENS} screens up", lambda: _scroll_up(program)),
            ("asking in it", lambda: program.ask("And now?")),
        )
        blocks = ((f"{name}, {act}: longest block", program.longest_block(run)) for act, run in acts)
        return [*found, *(timed(what, block, LONGEST_BLOCK_MS) for what, block in blocks)]


def _until_shown(program: Program, what: str) -> Result:
    """Measure the time from the click until the last message is shown."""
    session, transcript = program.app.session, program.app.window.pane.transcript
    with OwnTime() as clock:
        started = clock.now()
        session.open_chat("long")
        program.until(lambda: session.chat_id == "long" and bool(transcript.rows))
        took = clock.now().since(started)
    program.settle()
    return timed(what, took)


def _scroll_up(program: Program) -> None:
    bar = program.app.window.pane.transcript.verticalScrollBar()
    for screen in range(_SCREENS):
        QTimer.singleShot(screen * _SCREEN_MS, bar, lambda: bar.setValue(bar.value() - bar.pageStep()))


_LINE_LENGTH, _SHORT_LINE_LENGTH = 79, 27


def measure_pasting(folder: Path, characters: int) -> list[Result]:
    """Paste texts of so many characters and of five times as many, type after them, and send them."""
    pastes = {
        f"{characters / 1e6:g} MB line without spaces": long_line(characters),
        f"{5 * characters / 1e6:g} MB paste": lines(5 * characters // (_LINE_LENGTH + 1), _LINE_LENGTH),
        f"{characters // 50:,}-line paste": lines(characters // 50, 30),
        f"{characters // 5:,}-line paste": lines(characters // 5, _SHORT_LINE_LENGTH),
        f"{5 * characters / 1e6:g} MB line of words": "word " * characters,
    }
    found = []
    with Program(folder, Script(answer="Read.", window=10**8)) as program:
        for name, text in pastes.items():
            program.app.session.new_chat()
            program.settle()
            found += _paste(program, name, text)
        for name, text in pastes.items():
            found += _paste_into_editor(program, name, text)
    return found


def _paste(program: Program, name: str, text: str) -> list[Result]:
    edit = program.app.window.pane.composer.edit
    acts = (
        ("in the composer", lambda: edit.insertFromMimeData(_mime_data(text))),
        ("a key typed after it", lambda: QTest.keyClick(edit, "a")),
        ("sent", edit.submitted.emit),
    )
    return [timed(f"{name}, {act}: longest block", program.longest_block(run), LONGEST_BLOCK_MS) for act, run in acts]


def _paste_into_editor(program: Program, name: str, text: str) -> list[Result]:
    """Edit a message of that text, as it could be sent before long pastes became files, and paste it once more."""
    session, transcript = program.app.session, program.app.window.pane.transcript
    session.new_chat()
    program.app.actions.send(text)
    program.settle()
    question = transcript.rows[0]
    opened = program.longest_block(lambda: transcript.edit(question.message.id))
    editor = question.editor if isinstance(question, QuestionRow) else None
    if editor is None:
        raise RuntimeError("the message is not edited")
    edit = editor.edit
    acts = (
        ("pasted into its editor", lambda: edit.insertFromMimeData(_mime_data(text))),
        ("sent anew", edit.submitted.emit),
    )
    blocks = {act: program.longest_block(run) for act, run in acts}
    return [
        timed(f"{name}, sent before, {act}: longest block", block, LONGEST_BLOCK_MS)
        for act, block in {"opened for editing": opened, **blocks}.items()
    ]


def _mime_data(text: str) -> QMimeData:
    data = QMimeData()
    data.setText(text)
    return data
