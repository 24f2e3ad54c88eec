"""A manifest says exactly when a model is complete."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.models import manifest
from mtplx_engine.models.manifest import FileRecord, HeadWiring, Manifest

if TYPE_CHECKING:
    from pathlib import Path


HEAD = HeadWiring("mtp", "llama", "after_norm", "embedding_first", "plain", ("mtp.safetensors",))


@pytest.fixture
def written(tmp_path: Path) -> Manifest:
    (tmp_path / "a.bin").write_bytes(b"abc")
    (tmp_path / "b.bin").write_bytes(b"")
    files = manifest.record_files(tmp_path, ["a.bin", "b.bin"])
    found = Manifest("tiny", "Tiny", "MIT", "here", 3, files, HEAD)
    manifest.write_manifest(tmp_path, found)
    return found


def test_what_is_written_is_read(tmp_path: Path, written: Manifest) -> None:
    assert manifest.read_manifest(tmp_path) == written
    manifest.write_manifest(tmp_path, replace(written, head=None))
    assert manifest.read_manifest(tmp_path) == replace(written, head=None)


def test_records_hold_size_and_hash(written: Manifest) -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert written.files[1] == FileRecord("b.bin", 0, empty)
    assert written.files[0].size == 3


def test_complete_means_every_file_with_its_size(tmp_path: Path, written: Manifest) -> None:
    assert manifest.is_complete(tmp_path, written)
    (tmp_path / "a.bin").write_bytes(b"abcd")
    assert manifest.missing_files(tmp_path, written) == ("a.bin",)
    (tmp_path / "b.bin").unlink()
    assert manifest.missing_files(tmp_path, written) == ("a.bin", "b.bin")
    assert not manifest.is_complete(tmp_path, written)


def test_writing_leaves_nothing_beside_it(tmp_path: Path, written: Manifest) -> None:
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bin", "b.bin", manifest.MANIFEST_NAME]


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"files": [{"name": "../a", "size": 1, "sha256": ""}]},
        {"files": [{"name": "/a", "size": 1, "sha256": ""}]},
        {"files": [{"name": "a", "size": "1", "sha256": ""}]},
        {"files": None},
        {"head": {"kind": "mtp"}},
        {"more": 1},
    ],
)
def test_what_is_not_understood_counts_as_no_manifest(
    tmp_path: Path, written: Manifest, change: dict[str, object]
) -> None:
    body = json.loads((tmp_path / manifest.MANIFEST_NAME).read_text())
    (tmp_path / manifest.MANIFEST_NAME).write_text(json.dumps(body | change))
    assert manifest.read_manifest(tmp_path) is None


@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda x: json.dumps(x).encode())
)
def test_rubbish_counts_as_no_manifest(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("rubbish")
    (folder / manifest.MANIFEST_NAME).write_bytes(data)
    assert manifest.read_manifest(folder) is None


def test_no_file_counts_as_no_manifest(tmp_path: Path) -> None:
    assert manifest.read_manifest(tmp_path) is None
