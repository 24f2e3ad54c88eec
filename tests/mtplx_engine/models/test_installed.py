"""Names and paths on the command line find their model, and a wrong one is told what there is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import installed, manifest, weight_files
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with two whole models, one in pieces, and what is none."""
    models = tmp_path / "models"
    named = model_folder.write(models / "named")
    (named / "mtp.safetensors").write_bytes(model_folder.safetensors({"fc.weight": ("F32", (4, 8))}))
    noted = Manifest("named", "Named Model", "MIT", "here", 1, manifest.record(named, ["config.json"]))
    manifest.write(named, noted)
    model_folder.write(models / "plain")
    broken = model_folder.write(models / "broken")
    (broken / weight_files.INDEX).write_text(json.dumps({"weight_map": {"x": "model-9.safetensors"}}))
    (models / ".staging").mkdir()
    (models / "note.txt").write_text("")
    return tmp_path


def test_models_are_listed_with_what_they_have(data: Path) -> None:
    broken, named, plain = installed.models(data)
    assert (named.name, named.title, named.has_head, named.complete) == ("named", "Named Model", True, True)
    assert (plain.name, plain.title, plain.has_head, plain.complete) == ("plain", "plain", False, True)
    assert (broken.name, broken.complete) == ("broken", False)
    assert plain.size == sum(path.stat().st_size for path in plain.path.iterdir())


def test_a_file_that_is_gone_makes_it_incomplete(data: Path) -> None:
    (data / "models" / "named" / "config.json").unlink()
    (data / "models" / "plain" / "model.safetensors").unlink()
    assert not any(model.complete for model in installed.models(data))


def test_a_damaged_index_makes_it_incomplete(data: Path) -> None:
    (data / "models" / "plain" / weight_files.INDEX).write_text("[]")
    assert [model.name for model in installed.models(data) if model.complete] == ["named"]


def test_no_data_folder_means_no_models(tmp_path: Path) -> None:
    assert installed.models(tmp_path / "none") == ()


@pytest.mark.parametrize("name", ["named", "NAMED", "Named Model", "named model"])
def test_a_name_finds_its_model(data: Path, name: str) -> None:
    assert installed.resolve(name, data) == data / "models" / "named"


def test_a_path_finds_its_model(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folder.write(tmp_path / "elsewhere")
    assert installed.resolve(str(folder), data) == folder
    monkeypatch.chdir(tmp_path)
    assert installed.resolve("elsewhere", data) == folder
    monkeypatch.setenv("HOME", str(tmp_path))
    assert installed.resolve("~/elsewhere", data) == folder


def test_an_installed_name_wins_over_a_folder_here(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / "named").mkdir()
    monkeypatch.chdir(data)
    assert installed.resolve("named", data) == data / "models" / "named"


@pytest.mark.parametrize("name", ["other", ""])
def test_an_unknown_name_is_told_what_is_installed(data: Path, name: str) -> None:
    with pytest.raises(EngineError, match=f'No model is called "{name}". There are: named, plain.') as caught:
        installed.resolve(name, data)
    assert caught.value.kind is ErrorKind.NOT_FOUND


def test_without_any_model_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="None is installed"):
        installed.resolve("other", tmp_path)


def test_a_wrong_path_is_named(data: Path) -> None:
    with pytest.raises(EngineError, match="There is no model folder /nowhere/model"):
        installed.resolve("/nowhere/model", data)
