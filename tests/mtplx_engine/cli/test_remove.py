"""`mtplx remove` deletes what the person is sure of, and asks where that is not certain."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.cli.main import main
from mtplx_engine.models import manifest
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder

if TYPE_CHECKING:
    from pathlib import Path


NAME = "acme--toy"


class Terminal(io.StringIO):
    """A stream that a person sees and types into."""

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
