"""New models go where the person says; what is installed elsewhere stays there, is used, and is never lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from huggingface_hub import constants

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, hub_cache, library, manifest
from mtplx_engine.models.folders import INCOMING, InstallFolders, UserFolders
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder


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
    files = manifest.record_files(folder, sorted(path.name for path in folder.iterdir()))
    manifest.write_manifest(folder, Manifest(name, name.title(), "mit", "a hub", 1, files))
    return folder


def test_without_a_choice_it_is_the_data_folders_own(data: Path) -> None:
    homes = InstallFolders(data)
    assert homes.current == homes.own == paths.models_dir(data)
    assert homes.all() == (homes.own,)
    assert homes.is_there(homes.current)
    assert not data.exists()  # looking notes nothing


def test_a_choice_is_kept_and_what_is_elsewhere_stays(data: Path, disk: Path, tmp_path: Path) -> None:
    install(paths.models_dir(data), "first")
    InstallFolders(data).choose(disk)
    second = install(disk, "second")
    other = tmp_path / "other"
    other.mkdir()
    InstallFolders(data).choose(other)
    install(other, "third")
    assert InstallFolders(data).current == other
    assert [model.name for model in library.installed_models(data)] == ["first", "second", "third"]
    assert {model.place for model in library.installed_models(data)} == {""}
    assert library.resolve_model("Second", data) == second
    InstallFolders(data).choose(None)
    assert InstallFolders(data).current == paths.models_dir(data)
    assert library.resolve_model("second", data) == second
    library.remove_model(second, data)
    assert not second.exists()
    assert [model.name for model in library.installed_models(data)] == ["first", "third"]


@pytest.mark.parametrize("remains", ["nothing", "an empty folder"])
def test_a_disk_that_is_away_takes_nothing_off_the_list(data: Path, disk: Path, remains: str) -> None:
    """Also where its mount point stays."""
    InstallFolders(data).choose(disk)
    install(disk, "model")
    assert library.installed_models(data)[0].there
    away = disk.parent.with_name("away")
    disk.parent.rename(away)
    if remains == "an empty folder":
        disk.mkdir(parents=True)
    homes = InstallFolders(data)
    assert homes.current == disk
    assert not homes.is_there(disk)
    (model,) = library.installed_models(data)
    assert (model.name, model.there, model.path) == ("model", False, disk / "model")
    for act in (partial(library.resolve_model, "model"), partial(library.remove_model, disk / "model")):
        with pytest.raises(EngineError, match=r"which is not there at the moment. Connect its disk") as caught:
            act(data)
        assert caught.value.kind is ErrorKind.NOT_FOUND
    if disk.parent.exists():
        shutil.rmtree(disk.parent)
    away.rename(disk.parent)
    assert library.installed_models(data)[0].there


def test_a_copy_that_is_there_is_taken_before_one_that_is_not(data: Path, disk: Path) -> None:
    InstallFolders(data).choose(disk)
    install(disk, "model")
    assert library.installed_models(data)[0].there
    shutil.rmtree(disk)
    own = install(paths.models_dir(data), "model")
    assert library.resolve_model("model", data) == own


def test_what_the_person_put_there_is_not_ours(data: Path, disk: Path) -> None:
    own = model_folder.write(disk / "own")
    (disk / "notes.txt").write_text("mine")
    InstallFolders(data).choose(disk)
    assert library.installed_models(data) == ()
    with pytest.raises(EngineError):
        library.remove_model(own, data)
    assert own.is_dir()
    assert {path.name for path in disk.iterdir()} == {"own", "notes.txt", INCOMING}


def test_the_last_model_may_go(data: Path, disk: Path) -> None:
    InstallFolders(data).choose(disk)
    folder = install(disk, "model")
    assert library.installed_models(data)
    library.remove_model(folder, data)
    assert library.installed_models(data) == ()


def test_a_folder_that_is_no_place_is_refused(data: Path, disk: Path, tmp_path: Path) -> None:
    homes = InstallFolders(data)
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


def test_a_folder_that_cannot_be_written_is_refused(data: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr("mtplx_engine.models.folders.tempfile.TemporaryFile", fail)
    with pytest.raises(EngineError, match="cannot be written to") as caught:
        InstallFolders(data).choose(disk)
    assert caught.value.kind is ErrorKind.STORAGE
    assert InstallFolders(data).current == paths.models_dir(data)


def test_a_choice_that_cannot_be_noted_is_said(data: Path, disk: Path) -> None:
    data.touch()  # where the data folder should be is a file
    with pytest.raises(EngineError, match="could not be noted"):
        InstallFolders(data).choose(disk)


def test_a_folder_is_forgotten_once_nothing_goes_there(data: Path, disk: Path) -> None:
    homes = InstallFolders(data)
    homes.choose(disk)
    folder = install(disk, "model")
    with pytest.raises(EngineError, match="New models go to"):
        homes.forget(disk)
    homes.choose(None)
    homes.forget(disk)
    assert library.installed_models(data) == ()
    assert folder.is_dir()


@pytest.mark.parametrize(
    "results", [{"current": 7}, {"current": "relative"}, {"/x": None}, {"/x": {"models": 3}}, {"/x": [1]}]
)
def test_a_damaged_note_is_as_if_nothing_was_chosen(data: Path, results: object) -> None:
    data.mkdir()
    (data / "homes.json").write_text(json.dumps({"format": 1, "results": results}))
    assert InstallFolders(data).current == paths.models_dir(data)
    assert library.installed_models(data) == ()


COMMITS = ("1" * 40, "2" * 40)


def snapshot(cache: Path, repo: str, commit: str) -> Path:
    """Write a model as Hugging Face's programs keep it: links to blobs."""
    root = cache / f"models--{repo.replace('/', '--')}"
    folder = model_folder.write(root / "snapshots" / commit)
    (root / "blobs").mkdir(exist_ok=True)
    for path in list(folder.iterdir()):
        blob = root / "blobs" / f"{commit[:4]}-{path.name}"
        path.rename(blob)
        path.symlink_to(os.path.relpath(blob, folder))
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    for commit in COMMITS:
        snapshot(folder, "makers/model", commit)
    (folder / "models--makers--model" / "refs").mkdir()
    (folder / "models--makers--model" / "refs" / "main").write_text(COMMITS[0] + "\n")
    (folder / "datasets--makers--data" / "snapshots" / COMMITS[0]).mkdir(parents=True)
    (folder / "models--makers--half" / "blobs").mkdir(parents=True)
    return folder


