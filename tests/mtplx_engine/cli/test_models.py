"""`mtplx models` joins pairs that draft and lists folders elsewhere; `mtplx remove` asks where needed."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.cli.main import main
from mtplx_engine.engine import Engine
from mtplx_engine.models import library, manifest
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.models.manifest import Manifest
from mtplx_engine.util import system
from mtplx_engine.util.system import Machine
from tests.support import model_folder, toy_pair

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.toy_pair import ToyPair


Capture = pytest.CaptureFixture[str]


@pytest.fixture
def toys(tmp_path: Path) -> ToyPair:
    return toy_pair.write(tmp_path / "elsewhere")


def run(*arguments: object) -> int:
    return main(["models", *map(str, arguments)], Engine)


def test_a_pair_is_joined_listed_and_split(capsys: Capture, toys: ToyPair, tmp_path: Path) -> None:
    assert run("join", *toys, "--name", "pair", "--data-dir", tmp_path) == 0
    assert capsys.readouterr().out == "pair is ready: mtplx chat --model pair\n"
    assert run("--data-dir", tmp_path, "--json") == 0
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert (model["name"], model["has_head"], model["complete"]) == ("pair", True, True)
    assert run("--data-dir", tmp_path, "split", "pair") == 0
    assert "pair is forgotten" in capsys.readouterr().out
    assert library.installed_models(tmp_path) == ()


def test_folders_elsewhere_are_listed_and_left_alone(capsys: Capture, toys: ToyPair, tmp_path: Path) -> None:
    data, place = tmp_path / "data", toys.target.parent
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    assert run("add", place, "--data-dir", data) == 0
    assert capsys.readouterr().out == "1 model there: toy\n"
    assert run("default", "toy", "--data-dir", data) == 0
    assert main(["generate", "hi", "--max-tokens", "1", "--data-dir", str(data)], Engine) == 0
    capsys.readouterr()
    assert run("--json", "--data-dir", data) == 0
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert (model["place"], model["path"], model["default"]) == (str(place), str(toys.target), True)
    assert model["last_used"] > 0
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before
    place.rename(tmp_path / "disk taken out")
    assert run("--data-dir", data) == 0
    assert "not connected, default" in capsys.readouterr().out
    assert main(["generate", "hi", "--data-dir", str(data)], Engine) == 1
    assert f"default model is not at {toys.target}" in capsys.readouterr().err
    assert run("default", "starter", "--data-dir", data) == 0
    assert run("forget", place, "--data-dir", data) == 0
    assert run("forget", place, "--data-dir", data) == 1
    assert library.installed_models(data) == ()


def test_a_pair_that_will_not_fit_is_tried_only_when_told_to(
    capsys: Capture, toys: ToyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "this_machine", lambda: Machine(1 << 20, 1 << 20, packed=False, chunk=64))
    assert run("join", *toys, "--data-dir", tmp_path) == 1
    assert "--anyway" in capsys.readouterr().err
    assert library.installed_models(tmp_path) == ()
    assert run("join", *toys, "--data-dir", tmp_path, "--anyway") == 0
    assert [model.name for model in library.installed_models(tmp_path)] == ["toy+mtp"]


def test_both_may_be_given_by_their_installed_names(tmp_path: Path) -> None:
    toy_pair.write(tmp_path / "models")
    assert run("join", "toy", "toy-MTP", "--data-dir", tmp_path) == 0
    assert [model.name for model in library.installed_models(tmp_path)] == ["toy", "toy+mtp"]


def test_a_head_that_does_not_predict_the_model_is_not_joined(capsys: Capture, toys: ToyPair, tmp_path: Path) -> None:
    """Its sizes are right and it repeats no tensor: only the probe can tell."""
    toy_pair.scale(toys.target, -1.0)
    assert run("join", *toys, "--data-dir", tmp_path) == 1
    error = capsys.readouterr().err
    assert "does not predict this model" in error
    assert error.endswith("So it is off. Nothing was joined.\n")
    assert library.installed_models(tmp_path) == ()


def test_a_head_alone_is_no_chat_model(capsys: Capture, toys: ToyPair) -> None:
    assert main(["generate", "--model", str(toys.head), "hi"], Engine) == 1
    expected = "holds a drafting head and no model of its own. Join it with the model that it was made for"
    assert expected in capsys.readouterr().err


def test_the_list_says_what_inspect_says(capsys: Capture, tmp_path: Path) -> None:
    models = paths.models_dir(tmp_path)
    for name in ("code", "plain", "strange"):
        model_folder.write(models / name)
    (models / "code" / "run.py").write_text("")
    (models / "strange" / "config.json").write_text('{"model_type": "mamba9"}')
    tiers = {}
    for name in ("code", "plain", "strange"):
        main(["inspect", name, "--json", "--data-dir", str(tmp_path)])
        tiers[name] = json.loads(capsys.readouterr().out)["tier"]
    for _ in range(2):  # also when it is remembered
        assert run("--json", "--data-dir", tmp_path) == 0
        listed = json.loads(capsys.readouterr().out)["models"]
        assert {model["name"]: model["tier"] for model in listed} == tiers
        assert {model["name"]: model["loads"] for model in listed} == {
            "code": False,
            "plain": True,
            "strange": False,
        }
    assert run("--data-dir", tmp_path) == 0
    out = capsys.readouterr().out
    assert "refused" in out
    assert "unsupported architecture" in out
    assert "ready" not in out


@pytest.mark.parametrize("name", ["code", "strange", "gone"])
def test_what_inspect_refuses_is_no_default(capsys: Capture, tmp_path: Path, name: str) -> None:
    models = paths.models_dir(tmp_path)
    for each in ("code", "strange"):
        model_folder.write(models / each)
    (models / "code" / "run.py").write_text("")
    (models / "strange" / "config.json").write_text('{"model_type": "mamba9"}')
    assert run("default", name, "--data-dir", tmp_path) == 1
    assert "is the default now" not in capsys.readouterr().out
    assert ModelPreferences(tmp_path).default() is None


NAME = "acme--toy"


class Terminal(io.StringIO):
    """A stream that a user sees and types into."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = model_folder.write(paths.models_dir(tmp_path) / NAME)
    manifest.write_manifest(folder, Manifest(NAME, "toy", "mit", "here", 1, ()))
    return folder


def remove(tmp_path: Path, *arguments: str) -> int:
    return main(["remove", *arguments, "--data-dir", str(tmp_path)])


@pytest.mark.parametrize(
    ("typed", "goes"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_a_terminal_is_asked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, *, goes: bool
) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stdout", out)
    assert remove(tmp_path, "toy") == (0 if goes else 1)
    assert f"Delete {NAME} (" in out.getvalue()
    assert str(folder.parent) in out.getvalue()
    assert folder.exists() is not goes


def test_with_yes_nobody_is_asked(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert remove(tmp_path, "toy", "--yes") == 0
    assert not folder.exists()


@pytest.mark.parametrize("typed", ["toy", "acme/toy", NAME.upper()])
def test_where_nobody_can_be_asked_only_the_whole_name_is_enough(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    assert remove(tmp_path, typed) == 2
    assert f"{typed} is {NAME}, in {folder.parent}. Nothing was deleted" in capsys.readouterr().err
    assert remove(tmp_path, NAME) == 0
    assert not folder.exists()


def test_a_folder_means_itself(folder: Path, tmp_path: Path) -> None:
    assert remove(tmp_path, str(folder)) == 0
    assert not folder.exists()
