"""A loaded model and the answers it gives, for commands that run the engine in their own process."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine import backend
from mtplx_engine.cli import output
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.host import EngineProtocol
from mtplx_engine.ipc.protocol import DepthChosen, Finished, Generate, PrefillProgress
from mtplx_engine.models import library, starter
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.util.formatting import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mtplx_engine.config import ChatMessage, SamplerConfig
    from mtplx_engine.ipc.protocol import DepthReason, ModelInfo
    from mtplx_engine.util.formatting import Report


_LONG_PROMPT = 256  # tokens from which reading them takes long enough to say so


NewEngine = Callable[[], EngineProtocol]


@dataclass(frozen=True, slots=True)
class TerminalAnswer:
    """A whole answer.

    Attributes:
        text: What the person saw.
        tokens: Its token ids.
        finished: Why it ended, and its figures.
        reason: Why it was drafted as deep as it was in the end; None when nothing was decided.
    """

    text: str
    tokens: tuple[int, ...]
    finished: Finished
    reason: DepthReason | None


class TerminalSession:
    """An engine with a model in it.

    Args:
        engine: Has loaded the model.
        info: The model.

    Attributes:
        info: The model.
    """

    def __init__(self, engine: EngineProtocol, info: ModelInfo) -> None:
        self._engine = engine
        self.info = info
        self._count = 0

    def answer(
        self,
        messages: Sequence[ChatMessage],
        sampler: SamplerConfig,
        write: Callable[[str], None],
        *,
        max_tokens: int | None,
        stop: tuple[str, ...],
    ) -> TerminalAnswer:
        """Answer a chat; Ctrl-C ends the answer, a second one the command.

        Args:
            messages: The turns so far.
            sampler: How tokens are chosen.
            write: Gets the text piece by piece.
            max_tokens: Limit of the answer, None for the context window.
            stop: Strings that end the answer.

        Raises:
            EngineError: The engine could not answer.
        """
        self._count += 1
        request = Generate(self._count, tuple(messages), sampler, max_tokens, stop)
        cancelled = threading.Event()
        line = ProgressLine(sys.stderr)
        pieces: list[str] = []
        tokens: list[int] = []
        finished: Finished | None = None
        reason: DepthReason | None = None
        with output.ctrl_c_calls(cancelled.set), contextlib.closing(line):
            for event in self._engine.generate(request, cancelled):
                if isinstance(event, PrefillProgress):
                    _show_reading(event, line)
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
    """Load a model, by default the one that the person chose, and show on stderr how far that is.

    Args:
        model: An installed model or a folder, None for the default.
        draft_model: One that drafts for it, "" for none.
        data: The folder of the person's models.
        new_engine: Makes the engine.
        anyway: Load it even when it will not fit into memory.

    Raises:
        EngineError: There is no such model, or it cannot be loaded.
    """
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        folder = find_model(model, data, line)
        engine = new_engine()
        # Over in a second or two: a line that is taken away again helps, lines that stay do not.
        report = line if line.terminal else _unseen
        info = engine.load(str(folder), data, report, threading.Event(), draft_model, anyway=anyway)
        return TerminalSession(engine, info)


def find_model(model: str | None, data: Path, report: Report) -> Path:
    """Return the folder of a model, by default the one that the person chose; without a choice it is the starter.

    The starter is set up when it is missing.

    Raises:
        EngineError: There is no such model, or the starter could not be set up.
    """
    chosen = ModelPreferences(data).default() if model is None else None
    if chosen is not None:
        if not chosen.is_dir():
            raise EngineError(
                ErrorKind.NOT_FOUND,
                f"The default model is not at {chosen} any more. Choose another one (mtplx models default NAME), or "
                "name one with --model.",
            )
        return chosen
    if model is None or model == starter.shipped_recipe().id:
        return starter.ensure(data, report)
    return library.resolve_model(model, data)


def new_engine() -> EngineProtocol:
    """Return the real engine; imports mlx, so the BLAS of this process is chosen first."""
    backend.prepare()
    from mtplx_engine import engine

    return engine.Engine()


def _unseen(_fraction: float, _phase: str) -> None:
    """Report nothing."""


def _show_reading(event: PrefillProgress, line: ProgressLine) -> None:
    fresh = event.total - event.cached
    if fresh >= _LONG_PROMPT and line.terminal:
        line((event.done - event.cached) / fresh, f"Reading {fresh} tokens")
