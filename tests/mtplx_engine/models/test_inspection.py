"""An inspection says of every kind of folder what it is, soon, and runs nothing of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import inspection
from mtplx_engine.models.inspection import Tier
from mtplx_engine.models.probe_memory import ProbeMemory
from tests.support import model_folder, odd_folders
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
    assert found.footprint.kept.numbers(8192, 64) == 8192 * 30 * 2 * 3 * 64