def test_the_hubs_cache_is_used_in_place(cache: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (model,) = library.installed_models(data)
    assert (model.name, model.complete, model.place) == ("makers/model", True, str(cache))
    assert model.path == cache / "models--makers--model" / "snapshots" / COMMITS[0]
    assert library.resolve_model("Makers/Model", data) == model.path
    assert checkpoint.check(model.path).name == "makers/model"
    assert not data.exists()  # looking notes nothing
    with pytest.raises(EngineError, match="is your own"):
        library.remove_model(model.path, data)
    assert model.complete
    UserFolders(data).add(cache)
    assert library.installed_models(data) == (model,)


def test_without_a_main_the_last_snapshot_counts(cache: Path) -> None:
    (cache / "models--makers--model" / "refs" / "main").unlink()
    assert [path.name for path in hub_cache.snapshots(cache)] == [COMMITS[1]]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HF_HOME": "/b", "XDG_CACHE_HOME": "/c"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
        ({"HOME": "/d"}, "/d/.cache/huggingface/hub"),
    ],
)
def test_the_cache_is_where_its_programs_keep_it(variables: dict[str, str], expected: str) -> None:
    known = ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in known} | variables
    script = "from mtplx_engine.models import hub_cache; print(hub_cache.folder())"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


def test_models_are_found_two_folders_deep(tmp_path: Path) -> None:
    place, data = tmp_path / "disk", tmp_path / "data"
    for name in ("one", "owner/two", "a/b/too deep", ".hidden/three", "one/inside"):
        model_folder.write(place / name)
    (place / "owner" / "head").mkdir()
    (place / "owner" / "head" / "config.json").write_text('{"model_type": "llama_mtp"}')
    assert [model.name for model in UserFolders(data).add(place)] == ["one", "two"]
    assert [model.name for model in UserFolders(data).add(place / "one")] == ["one"]
    assert UserFolders(data).added() == (place, place / "one")
    assert library.resolve_model("two", data) == place / "owner" / "two"


