"""A replaced file holds the old content or the new one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import durable

if TYPE_CHECKING:
    from pathlib import Path


def test_content_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    durable.replace_file(path, b"old")
    durable.replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_are_on_the_disk_before_the_name_is_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real = os.fsync
    path = tmp_path / "x.json"

    def fsync(descriptor: int) -> None:
        steps.append("named" if path.exists() else "unnamed")
        real(descriptor)

    monkeypatch.setattr(durable, "_FULL_SYNC", None)
    monkeypatch.setattr(os, "fsync", fsync)
    durable.replace_file(path, b"new")
    assert steps == ["unnamed", "named"]


def test_a_failed_write_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    durable.replace_file(path, b"old")

    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable, "sync", full)
    with pytest.raises(OSError, match="No space"):
        durable.replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_breaks_off_in_the_middle_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    durable.replace_file(path, b"old")

    def fail_midway() -> None:
        with durable.replaced(path) as file:
            file.write(b"new, but not all")
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        fail_midway()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
