"""`mtplx chat` and `mtplx generate`: a conversation in the terminal, and one answer, by an engine in this process."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import options, output
from mtplx_engine.cli.options import AnswerOptions, Command
from mtplx_engine.cli.output import Console, stats_text
from mtplx_engine.config import ChatMessage
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.protocol import DepthChosen, Finished, Generate, PrefillProgress
from mtplx_engine.stats import FinishReason
from mtplx_engine.util.formatting import ProgressLine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mtplx_engine.cli.options import NewEngine
    from mtplx_engine.host import EngineProtocol
    from mtplx_engine.ipc.protocol import DepthReason, ModelInfo


_LONG_PROMPT = 256  # tokens from which a prefill takes long enough to show its progress
_COMMANDS = ("/new", "/help", "/quit")
_HELP = """\
/new    forget this chat and start another
/help   show this
/quit   leave, as Ctrl-D does
Ctrl-C  stops an answer; what was written of it stays in the chat"""
_LEAVE = "Press Ctrl-C again or /quit to leave."


@dataclass(frozen=True, slots=True)
class TerminalAnswer:
    """A whole answer and its statistics; `reason` is why the last draft depth was chosen, None when it was not."""

    text: str
    tokens: tuple[int, ...]
    finished: Finished
    reason: DepthReason | None


class TerminalSession:
    """An engine with a loaded model, which answers on stdout."""

    def __init__(self, engine: EngineProtocol, info: ModelInfo) -> None:
        self._engine = engine
        self.info = info
        self._count = 0

    def answer(
        self, messages: Sequence[ChatMessage], wanted: AnswerOptions, write: Callable[[str], None]
    ) -> TerminalAnswer:
        """Answer a chat, with the text piece by piece to `write`; Ctrl-C ends the answer, a second one the command."""
        self._count += 1
        sampler = wanted.sampler(self.info.recommended)
        request = Generate(self._count, tuple(messages), sampler, wanted.max_tokens, wanted.stop)
        cancelled = threading.Event()
        line = ProgressLine(sys.stderr)
        pieces: list[str] = []
        tokens: list[int] = []
        finished: Finished | None = None
        reason: DepthReason | None = None
        with output.ctrl_c_calls(cancelled.set), contextlib.closing(line):
            for event in self._engine.generate(request, cancelled):
                if isinstance(event, PrefillProgress):
                    _show_prefill(event, line)
                    continue
                if isinstance(event, DepthChosen):
                    reason = event.reason
                    continue
                line.close()
                pieces.append(event.text)
                write(event.text)
                if isinstance(event, Finished):
                    finished = event
                    del tokens[len(tokens) - event.cut :]
                else:
                    tokens += event.token_ids
        if finished is None:
            raise EngineError(ErrorKind.INTERNAL, "The engine ended an answer without saying why; try again.")
        return TerminalAnswer("".join(pieces), tuple(tokens), finished, reason)


def open_session(
    model: str | None, draft_model: str, data: Path, new_engine: NewEngine, *, anyway: bool = False
) -> TerminalSession:
    """Load a model, by default the user's default model, and show the progress on stderr.

    `draft_model` drafts for it, "" for none; `anyway` loads it even when it will not fit into memory.

    Raises:
        EngineError: There is no such model, or it cannot be loaded.
    """
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        folder = options.find_model(model, data, line)
        engine = new_engine()
        # Over in a second or two: a line that is taken away again helps, lines that stay do not.
        report = line if line.terminal else lambda _fraction, _phase: None
        info = engine.load(str(folder), data, report, threading.Event(), draft_model, anyway=anyway)
        return TerminalSession(engine, info)


def _open(arguments: argparse.Namespace, new_engine: NewEngine) -> TerminalSession:
    data = paths.data_dir(arguments.data_dir)
    return open_session(arguments.model, arguments.draft_model, data, new_engine, anyway=arguments.anyway)


def _show_prefill(event: PrefillProgress, line: ProgressLine) -> None:
    fresh = event.total - event.cached
    if fresh >= _LONG_PROMPT and line.terminal:
        line((event.done - event.cached) / fresh, f"Reading {fresh} tokens")


class Chat:
    """A conversation: its messages, and the loop that reads and answers."""

    def __init__(self, session: TerminalSession, wanted: AnswerOptions, console: Console) -> None:
        self._session = session
        self._wanted = wanted
        self._console = console
        self._messages = wanted.opening()

    def run(self) -> None:
        """Read and answer until /quit or the end of the input."""
        at_terminal = sys.stdin.isatty() and self._console.terminal
        if at_terminal:
            _enable_line_editing()
        while (typed := self._read(at_terminal=at_terminal)) not in (None, "/quit"):
            command, _, rest = typed.partition(" ")
            if re.fullmatch(r"/\w+", command) and (not rest or command in _COMMANDS):
                self._obey(command, rest)
            elif typed:
                self._answer(typed)

    def _read(self, *, at_terminal: bool) -> str | None:
        """Return the next line without the space around it, None at the end of the input.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed twice at a terminal, or once elsewhere.
        """
        pressed = not at_terminal
        while True:
            try:
                return input("> " if at_terminal else "").strip()
            except EOFError:
                if at_terminal:
                    self._console.line()
                return None
            except KeyboardInterrupt:
                if pressed:
                    raise
                pressed = True
                self._console.text(f"\n{_LEAVE}")

    def _obey(self, command: str, rest: str) -> None:
        if rest:
            self._console.line(f"{command} stands alone on its line; nothing was done.")
        elif command == "/new":
            self._messages = self._wanted.opening()
            self._console.dim("A new chat.")
        elif command == "/help":
            self._console.text(_HELP)
        else:
            self._console.line(f"There is no command {command}; /help lists them.")

    def _answer(self, prompt: str) -> None:
        """Answer one message; a message that cannot be answered does not stay in the chat."""
        messages = [*self._messages, ChatMessage("user", prompt)]
        try:
            answer = self._session.answer(messages, self._wanted, self._console.write)
        except EngineError as error:
            self._console.line(str(error))
            return
        self._console.line()
        self._console.dim(stats_text(answer.finished.stats, answer.finished.reason))
        if answer.text:
            self._messages = [*messages, ChatMessage("assistant", answer.text)]


def _enable_line_editing() -> None:
    """Give input() line editing and history where Python has readline; pasted lines stay one message."""
    with contextlib.suppress(ImportError):
        import readline

        readline.parse_and_bind("set enable-bracketed-paste on")


def _add_chat_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model(parser)
    options.add_draft_model(parser)
    options.add_anyway(parser, "load a model that will not fit into memory")
    options.add_answer(parser)


def _run_chat(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    wanted = AnswerOptions.of(arguments)
    session, console = _open(arguments, new_engine), Console(sys.stdout)
    console.dim(f"{session.info.name} · {session.info.backend}")
    if session.info.drafter_note:
        console.dim(session.info.drafter_note)
    console.dim("/help lists the commands, /quit leaves.")
    Chat(session, wanted, console).run()
    return 0


CHAT = Command(
    name="chat",
    summary="chat in the terminal",
    examples="""\
