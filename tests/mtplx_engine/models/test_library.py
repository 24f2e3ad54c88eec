"""The default model and the times of use are kept from one start to the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, library, manifest
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder

if TYPE_CHECKING:
    from pathlib import Path


def test_the_last_use_is_kept(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    ModelPreferences(tmp_path).note_use(one, now_s=17.6)
    ModelPreferences(tmp_path).note_use(one, now_s=18.2)
    assert ModelPreferences(tmp_path).last_used(one) == 18
    assert ModelPreferences(tmp_path).last_used(other) is None


def test_the_default_is_kept(tmp_path: Path) -> None:
    assert ModelPreferences(tmp_path).default() is None
    for chosen in (tmp_path / "one", tmp_path / "other", None):
        ModelPreferences(tmp_path).set_default(chosen)
        assert ModelPreferences(tmp_path).default() == chosen


def test_a_choice_that_cannot_be_noted_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(EngineError) as caught:
        ModelPreferences(tmp_path / "data").set_default(tmp_path)
    assert caught.value.kind is ErrorKind.STORAGE


@pytest.mark.parametrize("entry", ['"x"', "true", "[]", "null"])
def test_odd_notes_are_none(tmp_path: Path, entry: str) -> None:
    for name, key in (("used.json", str(tmp_path)), ("chosen.json", "default")):
        value = entry if name == "used.json" else "7"
        (tmp_path / name).write_text(f'{{"format": 1, "results": {{"{key}": {value}}}}}')
    assert ModelPreferences(tmp_path).last_used(tmp_path) is None
    assert ModelPreferences(tmp_path).default() is None


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with two whole models, one in pieces, and what is none."""
    models = tmp_path / "models"
    named = model_folder.write(models / "named")
    (named / "mtp.safetensors").write_bytes(model_folder.safetensors({"fc.weight": ("F32", (4, 8))}))
    noted = Manifest("named", "Named Model", "MIT", "here", 1, manifest.record_files(named, ["config.json"]))
    manifest.write_manifest(named, noted)
    model_folder.write(models / "plain")
    broken = model_folder.write(models / "broken")
    (broken / checkpoint.WEIGHT_INDEX).write_text(json.dumps({"weight_map": {"x": "model-9.safetensors"}}))
    (models / ".staging").mkdir()
    (models / "note.txt").write_text("")
    return tmp_path


def test_models_are_listed_with_what_they_have(data: Path) -> None:
    broken, named, plain = library.installed_models(data)
    assert (named.name, named.title, named.has_head, named.complete) == ("named", "Named Model", True, True)
    assert (plain.name, plain.title, plain.has_head, plain.complete) == ("plain", "plain", False, True)
    assert (broken.name, broken.complete) == ("broken", False)
    assert plain.size == sum(path.stat().st_size for path in plain.path.iterdir())


def test_a_file_that_is_gone_makes_it_incomplete(data: Path) -> None:
    (data / "models" / "named" / "config.json").unlink()
    (data / "models" / "plain" / "model.safetensors").unlink()
    assert not any(model.complete for model in library.installed_models(data))


def test_a_damaged_index_makes_it_incomplete(data: Path) -> None:
    (data / "models" / "plain" / checkpoint.WEIGHT_INDEX).write_text("[]")
    assert [model.name for model in library.installed_models(data) if model.complete] == ["named"]


def test_no_data_folder_means_no_models(tmp_path: Path) -> None:
    assert library.installed_models(tmp_path / "none") == ()


@pytest.mark.parametrize("name", ["named", "NAMED", "Named Model", "named model"])
def test_a_name_finds_its_model(data: Path, name: str) -> None:
    assert library.resolve_model(name, data) == data / "models" / "named"


def test_a_path_finds_its_model(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folder.write(tmp_path / "elsewhere")
    assert library.resolve_model(str(folder), data) == folder
    monkeypatch.chdir(tmp_path)
    assert library.resolve_model("elsewhere", data) == folder
    monkeypatch.setenv("HOME", str(tmp_path))
    assert library.resolve_model("~/elsewhere", data) == folder


def test_an_installed_name_wins_over_a_folder_here(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / "named").mkdir()
    monkeypatch.chdir(data)
    assert library.resolve_model("named", data) == data / "models" / "named"


@pytest.mark.parametrize("name", ["other", ""])
def test_an_unknown_name_is_told_what_is_installed(data: Path, name: str) -> None:
    with pytest.raises(EngineError, match=f'No model is called "{name}". There are: named, plain.') as caught:
        library.resolve_model(name, data)
    assert caught.value.kind is ErrorKind.NOT_FOUND


def test_without_any_model_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="None is installed"):
        library.resolve_model("other", tmp_path)


def test_a_wrong_path_is_named(data: Path) -> None:
    with pytest.raises(EngineError, match="There is no model folder /nowhere/model"):
        library.resolve_model("/nowhere/model", data)
