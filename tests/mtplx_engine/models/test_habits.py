"""The default model and the times of use are kept from one start to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models.habits import Habits

if TYPE_CHECKING:
    from pathlib import Path


def test_the_last_use_is_kept(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    Habits(tmp_path).note_use(one, now_s=17.6)
    Habits(tmp_path).note_use(one, now_s=18.2)
    assert Habits(tmp_path).last_used(one) == 18
    assert Habits(tmp_path).last_used(other) is None


def test_the_default_is_kept(tmp_path: Path) -> None:
    assert Habits(tmp_path).default() is None
    for chosen in (tmp_path / "one", tmp_path / "other", None):
        Habits(tmp_path).set_default(chosen)
        assert Habits(tmp_path).default() == chosen


def test_a_choice_that_cannot_be_noted_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(EngineError) as caught:
        Habits(tmp_path / "data").set_default(tmp_path)
    assert caught.value.kind is ErrorKind.STORAGE


@pytest.mark.parametrize("entry", ['"x"', "true", "[]", "null"])
def test_odd_notes_are_none(tmp_path: Path, entry: str) -> None:
    for name, key in (("used.json", str(tmp_path)), ("chosen.json", "default")):
        value = entry if name == "used.json" else "7"
        (tmp_path / name).write_text(f'{{"format": 1, "results": {{"{key}": {value}}}}}')
    assert Habits(tmp_path).last_used(tmp_path) is None
    assert Habits(tmp_path).default() is None
