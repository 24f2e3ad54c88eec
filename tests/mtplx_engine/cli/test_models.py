"""`mtplx models join`: the head is tried on its model once, and only a pair that drafts stays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.cli.main import main
from mtplx_engine.engine import Engine
from mtplx_engine.models import installed
from tests.support import toy_pair

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
    assert installed.models(tmp_path) == ()


def test_both_may_be_given_by_their_installed_names(tmp_path: Path) -> None:
    toy_pair.write(tmp_path / "models")
    assert run("join", "toy", "toy-MTP", "--data-dir", tmp_path) == 0
    assert [model.name for model in installed.models(tmp_path)] == ["toy", "toy+mtp"]


def test_a_head_that_does_not_predict_the_model_is_not_joined(
    capsys: Capture, toys: ToyPair, tmp_path: Path
) -> None:
    """Its sizes are right and it repeats no tensor: only the probe can tell."""
    toy_pair.scale(toys.target, -1.0)
    assert run("join", *toys, "--data-dir", tmp_path) == 1
    error = capsys.readouterr().err
    assert "does not predict this model" in error
    assert error.endswith("So it is off. Nothing was joined.\n")
    assert installed.models(tmp_path) == ()


def test_a_head_alone_is_no_chat_model(capsys: Capture, toys: ToyPair) -> None:
    assert main(["generate", "--model", str(toys.head), "hi"], Engine) == 1
    expected = "holds a drafting head and no model of its own. Join it with the model that it was made for"
    assert expected in capsys.readouterr().err
