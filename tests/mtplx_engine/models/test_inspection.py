"""An inspection says of every kind of folder what it is, soon, and runs nothing of it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import config_checks, inspection, pairing
from mtplx_engine.models.inspection import Inspections, ProbeMemory, Tier
from tests.support import model_folder, odd_folders, toy_pair
from tests.support.odd_folders import GOOD, HOSTILE, WRONG, Case

if TYPE_CHECKING:
    from pathlib import Path


CASES = (*GOOD, *WRONG, *HOSTILE)
MOST_SECONDS = 0.1


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_tier_and_reason(tmp_path: Path, case: Case) -> None:
    folder = tmp_path / "model"
    case.build(folder)
    memory = ProbeMemory(tmp_path)
    started = time.process_time()
    found = inspection.inspect(folder, memory)
    taken = time.process_time() - started
    assert found.tier is case.tier, found.reason
    assert case.reason in found.reason
    assert found.loads == (found.footprint is not None)
    assert not odd_folders.canary(folder).exists()
    assert taken < MOST_SECONDS


def test_the_table_is_long_enough_and_has_all_tiers() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 40
    assert {case.tier for case in CASES} == set(Tier)


def test_what_the_canary_watches_for_would_touch_it(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    next(case for case in HOSTILE if case.name == "code").build(folder)
    exec((folder / "modeling.py").read_text())
    assert odd_folders.canary(folder).exists()


def test_a_place_without_a_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        inspection.inspect(tmp_path / "none", ProbeMemory(tmp_path))
    assert caught.value.kind is ErrorKind.NOT_FOUND


def test_what_cannot_chat_is_told(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path / "tiny")
    (note,) = inspection.inspect(folder, ProbeMemory(tmp_path)).notes
    assert "has no chat template, so it cannot chat" in note
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert inspection.inspect(folder, ProbeMemory(tmp_path)).notes == ()


def test_the_starter_is_verified(starter_dir: Path, tmp_path: Path) -> None:
    found = inspection.inspect(starter_dir, ProbeMemory(tmp_path))
    assert (found.tier, found.family, found.notes) == (Tier.VERIFIED, "llama", ())
    assert found.footprint
    assert 134e6 * 4 < found.footprint.weights < 135e6 * 4
    assert found.footprint.caches.numbers(8192, 64) == 8192 * 30 * 2 * 3 * 64


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
        (config_checks.CONFIG_NAME, b'{"model_type": "mamba9"}', Tier.UNSUPPORTED),
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
    joined = pairing.join(target, head, tmp_path, "pair")
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