def test_a_missing_disk_takes_nothing_off_the_list(tmp_path: Path) -> None:
    place, data = tmp_path / "disk", tmp_path / "data"
    model_folder.write(place / "one")
    (before,) = UserFolders(data).add(place)
    place.rename(tmp_path / "taken out")
    for empty_mount_point in (False, True):
        if empty_mount_point:
            place.mkdir()
        (after,) = library.installed_models(data)
        assert (after.there, after.name, after.size, after.path) == (
            False,
            before.name,
            before.size,
            before.path,
        )
        with pytest.raises(EngineError, match="Connect its disk") as caught:
            library.resolve_model("one", data)
        assert caught.value.kind is ErrorKind.NOT_FOUND
    place.rmdir()
    (tmp_path / "taken out").rename(place)
    model_folder.write(place / "two")
    assert [(model.name, model.there) for model in library.installed_models(data)] == [
        ("one", True),
        ("two", True),
    ]


def test_what_is_no_place_is_said(tmp_path: Path) -> None:
    places = UserFolders(tmp_path / "data")
    (tmp_path / "empty").mkdir()
    for folder, words in ((tmp_path / "none", "no folder"), (tmp_path / "empty", "no model in it")):
        with pytest.raises(EngineError, match=words):
            places.add(folder)
    with pytest.raises(EngineError, match="not among"):
        places.forget(tmp_path / "empty")
    assert places.added() == ()


def test_a_data_folder_that_takes_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(EngineError, match="could not be noted") as caught:
        UserFolders(tmp_path / "data").add(model_folder.write(tmp_path / "model"))
    assert caught.value.kind is ErrorKind.STORAGE


@pytest.mark.parametrize("entry", [None, 7, {}, {"models": 5}, {"models": [{"name": 1}]}, {"models": [[]]}])
def test_a_damaged_note_is_as_if_nothing_was_seen(tmp_path: Path, entry: object) -> None:
    body = {"format": 1, "results": {str(tmp_path / "gone"): entry}}
    (tmp_path / "places.json").write_text(json.dumps(body))
    assert library.installed_models(tmp_path) == ()
    assert UserFolders(tmp_path).added() == (tmp_path / "gone",)


def test_the_models_folder_itself_may_be_added(tmp_path: Path) -> None:
    model_folder.write(tmp_path / "models" / "one")
    UserFolders(tmp_path).add(tmp_path / "models")
    (model,) = library.installed_models(tmp_path)
    assert not model.place


def test_a_removed_model_is_the_default_no_more(tmp_path: Path) -> None:
    habits = ModelPreferences(tmp_path)
    folders = {name: model_folder.write(tmp_path / "models" / name) for name in ("one", "two")}
    habits.set_default(folders["one"])
    library.remove_model(folders["two"], tmp_path)
    assert habits.default() == folders["one"]
    library.remove_model(folders["one"], tmp_path)
    assert habits.default() is None


def test_an_installed_model_may_be_called_as_at_the_hub(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path / "models" / "makers--tiny")
    assert library.resolve_model("makers/tiny", tmp_path) == folder


def test_a_whole_system_is_no_place(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="holds the whole system") as caught:
        UserFolders(tmp_path).add(Path("/"))
    assert caught.value.kind is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize("way", ["disk/../disk", "link", "disk"])
def test_a_place_is_one_however_its_path_is_written(tmp_path: Path, way: str) -> None:
    data, place = tmp_path / "data", tmp_path / "disk"
    model_folder.write(place / "one")
    (tmp_path / "link").symlink_to(place)
    UserFolders(data).add(place)
    UserFolders(data).add(tmp_path / way)
    assert UserFolders(data).added() == (place,)
    assert [model.path for model in library.installed_models(data)] == [place / "one"]
    UserFolders(data).forget(tmp_path / way)
    assert library.installed_models(data) == ()


def test_a_model_that_two_ways_lead_to_is_listed_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ours = model_folder.write(tmp_path / "data" / "models" / "one")
    model_folder.write(tmp_path / "disk" / "two")
    (tmp_path / "disk" / "ours").symlink_to(ours)
    (tmp_path / "disk" / "again").symlink_to(tmp_path / "disk" / "two")
    UserFolders(data).add(tmp_path / "disk")
    assert len(library.installed_models(data)) == 2
