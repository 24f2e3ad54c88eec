"""The pictures of the README: the real program with the starter model, light and dark, without a screen.

`make screenshots` writes them to `docs/`. Answers are greedy and drafted to a fixed depth, so that the same text comes
out each time.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.application import Application
    from app.palette import Palette

_DOCS = Path(__file__).parent.parent / "docs"
_SIZE = (1080, 720)
_SCALE = 2
_WAIT_S = 180.0
_EARLIER = ("Name three planets", "A haiku about the sea", "What is a prime number?")
_QUESTIONS = (
    "What is the capital of France?",
    "Write a Python function that reverses a string, and explain it.",
)
_DEPTH = 3
_SHOWN_CHARACTERS = 420  # of the last answer, when the picture is taken


def main() -> int:
    """Take the pictures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, help="where the starter model is")
    parser.add_argument("--out", type=Path, default=_DOCS, help="where the pictures go")
    options = parser.parse_args()
    os.environ.update(QT_QPA_PLATFORM="offscreen", QT_SCALE_FACTOR=str(_SCALE))
    models = paths.models_dir(paths.data_dir(options.data_dir))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / models.name).symlink_to(models)
        _take(Path(folder), options.out)
    return 0


def _take(data_dir: Path, out: Path) -> None:
    from PySide6.QtWidgets import QApplication

    from app.application import Application
    from app.palette import DARK, LIGHT
    from mtplx_engine.client import EngineClient

    qt = QApplication([])
    logs = data_dir / "logs"
    program = Application(qt, data_dir, logs, partial(EngineClient, logs))
    program.link.loaded.connect(lambda _: _make_repeatable(program))
    program.show()
    program.window.resize(*_SIZE)
    try:
        for question in _EARLIER:
            _ask(program, question)
            _until(lambda: len(_answer(program)) > 0)
            program.session.stop()
            program.session.new_chat()
        _ask(program, _QUESTIONS[0])
        _until(lambda: not program.session.busy)
        _ask(program, _QUESTIONS[1])
        _until(lambda: len(_answer(program)) > _SHOWN_CHARACTERS or not program.session.busy)
        out.mkdir(parents=True, exist_ok=True)
        for name, palette in (("light", LIGHT), ("dark", DARK)):
            _grab(program, palette, out / f"window-{name}.png")
    finally:
        program.window.close()
        program.close()


def _make_repeatable(program: Application) -> None:
    model = program.line.model
    if model is not None:
        sampler = dataclasses.replace(model.recommended, temperature=0.0)
        program.line.model = dataclasses.replace(model, recommended=sampler)
    program.line.drafting = _DEPTH


def _ask(program: Application, question: str) -> None:
    composer = program.window.pane.composer
    composer.set_text(question)
    composer.edit.submitted.emit()


def _answer(program: Application) -> str:
    return program.session.shown.path()[-1].text


def _grab(program: Application, palette: Palette, path: Path) -> None:
    from PySide6.QtWidgets import QApplication

    program.theme.use(palette)
    QApplication.processEvents()
    program.window.grab().save(str(path))
    print(path)


def _until(condition: Callable[[], bool]) -> None:
    """Let the program run until something is so.

    Raises:
        TimeoutError: It did not come.
    """
    from PySide6.QtCore import QEventLoop
    from PySide6.QtWidgets import QApplication

    deadline = time.monotonic() + _WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the model did not answer in time")
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 50)


if __name__ == "__main__":
    sys.exit(main())
