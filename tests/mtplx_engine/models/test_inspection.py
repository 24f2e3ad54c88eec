"""An inspection says of every kind of folder what it is, soon, and runs nothing of it."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, inspection, memory_need, safetensors_header
from mtplx_engine.models.families.tensor_lists import LISTS
from mtplx_engine.models.inspection import Tier
from mtplx_engine.models.probe_memory import ProbeMemory
from tests.support import model_folder, odd_folders
from tests.support.model_folder import HEAD, TENSORS
from tests.support.odd_folders import GOOD, HOSTILE, WRONG, Case

if TYPE_CHECKING:
    from collections.abc import Mapping
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
    assert found.loads == (found.memory is not None)
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


def test_what_was_not_compared_is_told(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path, config=model_folder.CONFIG | {"model_type": "mimo"})
    assert "no list of those of MiMo models" in inspection.inspect(folder, ProbeMemory(tmp_path)).notes[-1]


def test_the_starter_is_verified(starter_dir: Path, tmp_path: Path) -> None:
    found = inspection.inspect(starter_dir, ProbeMemory(tmp_path))
    assert (found.tier, found.family, found.notes) == (Tier.VERIFIED, "llama", ())
    assert found.memory
    assert 138e6 * 4 < found.memory.weights < 140e6 * 4  # trunk, head and the ids of its draft vocabulary
    assert found.memory.cache == 4 * 8192 * 30 * 2 * 3 * 64


# ---------------------------------------------------------------- memory


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")


def need(folder: Path) -> memory_need.MemoryNeed:
    found = checkpoint.check(folder)
    return memory_need.of(found.config, found.tensors, found.head)


def count(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> int:
    """Return how many numbers tensors hold."""
    return sum(math.prod(shape) for _, shape in tensors.values())


@pytest.mark.usefixtures("mac")
def test_on_a_mac_weights_take_what_their_files_do(tmp_path: Path) -> None:
    next(case for case in GOOD if case.name == "quantized").build(tmp_path)
    files = safetensors_header.read(tmp_path / "model.safetensors")
    assert need(tmp_path).weights == sum(spec.size for spec in files.values())


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_weights_are_unpacked_to_four_bytes_each(tmp_path: Path) -> None:
    next(case for case in GOOD if case.name == "quantized").build(tmp_path)
    wider = model_folder.CONFIG | {"hidden_size": 32}
    assert need(tmp_path).weights == 4 * count(model_folder.tensors(LISTS["llama"].trunk.shapes(wider)))


@pytest.mark.usefixtures("elsewhere")
def test_the_head_counts(tmp_path: Path) -> None:
    next(case for case in GOOD if case.name == "file").build(tmp_path)
    assert need(tmp_path).weights == 4 * (count(TENSORS) + count(HEAD))


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({}, 2 * 2 * 2),
        ({"num_key_value_heads": 1, "head_dim": 8}, 2 * 8),
        ({"num_hidden_layers": 8, "full_attention_interval": 4}, 2 * (2 * 2 * 2)),
        ({"kv_lora_rank": 16, "qk_rope_head_dim": 4}, 20),
    ],
)
def test_the_cache_holds_what_the_layers_keep(tmp_path: Path, changes: dict[str, int], numbers: int) -> None:
    config = model_folder.CONFIG | changes
    weights = model_folder.safetensors(model_folder.tensors(LISTS["llama"].trunk.shapes(config)))
    files = {"model.safetensors": weights}
    folder = model_folder.write(tmp_path, config=config, files=files)
    assert need(folder).cache == 4 * memory_need.CONTEXT * numbers
    assert need(folder).token_bytes == 4 * numbers
    short = model_folder.write(tmp_path, config=config | {"max_position_embeddings": 100}, files=files)
    assert need(short).cache == 4 * 100 * numbers


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("shortfall", [0, 1])
def test_what_is_larger_than_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shortfall: int
) -> None:
    folder = model_folder.write(tmp_path)
    monkeypatch.setattr(memory_need, "installed_memory", lambda: 4 * count(TENSORS) - shortfall)
    found = inspection.inspect(folder, ProbeMemory(tmp_path))
    assert found.tier is (Tier.REFUSED if shortfall else Tier.NO_HEAD)
    assert ("this machine has 0.0 GB of memory" in found.reason) == bool(shortfall)
