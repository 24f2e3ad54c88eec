"""Models elsewhere are found and used where they are; a disk that is not connected takes nothing off the list."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import constants

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, hub_cache, installed
from mtplx_engine.models.habits import Habits
from mtplx_engine.models.places import Places
from tests.support import model_folder

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
    (model,) = installed.models(data)
    assert (model.name, model.complete, model.place) == ("makers/model", True, str(cache))
    assert model.path == cache / "models--makers--model" / "snapshots" / COMMITS[0]
    assert installed.resolve("Makers/Model", data) == model.path
    assert checkpoint.check(model.path).name == "makers/model"
    assert not data.exists()  # looking notes nothing
    with pytest.raises(EngineError, match="is your own"):
        installed.remove(model.path, data)
    assert model.complete
    Places(data).add(cache)
    assert installed.models(data) == (model,)


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
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected


def test_models_are_found_two_folders_deep(tmp_path: Path) -> None:
    place, data = tmp_path / "disk", tmp_path / "data"
    for name in ("one", "owner/two", "a/b/too deep", ".hidden/three", "one/inside"):
        model_folder.write(place / name)
    (place / "owner" / "head").mkdir()
    (place / "owner" / "head" / "config.json").write_text('{"model_type": "llama_mtp"}')
    assert [model.name for model in Places(data).add(place)] == ["one", "two"]
    assert [model.name for model in Places(data).add(place / "one")] == ["one"]
    assert Places(data).added() == (place, place / "one")
    assert installed.resolve("two", data) == place / "owner" / "two"


def test_a_missing_disk_takes_nothing_off_the_list(tmp_path: Path) -> None:
    place, data = tmp_path / "disk", tmp_path / "data"
    model_folder.write(place / "one")
    (before,) = Places(data).add(place)
    place.rename(tmp_path / "taken out")
    for empty_mount_point in (False, True):
        if empty_mount_point:
            place.mkdir()
        (after,) = installed.models(data)
        assert (after.there, after.name, after.size, after.path) == (
            False,
            before.name,
            before.size,
            before.path,
        )
        with pytest.raises(EngineError, match="Connect its disk") as caught:
            installed.resolve("one", data)
        assert caught.value.kind is ErrorKind.NOT_FOUND
    place.rmdir()
    (tmp_path / "taken out").rename(place)
    model_folder.write(place / "two")
    assert [(model.name, model.there) for model in installed.models(data)] == [("one", True), ("two", True)]


def test_what_is_no_place_is_said(tmp_path: Path) -> None:
    places = Places(tmp_path / "data")
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
        Places(tmp_path / "data").add(model_folder.write(tmp_path / "model"))
    assert caught.value.kind is ErrorKind.STORAGE


@pytest.mark.parametrize("entry", [None, 7, {}, {"models": 5}, {"models": [{"name": 1}]}, {"models": [[]]}])
def test_a_damaged_note_is_as_if_nothing_was_seen(tmp_path: Path, entry: object) -> None:
    body = {"format": 1, "results": {str(tmp_path / "gone"): entry}}
    (tmp_path / "places.json").write_text(json.dumps(body))
    assert installed.models(tmp_path) == ()
    assert Places(tmp_path).added() == (tmp_path / "gone",)


def test_the_models_folder_itself_may_be_added(tmp_path: Path) -> None:
    model_folder.write(tmp_path / "models" / "one")
    Places(tmp_path).add(tmp_path / "models")
    (model,) = installed.models(tmp_path)
    assert not model.place


def test_a_removed_model_is_the_default_no_more(tmp_path: Path) -> None:
    habits = Habits(tmp_path)
    folders = {name: model_folder.write(tmp_path / "models" / name) for name in ("one", "two")}
    habits.set_default(folders["one"])
    installed.remove(folders["two"], tmp_path)
    assert habits.default() == folders["one"]
    installed.remove(folders["one"], tmp_path)
    assert habits.default() is None


def test_an_installed_model_may_be_called_as_at_the_hub(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path / "models" / "makers--tiny")
    assert installed.resolve("makers/tiny", tmp_path) == folder


def test_a_whole_system_is_no_place(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="holds the whole system") as caught:
        Places(tmp_path).add(Path("/"))
    assert caught.value.kind is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize("way", ["disk/../disk", "link", "disk"])
def test_a_place_is_one_however_its_path_is_written(tmp_path: Path, way: str) -> None:
    data, place = tmp_path / "data", tmp_path / "disk"
    model_folder.write(place / "one")
    (tmp_path / "link").symlink_to(place)
    Places(data).add(place)
    Places(data).add(tmp_path / way)
    assert Places(data).added() == (place,)
    assert [model.path for model in installed.models(data)] == [place / "one"]
    Places(data).forget(tmp_path / way)
    assert installed.models(data) == ()


def test_a_model_that_two_ways_lead_to_is_listed_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ours = model_folder.write(tmp_path / "data" / "models" / "one")
    model_folder.write(tmp_path / "disk" / "two")
    (tmp_path / "disk" / "ours").symlink_to(ours)
    (tmp_path / "disk" / "again").symlink_to(tmp_path / "disk" / "two")
    Places(data).add(tmp_path / "disk")
    assert len(installed.models(data)) == 2
