"""Folders as users write them."""

from __future__ import annotations

import pwd
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from pathlib import Path


def test_an_override_is_made_absolute_and_takes_the_logs_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.data_dir("some/where") == tmp_path / "some/where"
    assert paths.data_dir("~/mine") == tmp_path / "mine"
    assert paths.log_dir("~/mine") == tmp_path / "mine/logs"
    assert paths.models_dir(tmp_path) == tmp_path / "models"


def test_an_unknown_home_is_an_error_with_a_sentence() -> None:
    for find in (paths.data_dir, paths.log_dir, paths.folder):
        with pytest.raises(EngineError, match="no home folder as in ~nosuch/x") as caught:
            find("~nosuch/x")
        assert caught.value.kind is ErrorKind.BAD_REQUEST


def test_the_app_around_the_code_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = tmp_path / "Odd.app" / "MTPLX.app"
    inside = app / "Contents" / "Resources" / "lib" / "resources"
    monkeypatch.setattr(paths, "resources", lambda: inside)
    assert paths.bundle() is None  # a folder may be called anything
    (app / "Contents").mkdir(parents=True)
    (app / "Contents" / "Info.plist").touch()
    assert paths.bundle() == app


def test_the_resources_are_beside_the_packages() -> None:
    assert (paths.resources() / "starter" / "recipe.json").is_file()


def test_a_user_without_a_home_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system's own users: no HOME, and no entry among the users."""

    def missing(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME", raising=False)
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", missing)
    for find in (paths.data_dir, paths.log_dir):
        with pytest.raises(EngineError, match="no home folder; choose another one with --data-dir") as caught:
            find()
        assert caught.value.kind is ErrorKind.BAD_REQUEST
