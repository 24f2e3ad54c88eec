"""A replaced file holds the old content or the new one."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.util import files
from mtplx_engine.util.files import JsonStore, read_as, read_json, write_json

if TYPE_CHECKING:
    from pathlib import Path


def test_content_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    files.replace_file(path, b"old")
    files.replace_file(path, b"new")
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

    monkeypatch.setattr(files, "_FULL_SYNC", None)
    monkeypatch.setattr(os, "fsync", fsync)
    files.replace_file(path, b"new")
    assert steps == ["unnamed", "named"]


def test_a_failed_write_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    files.replace_file(path, b"old")

    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "sync", full)
    with pytest.raises(OSError, match="No space"):
        files.replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_breaks_off_in_the_middle_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    files.replace_file(path, b"old")

    def fail_midway() -> None:
        with files.replaced(path) as file:
            file.write(b"new, but not all")
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        fail_midway()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@dataclasses.dataclass(frozen=True)
class Noted:
    name: str
    sizes: tuple[int, ...] = ()


UNREADABLE = (
    b"",
    b"{",
    b"[]",
    b"\xff\xfe",
    b'{"format": 2, "results": {"a": 1}}',
    b'{"format": 1, "results": [1]}',
)


@pytest.mark.parametrize("content", UNREADABLE)
def test_what_cannot_be_read_is_set_aside_before_it_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(content)
    kept = JsonStore(path, 1)
    kept.drop("a")
    assert path.read_bytes() == content
    kept.put("b", 2)
    assert kept.all() == {"b": 2}
    assert [each.read_bytes() for each in tmp_path.glob("*.unreadable-*")] == [content]


def test_what_was_set_aside_before_stays(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    for content in UNREADABLE:
        path.write_bytes(content)
        JsonStore(path, 1).put("a", 1)
    aside = sorted(tmp_path.glob("*.unreadable-*"), key=lambda each: each.name)
    assert tuple(each.read_bytes() for each in aside) == UNREADABLE


def test_what_can_be_read_is_not_set_aside(tmp_path: Path) -> None:
    kept = JsonStore(tmp_path / "kept.json", 1)
    for number in range(3):
        kept.put(str(number), number)
    kept.drop("1")
    assert kept.all() == {"0": 0, "2": 2}
    assert not [*tmp_path.glob("*.unreadable-*")]


def test_what_is_written_is_read_as_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "noted.json"
    write_json(path, dataclasses.asdict(Noted("a", (1, 2))), indent=1, end="\n", mode=0o600)
    assert path.read_text() == '{\n "name": "a",\n "sizes": [\n  1,\n  2\n ]\n}\n'
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_as(Noted, path) == Noted("a", (1, 2))
    assert [each.name for each in path.parent.iterdir()] == ["noted.json"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"3", b"\xff\xfe", b'{"name": 1}', b'{"name": "a", "more": 1}', b"[" * 100_000],
)
def test_another_file_is_refused_with_one_kind_of_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "noted.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="holds no Noted"):
        read_as(Noted, path)


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "noted.json"
    path.write_text("[0]")
    assert read_json(path, 3) == [0]
    with pytest.raises(ValueError, match=r"noted\.json has more than 2 bytes"):
        read_json(path, 2)
