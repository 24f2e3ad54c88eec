"""Runs a measurement or a check of a model for a command, with word of how far it is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from mtplx_engine import paths
from mtplx_engine.cli import output
from mtplx_engine.errors import LoadCancelledError
from mtplx_engine.ipc.protocol import TrialProgress
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mtplx_engine.cli.session import NewEngine
    from mtplx_engine.host import EngineProtocol
    from mtplx_engine.util.formatting import Report


_Ending = TypeVar("_Ending")


def run(
    folder: Path,
    arguments: argparse.Namespace,
    new_engine: NewEngine,
    report: Report,
    begin: Callable[[EngineProtocol, threading.Event], Iterator[TrialProgress | _Ending]],
) -> _Ending:
    """Load a model and try it on a thread, which mlx then belongs to, so that Ctrl-C is heard at once.

    Args:
        folder: The model.
        arguments: Of the command: where its data are, who drafts, and whether to load it anyway.
        new_engine: Makes the engine.
        report: Told how far it is.
        begin: Begins the trial; what comes last of it is its ending.

    Raises:
        EngineError: It cannot be loaded or tried.
        KeyboardInterrupt: Ctrl-C ended it.
    """
    cancelled = threading.Event()

    def work() -> _Ending | None:
        engine = new_engine()
        data = paths.data_dir(arguments.data_dir)
        engine.load(str(folder), data, report, cancelled, arguments.draft_model, anyway=arguments.anyway)
        for event in begin(engine, cancelled):
            if not isinstance(event, TrialProgress):
                return event
            left = "" if event.left_s is None else f", {formatting.duration(event.left_s)} left"
            report(event.fraction, f"{event.what}{left}")
        return None

    outcome = output.on_thread(work, cancelled.set)
    if outcome is None or isinstance(outcome, LoadCancelledError):
        raise KeyboardInterrupt
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
