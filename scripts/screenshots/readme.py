"""The pictures of the README: the real program with the starter model.

Answers are greedy and drafted to a fixed depth, so that the same text comes out each time.
"""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

from app.dashboard.measure_controller import MeasurePlan
from mtplx_engine import paths
from mtplx_engine.measure.measurement import PromptKind
from scripts.screenshots.stage import Stage

_SIZE = (1080, 720)
_EARLIER = ("Name three planets", "A haiku about the sea", "What is a prime number?")
_QUESTIONS = (
    "What is the capital of France?",
    "Write a Python function that reverses a string, and explain it.",
)
_DEPTH = 3
_SPEED_SIZE = (880, 720)
_KINDS = (PromptKind.CHAT, PromptKind.CODE, PromptKind.COPY)
_MEASURING_S = 1800.0
_SHOWN_CHARACTERS = 420  # of the last answer, when the picture is taken


def take(data_dir: Path, out: Path) -> None:
    """Take the pictures with the models that are installed in `data_dir`."""
    models = paths.models_dir(data_dir)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / models.name).symlink_to(models)
        stage = Stage(Path(folder), None, _SIZE)
        stage.program.link.loaded.connect(lambda _: _make_repeatable(stage))
        try:
            _play(stage, out)
        finally:
            stage.close()


def _play(stage: Stage, out: Path) -> None:
    for question in _EARLIER:
        stage.ask(question)
        stage.until(lambda: len(stage.text) > 0)
        stage.program.session.stop()
        stage.program.session.new_chat()
    stage.answer(_QUESTIONS[0])
    stage.ask(_QUESTIONS[1])
    stage.until(lambda: len(stage.text) > _SHOWN_CHARACTERS or not stage.program.session.busy)
    stage.take(None, out, "window")
    stage.program.session.stop()
    stage.menus.tint.trigger()
    stage.take(None, out, "tint")
    stage.menus.tint.trigger()
    stage.menus.inspector.trigger()
    stage.take(None, out, "inspector-real")
    _measure(stage, out)


def _measure(stage: Stage, out: Path) -> None:
    """Have the model measured on this machine, and take what comes of it."""
    stage.until_idle()
    measuring = stage.program.speed.measuring
    window = stage.program.speed.window()
    window.resize(*_SPEED_SIZE)
    window.open_tab(window.pages[1])
    measuring.plan = MeasurePlan(_KINDS)
    measuring.measure()
    stage.until(lambda: measuring.runner.trial is None, _MEASURING_S)
    stage.until(lambda: measuring.shown is not None)
    stage.take(window, out, "dashboard")


def _make_repeatable(stage: Stage) -> None:
    line = stage.program.queue
    if line.model is not None:
        sampler = dataclasses.replace(line.model.recommended, temperature=0.0)
        line.model = dataclasses.replace(line.model, recommended=sampler)
    line.drafting = _DEPTH
