"""The report: every row, nothing private, an exit code."""

from __future__ import annotations

import getpass
import json
import shutil
import socket
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import backend
from mtplx_engine.cli.main import FAILED, main
from mtplx_engine.doctor import environment, report
from mtplx_engine.doctor.environment import Check, CheckResult
from mtplx_engine.models import library, manifest, starter
from mtplx_engine.models.folders import UserFolders
from mtplx_engine.util import formatting
from tests.support import tiny_folder

if TYPE_CHECKING:
    from pathlib import Path


CANARY = "qzxcanary"


@pytest.fixture
def canaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of somebody whose every name is a canary, with models of each kind."""
    home = tmp_path / f"home-{CANARY}" / CANARY
    data = home / f"{CANARY} data"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HF_TOKEN", f"hf_{CANARY}1234567")
    for variable in ("USER", "LOGNAME", "USERNAME"):
        monkeypatch.setenv(variable, f"{CANARY}-user")
    assert getpass.getuser() == f"{CANARY}-user"
    monkeypatch.setattr(socket, "gethostname", lambda: f"{CANARY}-host.example")
    fine, broken, odd = (data / "models" / f"{CANARY}-{kind}" for kind in ("fine", "broken", "odd"))
    place = home / f"{CANARY} models"
    for folder in (fine, broken, odd, place / f"{CANARY}-mine"):
        folder.mkdir(parents=True)
        tiny_folder.write(folder)
    (broken / "tokenizer.json").write_text(CANARY)
    config = json.loads((odd / "config.json").read_text())
    (odd / "config.json").write_text(json.dumps(config | {"model_type": f"{CANARY}_type"}))
    noted = manifest.Manifest(fine.name, f"{CANARY}/secret", "", f"https://hub/{CANARY}/secret@0123456789", 1, ())
    manifest.write_manifest(fine, noted)
    UserFolders(data).add(place)
    monkeypatch.chdir(place)
    return data


def test_nothing_private_is_in_the_report(
    canaries: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors that quote their folder included."""

    def failing() -> Check:
        raise OSError(f"{canaries} is locked by {CANARY}")

    monkeypatch.setattr(environment, "sqlite", failing)
    monkeypatch.setattr(backend, "prepare", lambda **_: None)
    for arguments in ([], ["--json"], ["--bundle"]):
        code = main(["doctor", "--data-dir", str(canaries), *arguments])
        assert code == (0 if arguments == ["--bundle"] else FAILED)
        out, err = capsys.readouterr()
        assert CANARY not in (out + err).casefold()
    assert len(list(canaries.rglob("*doctor*"))) == 0


def test_the_report_has_a_row_of_everything(canaries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "prepare", lambda **_: None)
    found = {check.name: check for check in report.examine(canaries)}
    assert list(found)[:6] == ["Python", "System", "Packages", "SQLite", "Keychain kind", "Conditions"]
    wanted = {
        "Library",
        "Files",
        "Memory",
        "Backend",
        "Products",
        "Packed products",
        "Kernels",
        "Rows",
        "Rollback",
    }
    assert wanted < found.keys()
    failures = [check.name for check in found.values() if check.verdict is CheckResult.FAILED]
    assert failures == [name for name in found if name.startswith("Model ") and "refused" in found[name].detail]
    text = report.render(tuple(found.values()))
    assert text.splitlines()[-1].endswith(f"{len(failures)} failed, {_count(found, CheckResult.UNKNOWN)} unknown")
    body = report.as_json(tuple(found.values()))
    assert (body["failed"], len(body["checks"])) == (len(failures), len(found))


def _count(found: dict[str, Check], verdict: CheckResult) -> int:
    return sum(check.verdict is verdict for check in found.values())


def test_each_model_has_its_tier(canaries: Path) -> None:
    details = [check.detail for check in environment.models(canaries)]
    assert len(details) == len(library.installed_models(canaries)) == 4
    assert sorted(detail.partition(", ")[0] for detail in details) == [
        "A llama model",
        "A llama model",
        "A llama model",
        "A some model",
    ]
    assert sum("refused as unsafe or damaged" in detail for detail in details) == 1
    assert sum("unsupported architecture." in detail for detail in details) == 1
    shutil.rmtree(canaries)
    [row] = environment.models(canaries)
    assert (row.verdict, row.detail) == (CheckResult.UNKNOWN, "None is installed.")


def test_a_model_that_everybody_knows_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    tiny_folder.write(folder)
    name = starter.shipped_recipe().name
    noted = manifest.Manifest("tiny", name, "", "", 1, manifest.record_files(folder, ["config.json"]))
    manifest.write_manifest(folder, noted)
    [row] = environment.models(tmp_path)
    assert row.detail.startswith(
        f"{name}, {formatting.size(library.installed_models(tmp_path)[0].size)}: supported, unverified."
    )


class Panic(BaseException):
    """As of the tokenizers."""


def test_what_cannot_be_looked_at_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic() -> Check:
        raise Panic("secret words")

    monkeypatch.setattr(environment, "python", panic)
    monkeypatch.setattr(backend, "prepare", lambda **_: None)
    first = report.examine(tmp_path)[0]
    assert (first.name, first.verdict) == ("Python", CheckResult.FAILED)
    assert first.detail == "It could not be looked at (Panic). Please report this."
