"""`mtplx chat`: a conversation in the terminal."""

from __future__ import annotations

import contextlib
import re
import sys
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.cli import options, output
from mtplx_engine.cli.options import AnswerOptions
from mtplx_engine.cli.output import Console
from mtplx_engine.cli.session import open_session
from mtplx_engine.config import ChatMessage
from mtplx_engine.errors import EngineError

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.cli.session import NewEngine, TerminalSession


SUMMARY = "chat in the terminal"
EXAMPLES = """\
examples:
  mtplx chat
  mtplx chat --temp 0 --depth 0
  mtplx chat --model ~/models/my-model --system "Answer in one sentence."
"""
_COMMANDS = ("/new", "/help", "/quit")
_HELP = """\
/new    forget this chat and start another
/help   show this
/quit   leave, as Ctrl-D does
Ctrl-C  stops an answer; what was written of it stays in the chat"""
_LEAVE = "Press Ctrl-C again or /quit to leave."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    options.add_model(parser)
    options.add_draft_model(parser)
    options.add_anyway(parser, "load a model that will not fit into memory")
    options.add_answer(parser)


def run(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    """Chat until the person leaves; returns the exit code."""
    wanted = AnswerOptions.of(arguments)
    data = paths.data_dir(arguments.data_dir)
    session = open_session(arguments.model, arguments.draft_model, data, new_engine, anyway=arguments.anyway)
    console = Console(sys.stdout)
    console.dim(f"{session.info.name} · {session.info.backend}")
    if session.info.drafter_note:
        console.dim(session.info.drafter_note)
    console.dim("/help lists the commands, /quit leaves.")
    Chat(session, wanted, console).run()
    return 0


class Chat:
    """The conversation: what was said, and the loop that goes on with it.

    Args:
        session: Answers.
        wanted: How it should.
        console: Shows it.
    """

    def __init__(self, session: TerminalSession, wanted: AnswerOptions, console: Console) -> None:
        self._session = session
        self._wanted = wanted
        self._console = console
        self._messages = wanted.opening()

    def run(self) -> None:
        """Read and answer until /quit or the end of the input."""
        at_terminal = sys.stdin.isatty() and self._console.terminal
        if at_terminal:
            _edit_lines()
        while (said := self._read(at_terminal=at_terminal)) not in (None, "/quit"):
            command, _, rest = said.partition(" ")
            if re.fullmatch(r"/\w+", command) and (not rest or command in _COMMANDS):
                self._obey(command, rest)
            elif said:
                self._answer(said)

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

    def _answer(self, said: str) -> None:
        """Answer one message; a message that cannot be answered does not stay in the chat."""
        turns = [*self._messages, ChatMessage("user", said)]
        try:
            answer = self._session.answer(
                turns,
                self._wanted.sampler(self._session.info.recommended),
                self._console.write,
                max_tokens=self._wanted.max_tokens,
                stop=self._wanted.stop,
            )
        except EngineError as error:
            self._console.line(str(error))
            return
        self._console.line()
        self._console.dim(output.stats_text(answer.finished.stats, answer.finished.reason))
        if answer.text:
            self._messages = [*turns, ChatMessage("assistant", answer.text)]


def _edit_lines() -> None:
    """Give input() line editing and history where Python has readline; pasted lines stay one message."""
    with contextlib.suppress(ImportError):
        import readline

        readline.parse_and_bind("set enable-bracketed-paste on")
