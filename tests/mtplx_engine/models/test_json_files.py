"""JSON of a stranger is an object of bounded size in UTF-8, or it is refused."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import json_files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"3",
        b"{",
        b"{}{}",
        b'{"a": 1, "a": 2}',
        '{"a": 1}'.encode("utf-16"),
        '{"a": 1}'.encode("utf-8-sig"),
        b'{"a": "\xff"}',
        b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a": ' + b"9" * 5_000 + b"}",
    ],
)
def test_anything_but_a_plain_object_is_refused(raw: bytes) -> None:
    with pytest.raises(EngineError, match=r"^x\.json ") as caught:
        json_files.parse_json(raw, "x.json")
    assert caught.value.kind is ErrorKind.REFUSED


@given(st.binary(max_size=40))
def test_rubbish_never_raises_anything_else(raw: bytes) -> None:
    with contextlib.suppress(EngineError):
        assert isinstance(json_files.parse_json(raw, "x.json"), dict)


def test_a_file_above_the_limit_is_refused_and_one_at_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"{}".ljust(1 << 20))
    assert json_files.read_json(path, 1 << 20) == {}
    path.write_bytes(b"{}".ljust((1 << 20) + 1))
    with pytest.raises(EngineError, match="is larger than 1 MB"):
        json_files.read_json(path, 1 << 20)
