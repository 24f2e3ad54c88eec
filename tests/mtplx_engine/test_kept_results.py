"""Entries outlive a start, and what this version cannot read is set aside instead of being replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine.kept_results import KeptResults

if TYPE_CHECKING:
    from pathlib import Path

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
    kept = KeptResults(path, 1)
    kept.drop("a")
    assert path.read_bytes() == content
    kept.put("b", 2)
    assert kept.all() == {"b": 2}
    assert [each.read_bytes() for each in tmp_path.glob("*.unreadable-*")] == [content]


def test_what_was_set_aside_before_stays(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    for content in UNREADABLE:
        path.write_bytes(content)
        KeptResults(path, 1).put("a", 1)
    aside = sorted(tmp_path.glob("*.unreadable-*"), key=lambda each: each.name)
    assert tuple(each.read_bytes() for each in aside) == UNREADABLE


def test_what_can_be_read_is_not_set_aside(tmp_path: Path) -> None:
    kept = KeptResults(tmp_path / "kept.json", 1)
    for number in range(3):
        kept.put(str(number), number)
    kept.drop("1")
    assert kept.all() == {"0": 0, "2": 2}
    assert not [*tmp_path.glob("*.unreadable-*")]
