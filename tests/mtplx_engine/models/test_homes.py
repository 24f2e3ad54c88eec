"""New models go where the person says; what is installed elsewhere stays there, is used, and is never lost."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import installed, manifest
from mtplx_engine.models.homes import INCOMING, Homes
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    folder = tmp_path / "disk" / "models"
    folder.mkdir(parents=True)
    return folder


def install(home: Path, name: str) -> Path:
    folder = model_folder.write(home / name)
    files = manifest.record(folder, sorted(path.name for path in folder.iterdir()))
    manifest.write(folder, Manifest(name, name.title(), "mit", "a hub", 1, files))
    return folder


def test_without_a_choice_it_is_the_data_folders_own(data: Path) -> None:
    homes = Homes(data)
    assert homes.current == homes.own == paths.models_dir(data)
    assert homes.all() == (homes.own,)
    assert homes.is_there(homes.current)
    assert not data.exists()  # looking notes nothing


def test_a_choice_is_kept_and_what_is_elsewhere_stays(data: Path, disk: Path, tmp_path: Path) -> None:
    install(paths.models_dir(data), "first")
    Homes(data).choose(disk)
    second = install(disk, "second")
    other = tmp_path / "other"
    other.mkdir()
    Homes(data).choose(other)
    install(other, "third")
    assert Homes(data).current == other
    assert [model.name for model in installed.models(data)] == ["first", "second", "third"]
    assert {model.place for model in installed.models(data)} == {""}
    assert installed.resolve("Second", data) == second
    Homes(data).choose(None)
    assert Homes(data).current == paths.models_dir(data)
    assert installed.resolve("second", data) == second
    installed.remove(second, data)
    assert not second.exists()
    assert [model.name for model in installed.models(data)] == ["first", "third"]


@pytest.mark.parametrize("remains", ["nothing", "an empty folder"])
def test_a_disk_that_is_away_takes_nothing_off_the_list(data: Path, disk: Path, remains: str) -> None:
    """Also where its mount point stays."""
    Homes(data).choose(disk)
    install(disk, "model")
    assert installed.models(data)[0].there
    away = disk.parent.with_name("away")
    disk.parent.rename(away)
    if remains == "an empty folder":
        disk.mkdir(parents=True)
    homes = Homes(data)
    assert homes.current == disk
    assert not homes.is_there(disk)
    (model,) = installed.models(data)
    assert (model.name, model.there, model.path) == ("model", False, disk / "model")
    for act in (partial(installed.resolve, "model"), partial(installed.remove, disk / "model")):
        with pytest.raises(
            EngineError, match=r"which is not there at the moment. Connect its disk"
        ) as caught:
            act(data)
        assert caught.value.kind is ErrorKind.NOT_FOUND
    if disk.parent.exists():
        shutil.rmtree(disk.parent)
    away.rename(disk.parent)
    assert installed.models(data)[0].there


def test_a_copy_that_is_there_is_taken_before_one_that_is_not(data: Path, disk: Path) -> None:
    Homes(data).choose(disk)
    install(disk, "model")
    assert installed.models(data)[0].there
    shutil.rmtree(disk)
    own = install(paths.models_dir(data), "model")
    assert installed.resolve("model", data) == own


def test_what_the_person_put_there_is_not_ours(data: Path, disk: Path) -> None:
    own = model_folder.write(disk / "own")
    (disk / "notes.txt").write_text("mine")
    Homes(data).choose(disk)
    assert installed.models(data) == ()
    with pytest.raises(EngineError):
        installed.remove(own, data)
    assert own.is_dir()
    assert {path.name for path in disk.iterdir()} == {"own", "notes.txt", INCOMING}


def test_the_last_model_may_go(data: Path, disk: Path) -> None:
    Homes(data).choose(disk)
    folder = install(disk, "model")
    assert installed.models(data)
    installed.remove(folder, data)
    assert installed.models(data) == ()


def test_a_folder_that_is_no_place_is_refused(data: Path, disk: Path, tmp_path: Path) -> None:
    homes = Homes(data)
    homes.choose(disk)
    model = model_folder.write(tmp_path / "model")
    inside = paths.models_dir(data) / "sub"
    inside.mkdir(parents=True)
    (tmp_path / "file").touch()
    for folder, kind, words in (
        (tmp_path / "nowhere", ErrorKind.NOT_FOUND, "There is no folder"),
        (tmp_path / "file", ErrorKind.NOT_FOUND, "There is no folder"),
        (model, ErrorKind.BAD_REQUEST, "is a model's own folder"),
        (inside, ErrorKind.BAD_REQUEST, "is inside the usual models folder"),
    ):
        with pytest.raises(EngineError, match=words) as caught:
            homes.choose(folder)
        assert caught.value.kind is kind
    assert homes.current == disk


def test_a_folder_that_cannot_be_written_is_refused(
    data: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr("mtplx_engine.models.homes.tempfile.TemporaryFile", fail)
    with pytest.raises(EngineError, match="cannot be written to") as caught:
        Homes(data).choose(disk)
    assert caught.value.kind is ErrorKind.STORAGE
    assert Homes(data).current == paths.models_dir(data)


def test_a_choice_that_cannot_be_noted_is_said(data: Path, disk: Path) -> None:
    data.touch()  # where the data folder should be is a file
    with pytest.raises(EngineError, match="could not be noted"):
        Homes(data).choose(disk)


def test_a_folder_is_forgotten_once_nothing_goes_there(data: Path, disk: Path) -> None:
    homes = Homes(data)
    homes.choose(disk)
    folder = install(disk, "model")
    with pytest.raises(EngineError, match="New models go to"):
        homes.forget(disk)
    homes.choose(None)
    homes.forget(disk)
    assert installed.models(data) == ()
    assert folder.is_dir()


@pytest.mark.parametrize(
    "results", [{"current": 7}, {"current": "relative"}, {"/x": None}, {"/x": {"models": 3}}, {"/x": [1]}]
)
def test_a_damaged_note_is_as_if_nothing_was_chosen(data: Path, results: object) -> None:
    data.mkdir()
    (data / "homes.json").write_text(json.dumps({"format": 1, "results": results}))
    assert Homes(data).current == paths.models_dir(data)
    assert installed.models(data) == ()