examples:
  mtplx chat
  mtplx chat --temp 0 --depth 0
  mtplx chat --model ~/models/my-model --system "Answer in one sentence."
""",
    add_arguments=_add_chat_arguments,
    run=_run_chat,
)


def _add_generate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", metavar="PROMPT", help='what to answer; "-" reads it from stdin')
    options.add_model(parser)
    options.add_draft_model(parser)
    options.add_anyway(parser, "load a model that will not fit into memory")
    options.add_json(parser)
    options.add_answer(parser)


def _run_generate(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    wanted = AnswerOptions.of(arguments)
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    if not prompt.strip():
        raise EngineError(ErrorKind.BAD_REQUEST, "The prompt is empty; give some text to answer.")
    session = _open(arguments, new_engine)
    console, notes = Console(sys.stdout), Console(sys.stderr)
    answer = session.answer(
        [*wanted.opening(), ChatMessage("user", prompt)],
        wanted,
        (lambda _text: None) if arguments.json else console.write,
    )
    stats = answer.finished.stats
    if arguments.json:
        console.event(**_answer_as_json(answer))
    else:
        console.line()
    if session.info.drafter_note and wanted.drafts and not stats.drafted:
        notes.dim(session.info.drafter_note)
    if notes.terminal and not arguments.json:
        notes.dim(stats_text(stats, answer.finished.reason))
    return 130 if answer.finished.reason is FinishReason.CANCELLED else 0


def _answer_as_json(answer: TerminalAnswer) -> dict[str, Any]:
    """Return an answer as plain data, rates in tokens per second and times in seconds, null when not measured."""
    stats = answer.finished.stats
    return {
        "text": answer.text,
        "tokens": answer.tokens,
        "finish_reason": answer.finished.reason,
        "stats": {
            "prompt_tokens": stats.prompt_tokens,
            "cached_tokens": stats.cached_tokens,
            "emitted": stats.emitted,
            "verify_steps": stats.verify_steps,
            "drafted": stats.drafted,
            "accepted": stats.accepted,
            "accepted_at": stats.accepted_at,
            "ttft_s": stats.ttft_s,
            "prefill_tps": stats.prefill_tps,
            "decode_tps": stats.decode_tps,
            "seed": stats.seed,
            "depth": stats.depth,
            "depth_reason": answer.reason,
        },
    }


GENERATE = Command(
    name="generate",
    summary="answer one prompt",
    examples="""\
examples:
  mtplx generate "What is the capital of France?"
  git diff | mtplx generate --temp 0 --system "Describe this change." -
  mtplx generate --json --seed 7 --max-tokens 64 "Tell me a story."
""",
    add_arguments=_add_generate_arguments,
    run=_run_generate,
)
