"""Where a model came from and how it is stored, as its folder says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.engine import Engine
from mtplx_engine.models import checkpoint, identity, manifest
from mtplx_engine.models.manifest import Manifest
from mtplx_engine.models.safetensors_header import TensorSpec
from tests.support import engine_runs, tiny_folder

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.checkpoint import Checkpoint


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def plain(tmp_path: Path) -> Checkpoint:
    tiny_folder.write(tmp_path, head=False)
    return checkpoint.check(tmp_path)


def _noted(folder: Path, source: str, revision: int = 1) -> Manifest:
    return Manifest("id", "A model", "mit", source, revision, manifest.record_files(folder, ["config.json"]))


@pytest.mark.parametrize(
    ("source", "revision"),
    [
        (f"https://huggingface.co/owner/name@{COMMIT}", COMMIT),
        ("a-package==0.1.2, model.gguf", "4"),
        ("https://huggingface.co/owner/name@main", "4"),
    ],
)
def test_the_revision_of_an_installed_model(plain: Checkpoint, source: str, revision: str) -> None:
    noted = replace(plain, manifest=_noted(plain.folder, source, revision=4))
    assert identity.revision_of(noted) == revision


def test_the_revision_of_other_folders(plain: Checkpoint, tmp_path: Path) -> None:
    assert identity.revision_of(plain) == ""
    snapshot = tmp_path / "models--owner--name" / "snapshots" / COMMIT
    joined = Manifest("id", "A pair", "", "joined", 1, ())
    assert identity.revision_of(replace(plain, folder=snapshot)) == COMMIT
    assert identity.revision_of(replace(plain, folder=snapshot, manifest=joined)) == COMMIT
    assert identity.revision_of(replace(plain, manifest=joined)) == ""


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bits": 4, "group_size": 64}, "4-bit, group 64"),
        ({"bits": 8, "group_size": 32, "mode": "affine"}, "8-bit, group 32"),
        ({"bits": 4, "group_size": 32, "mode": "mxfp4"}, "4-bit mxfp4, group 32"),
        ({"bits": 4, "group_size": 32, "mode": "<b>"}, "4-bit, group 32"),
        (
            {"bits": 4, "group_size": 64, "lm_head": {"bits": 8, "group_size": 64}, "gate": False},
            "4 to 8-bit, group 64",
        ),
    ],
)
def test_packed_weights(plain: Checkpoint, settings: dict[str, Any], words: str) -> None:
    config = plain.config | {"quantization": settings}
    assert identity.quantization_of(replace(plain, config=config)) == words


@pytest.mark.parametrize(
    ("dtype", "words"),
    [("F32", "float32"), ("BF16", "bfloat16"), ("F16", "float16"), ("F8_E4M3", "float8"), ("U8", "packed")],
)
def test_the_type_of_most_bytes(plain: Checkpoint, dtype: str, words: str) -> None:
    tensors = {
        "norm": TensorSpec("F64" if dtype == "F32" else "F32", (8,), "x", 0),
        "weight": TensorSpec(dtype, (64, 8), "x", 0),
    }
    assert identity.quantization_of(replace(plain, tensors=tensors)) == words


def test_a_loaded_model_tells_all_three(tmp_path: Path) -> None:
    """And its key is that of its depth figures, changes with its files and not with a load."""
    tiny_folder.write(tmp_path, head=False, bits=4)
    manifest.write_manifest(tmp_path, _noted(tmp_path, f"https://huggingface.co/owner/name@{COMMIT}"))
    engine = Engine()
    info = engine_runs.load(engine, tmp_path)
    assert (info.revision, info.quantization) == (COMMIT, "4-bit, group 64")
    assert engine.info == info
    assert len(info.speed_key) == 64
    engine_runs.run(engine, max_tokens=40, temperature=0.0, draft_core="prompt_lookup")
    assert list(json.loads((tmp_path / "depths.json").read_text())["results"]) == [
        f"{info.speed_key} prompt_lookup"
    ]
    assert engine_runs.load(engine, tmp_path).speed_key == info.speed_key
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"extra": 1}))
    assert engine_runs.load(engine, tmp_path).speed_key != info.speed_key
