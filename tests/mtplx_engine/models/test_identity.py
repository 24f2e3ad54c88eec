"""The identity of a model changes with everything that changes its outputs; its revision and quantization are read."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.engine import Engine
from mtplx_engine.models import checkpoint, identity, manifest
from mtplx_engine.models.manifest import Manifest
from mtplx_engine.models.safetensors_header import TensorSpec
from tests.support import engine_runs, tiny_folder
from tests.support.toy import TOY

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.checkpoint import Checkpoint


CHECKED = checkpoint.check(TOY)
WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the toy."""
    return shutil.copytree(TOY, tmp_path / "toy")


def of(folder: Path) -> str:
    return identity.identity_of(checkpoint.check(folder))


def flip(folder: Path, place: int) -> None:
    """Change one byte of the weights, and not when they were written."""
    path = folder / WEIGHTS
    before = path.stat().st_mtime_ns
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(before, before))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.json", '"rope_theta": 10000.0', '"rope_theta": 20000.0'),
        ("config.json", '"rms_norm_eps": 1e-06', '"rms_norm_eps": 1e-05'),
        ("tokenizer.json", '"version"', '"Version"'),
        ("tokenizer_config.json", '"pad_token"', '"unk_token"'),
    ],
)
def test_the_key_changes_with_configuration_and_tokenizer(tmp_path: Path, file: str, old: str, new: str) -> None:
    folder = shutil.copytree(TOY, tmp_path / "toy")
    before = of(folder)
    with (folder / "generation_config.json").open("a") as settings:
        settings.write(" ")  # how answers are sampled is no matter
    assert of(folder) == before
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    assert of(folder) != before
    (folder / file).write_text((TOY / file).read_text())
    assert of(folder) == before
    (folder / "added_tokens.json").write_text("{}")
    assert of(folder) != before


@pytest.mark.parametrize("most_read", [0, identity._MOST_READ], ids=["large head", "small head"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_every_tensor_counts_at_its_start_middle_and_end(
    folder: Path, share: float, most_read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "_MOST_READ", most_read)
    assert CHECKED.head
    heads = (location.spec for location in CHECKED.head.tensors.values())
    seen = {before := of(folder)}
    for spec in (*CHECKED.tensors.values(), *heads):
        place = spec.begin + int((spec.size - 1) * share)
        flip(folder, place)
        now = of(folder)
        assert now not in seen, spec
        seen.add(now)
        flip(folder, place)
    assert of(folder) == before


def test_every_byte_of_a_head_counts(folder: Path) -> None:
    assert CHECKED.head
    spec = CHECKED.head.tensors["fc.weight"].spec
    before = of(folder)
    for place in range(spec.begin, spec.begin + spec.size, spec.size // 37):
        flip(folder, place)
        assert of(folder) != before, place
        flip(folder, place)


def test_a_change_that_no_sample_meets_shows_in_the_time(folder: Path) -> None:
    spec = max(CHECKED.tensors.values(), key=lambda spec: spec.size)
    before, place = of(folder), spec.begin + spec.size // 4
    flip(folder, place)
    assert of(folder) == before
    os.utime(folder / WEIGHTS)
    assert of(folder) != before


def test_the_place_of_a_model_is_no_matter(folder: Path) -> None:
    assert of(folder) == of(folder.rename(folder.parent / "elsewhere"))


# ---------------------------------------------------------------- revision and quantization


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def plain(tmp_path: Path) -> Checkpoint:
    tiny_folder.write(tmp_path, head=False)
    return checkpoint.check(tmp_path)


def written_manifest(folder: Path, source: str, revision: int = 1) -> Manifest:
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
    noted = replace(plain, manifest=written_manifest(plain.folder, source, revision=4))
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
    manifest.write_manifest(tmp_path, written_manifest(tmp_path, f"https://huggingface.co/owner/name@{COMMIT}"))
    engine = Engine()
    info = engine_runs.load(engine, tmp_path)
    assert (info.revision, info.quantization) == (COMMIT, "4-bit, group 64")
    assert engine.info == info
    assert len(info.speed_key) == 64
    engine_runs.run(engine, max_tokens=40, temperature=0.0, draft_core="prompt_lookup")
    assert list(json.loads((tmp_path / "depths.json").read_text())["results"]) == [f"{info.speed_key} prompt_lookup"]
    assert engine_runs.load(engine, tmp_path).speed_key == info.speed_key
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"extra": 1}))
    assert engine_runs.load(engine, tmp_path).speed_key != info.speed_key
