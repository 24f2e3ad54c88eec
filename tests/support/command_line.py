"""Runs the `mtplx` command in this process, on the scripted engine."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtplx_engine.cli.main import main
from mtplx_engine.ipc.protocol import Tokens
from tests.support.fake_host import ScriptedEngine
from tests.support.fake_script import Script

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mtplx_engine.ipc.protocol import Finished, Generate, ModelInfo, PrefillProgress


@dataclass
class Command:
    """The command with a scripted engine behind it.

    Attributes:
        script: What the engine does.
        ctrl_c_after: Press Ctrl-C after so many events with tokens of each answer.
        model: Value of --model.
        requests: What the engine was asked, in order.
        draft_model: With which it was loaded.
        anyway: Whether it was to be loaded even when it will not fit.
    """

    script: Script = field(default_factory=lambda: Script(answer="You said: {question}", cycle_s=0, window=1_000_000))
    ctrl_c_after: int | None = None
    model: str = "."
    requests: list[Generate] = field(default_factory=list)
    draft_model: str | None = None
    anyway: bool | None = None

    def run(self, name: str, *arguments: str) -> int:
        """Run a command that needs a model and return its exit code."""
        return main([name, "--model", self.model, *arguments], lambda: _Engine(self))


class _Engine(ScriptedEngine):
    def __init__(self, command: Command) -> None:
        super().__init__(command.script)
        self._command = command

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
        self._command.draft_model, self._command.anyway = draft_model, anyway
        return super().load(model, data_dir, report, cancelled, draft_model, anyway=anyway)

    def generate(self, request: Generate, cancelled: threading.Event) -> Iterator[PrefillProgress | Tokens | Finished]:
        self._command.requests.append(request)
        seen = 0
        for event in super().generate(request, cancelled):
            yield event
            if not isinstance(event, Tokens):
                continue
            seen += 1
            if seen == self._command.ctrl_c_after:
                signal.raise_signal(signal.SIGINT)  # unlike kill, sure to come before the next event
