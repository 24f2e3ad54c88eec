"""A child process compares the tensors of a folder with mlx-lm's classes, and reads no byte of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx
import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, inspection, tensor_report_child, weights
from mtplx_engine.models.inspection import ProbeMemory, Tier
from mtplx_engine.util import child_process
from tests.support import odd_folders
from tests.support.checkpoints import hybrid, plain, shards
from tests.support.odd_folders import GOOD, HOSTILE, INCOMPLETE, Case

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("case", GOOD, ids=[case.name for case in GOOD])
def test_nothing_is_said_of_what_is_whole(tmp_path: Path, case: Case) -> None:
    case.build(tmp_path / "model")
    found = tensor_report_child.report(tmp_path / "model")
    assert found == {"refused": "", "details": "", "head": ""}


@pytest.mark.parametrize("case", INCOMPLETE, ids=[case.name for case in INCOMPLETE])
def test_what_does_not_fit_is_named(tmp_path: Path, case: Case) -> None:
    case.build(tmp_path / "model")
    assert case.reason in tensor_report_child.report(tmp_path / "model")["refused"]


@pytest.mark.parametrize("case", HOSTILE, ids=[case.name for case in HOSTILE])
def test_what_is_hostile_is_refused_before(tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the folder has changed since the parent looked at it."""
    monkeypatch.setattr(weights, "load", lambda _: pytest.fail("was read"))
    case.build(tmp_path / "model")
    assert case.reason in tensor_report_child.report(tmp_path / "model")["refused"]
    assert not odd_folders.canary(tmp_path / "model").exists()


@pytest.mark.parametrize("name", plain.PLAIN)
def test_models_that_only_decode_plainly_are_compared_too(tmp_path: Path, name: str) -> None:
    plain.PLAIN[name].write(tmp_path)
    assert tensor_report_child.report(tmp_path) == {"refused": "", "details": "", "head": ""}


def test_the_head_is_compared_with_its_own_class(tmp_path: Path) -> None:
    tensors, gone = hybrid.QWEN3_5.converted(), "mtp.layers.0.self_attn.k_norm.weight"
    kept = {name: array for name, array in tensors.items() if not name.endswith(gone)}
    shards.write(tmp_path, hybrid.QWEN3_5.config, kept)
    found = tensor_report_child.report(tmp_path)
    assert found["refused"] == ""
    assert "layers.0.self_attn.k_norm.weight is missing), so it is off" in found["head"]


def test_no_byte_of_the_weights_is_read(starter_dir: Path) -> None:
    checked = checkpoint.check(starter_dir)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    model = weights.load(checked)
    assert mx.get_peak_memory() - before < 1 << 20 < checked.total_bytes
    del model


def test_an_inspection_asks_the_child(tmp_path: Path) -> None:
    case = INCOMPLETE[0]
    case.build(tmp_path / "model")
    quick = inspection.inspect(tmp_path / "model", ProbeMemory(tmp_path))
    found = inspection.inspect(tmp_path / "model", ProbeMemory(tmp_path), tensors=True)
    assert (quick.loads, found.loads, found.tier) == (True, False, Tier.REFUSED)
    assert case.reason in found.reason


def test_a_head_that_the_child_finds_unfit_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    next(case for case in GOOD if case.name == "file").build(tmp_path / "model")
    (tmp_path / "answer").write_text('{"refused": "", "details": "", "head": "It does not fit."}')

    def answer(_: str, arguments: list[str], *__: object) -> int:
        (tmp_path / "answer").rename(arguments[1])
        return 0

    monkeypatch.setattr(child_process, "run", answer)
    found = inspection.inspect(tmp_path / "model", ProbeMemory(tmp_path), tensors=True)
    assert (found.tier, found.reason) == (Tier.NO_HEAD, "It does not fit.")
    assert found.footprint
    assert (found.footprint.head, found.footprint.head_layers) == (0, 0)


def test_a_child_that_dies_is_no_fault_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "_TENSOR_CHILD", "no_such_module")
    GOOD[0].build(tmp_path / "model")
    with pytest.raises(EngineError, match="could not be compared") as caught:
        inspection.inspect(tmp_path / "model", ProbeMemory(tmp_path), tensors=True)
    assert caught.value.kind is ErrorKind.INTERNAL
    assert "no_such_module" in caught.value.info.details


def test_a_child_that_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "_TENSOR_LIMIT_S", 0.0)
    GOOD[0].build(tmp_path / "model")
    with pytest.raises(EngineError, match="could not be compared") as caught:
        inspection.inspect(tmp_path / "model", ProbeMemory(tmp_path), tensors=True)
    assert caught.value.info.details == "no answer in 0 s"
