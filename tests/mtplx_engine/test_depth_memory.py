"""Depth figures outlive the process, and only where nothing that they depend on has changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.depth import DepthController
from mtplx_engine.depth_memory import NAME, DepthMemory
from mtplx_engine.engine import Engine
from tests.support import engine_runs, tiny_folder

if TYPE_CHECKING:
    from pathlib import Path

HERE = "files and machine"


def _measured(data: Path) -> None:
    memory = DepthMemory(data, HERE)
    controller = DepthController(4)
    for _ in range(300):
        depth = controller.choose()
        controller.record(depth, depth, 1.0 + 0.1 * depth)
    assert controller.best == 4
    memory.remember("mtp", controller.figures())


def test_a_new_start_begins_with_the_depth_that_was_best(tmp_path: Path) -> None:
    _measured(tmp_path / "data")
    known = DepthMemory(tmp_path / "data", HERE).recall("mtp")
    assert DepthController(4, known).choose() == 4


@pytest.mark.parametrize(
    ("key", "drafter"), [("others", "mtp"), (HERE, "prompt_lookup"), (f"{HERE} mtp", "")]
)
def test_another_model_machine_or_drafter_is_measured_anew(tmp_path: Path, key: str, drafter: str) -> None:
    _measured(tmp_path)
    assert DepthMemory(tmp_path, key).recall(drafter) is None


@pytest.mark.parametrize(
    "damage",
    [
        {"best": -1},
        {"best": "4"},
        {"costs": None},
        {"costs": [0.0]},
        {"costs": [float("nan")]},
        {"offered": [1]},
        {"accepted": ["x", 1, 1, 1]},
    ],
)
def test_damaged_figures_are_none(tmp_path: Path, damage: dict[str, Any]) -> None:
    _measured(tmp_path)
    path = tmp_path / NAME
    body = json.loads(path.read_text())
    for entry in body["results"].values():
        entry.update(damage)
    path.write_text(json.dumps(body))
    assert DepthMemory(tmp_path, HERE).recall("mtp") is None


def test_the_engine_keeps_what_an_answer_showed(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    tiny_folder.write(folder)
    engine = Engine()
    engine_runs.load(engine, folder)
    engine_runs.run(engine, max_tokens=40, temperature=0.0, draft_core="prompt_lookup")
    entries = json.loads((folder / NAME).read_text())["results"]
    assert len(entries) == 1
    (figures,) = entries.values()
    assert figures["costs"][0] > 0
    engine_runs.run(engine, draft_core="off")
    engine_runs.run(engine, speculative_depth=3)
    assert json.loads((folder / NAME).read_text())["results"] == entries
