"""A list says of each model what an inspection says, and inspects again only what has changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.models import inspection, model_config, pair
from mtplx_engine.models.inspection import Tier
from mtplx_engine.models.inspections import Inspections
from mtplx_engine.models.probe_memory import ProbeMemory
from tests.support import model_folder, toy_pair

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return model_folder.write(paths.models_dir(tmp_path) / "model")


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that were inspected."""
    looked: list[Path] = []
    inspect = inspection.inspect

    def count(folder: Path, memory: ProbeMemory) -> inspection.Inspection:
        looked.append(folder)
        return inspect(folder, memory)

    monkeypatch.setattr(inspection, "inspect", count)
    return looked


def test_what_has_not_changed_is_inspected_once(folder: Path, tmp_path: Path, looked: list[Path]) -> None:
    for _ in range(2):
        grade = Inspections(tmp_path).grade(folder)
        assert grade is not None
        assert (grade.tier, grade.loads) == (Tier.NO_HEAD, True)
    assert looked == [folder]


@pytest.mark.parametrize(
    ("name", "content", "tier"),
    [
        ("run.py", b"", Tier.REFUSED),
        ("model.safetensors", b"short", Tier.REFUSED),
        ("tokenizer.json", b"{}", Tier.REFUSED),
        (model_config.NAME, b'{"model_type": "mamba9"}', Tier.UNSUPPORTED),
    ],
)
def test_any_change_counts_and_the_tier_is_that_of_inspect(
    folder: Path, tmp_path: Path, name: str, content: bytes, tier: Tier
) -> None:
    inspections = Inspections(tmp_path)
    inspections.grade(folder)
    (folder / name).write_bytes(content)
    grade, found = inspections.grade(folder), inspection.inspect(folder, ProbeMemory(tmp_path))
    assert grade is not None
    assert (grade.tier, grade.reason, grade.loads) == (tier, found.reason, False)


def test_files_that_are_the_same_but_for_their_time_are_inspected_again(
    folder: Path, tmp_path: Path, looked: list[Path]
) -> None:
    inspections = Inspections(tmp_path)
    inspections.grade(folder)
    os.utime(folder / "model.safetensors", (1, 1))
    inspections.grade(folder)
    (folder / "tokenizer.json").rename(tmp_path / "elsewhere")
    (folder / "tokenizer.json").symlink_to(tmp_path / "elsewhere")
    inspections.grade(folder)
    (tmp_path / "probes.json").write_text("{}")  # the probe has something to say
    inspections.grade(folder)
    assert len(looked) == 4


def test_the_folders_of_a_pair_count_too(tmp_path: Path, looked: list[Path]) -> None:
    target, head = toy_pair.write(tmp_path / "elsewhere")
    joined = pair.join(target, head, tmp_path, "pair")
    inspections = Inspections(tmp_path)
    assert inspections.grade(joined) == inspections.grade(joined)
    assert len(looked) == 1
    (target / "run.py").write_text("")
    grade = inspections.grade(joined)
    assert grade is not None
    assert grade.tier is Tier.REFUSED


@pytest.mark.parametrize("kept", ["", "[]", '{"format": 1, "results": {"%s": 3}}'])
def test_what_was_kept_and_makes_no_sense_is_not_believed(folder: Path, tmp_path: Path, kept: str) -> None:
    (tmp_path / "inspected.json").write_text(kept.replace("%s", str(folder)))
    grade = Inspections(tmp_path).grade(folder)
    assert grade is not None
    assert grade.loads


def test_where_nothing_can_be_read_there_is_no_tier(tmp_path: Path) -> None:
    assert Inspections(tmp_path).grade(tmp_path / "nowhere") is None
