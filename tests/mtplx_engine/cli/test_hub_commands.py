"""Searching, getting, checking and removing models from the command line."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.cli.main import FAILED, INTERRUPTED, WRONG_USE, main
from mtplx_engine.hub import catalogue, download, plan, settings
from mtplx_engine.util import system
from mtplx_engine.util.system import Machine
from tests.support import model_folder, toy_pair
from tests.support.fake_hub import FakeHub, FakeRepo, Fault, running
from tests.support.toy import TOY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


REPO = "makers/tiny"
NAME = "makers--tiny"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    files = {path.name: path.read_bytes() for path in model_folder.write(tmp_path / "original").iterdir()}
    with running(FakeHub({REPO: FakeRepo(files, licence="mit")})) as hub:
        yield hub


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def run(hub: FakeHub, data: Path, command: str, *arguments: str) -> int:
    """Run a command that asks the hub."""
    return main([command, *arguments, "--endpoint", hub.endpoint, "--data-dir", str(data)])


def test_a_model_from_search_to_removal(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(hub, data, "search", "TINY") == 0
    assert REPO in capfd.readouterr().out
    assert run(hub, data, "pull", REPO) == 0
    out, err = capfd.readouterr()
    assert f"mtplx chat --model {NAME}" in out
    assert "licence mit, commit ccccccc" in err
    assert main(["models", "--data-dir", str(data)]) == 0
    assert "no MTP heads" in capfd.readouterr().out
    assert main(["verify", NAME, "--data-dir", str(data)]) == 0
    assert "All 4 files" in capfd.readouterr().out
    assert main(["remove", NAME, "--data-dir", str(data)]) == 0
    assert not (paths.models_dir(data) / NAME).exists()
    assert main(["remove", NAME, "--data-dir", str(data)]) == FAILED


def test_what_is_installed_is_not_fetched_again(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(hub, data, "pull", REPO) == 0
    hub.asked.clear()
    capfd.readouterr()
    assert run(hub, data, "pull", REPO, "--json") == 0
    assert hub.asked == []
    found = json.loads(capfd.readouterr().out)
    assert (found["revision"], found["already"]) == ("c" * 40, True)


def test_progress_is_told_to_programs_too(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(hub, data, "pull", REPO, "--json") == 0
    *progress, last = map(json.loads, capfd.readouterr().out.splitlines())
    size = sum(map(len, hub.repos[REPO].files.values()))
    assert progress
    assert all((line["event"], line["total"]) == ("progress", size) for line in progress)
    assert (last["event"], last["name"], last["size"]) == ("installed", NAME, size)


def test_what_was_begun_long_ago_is_swept(hub: FakeHub, data: Path) -> None:
    old = plan.staging(data, "old")
    old.mkdir(parents=True)
    os.utime(old, (0, 0))
    assert run(hub, data, "pull", REPO) == 0
    assert not old.exists()


def test_the_mac_stays_awake_while_it_works(hub: FakeHub, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    @contextlib.contextmanager
    def kept() -> Iterator[None]:
        seen.append(len(hub.asked))
        yield
        seen.append(len(hub.asked))

    monkeypatch.setattr(download, "kept_awake", kept)
    assert run(hub, data, "pull", REPO) == 0
    before, after = seen
    assert after - before == len(hub.repos[REPO].files)


def test_what_would_be_refused_is_not_fetched(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hub.repos[REPO].files["config.json"] = b'{"model_type": "rwkv9"}'
    assert run(hub, data, "pull", REPO) == FAILED
    assert 'not fetched, since this version does not load it: This model has the architecture "rwkv9"' in (
        capfd.readouterr().err
    )
    assert "tokenizer.json" not in {asked.name for asked in hub.asked}
    assert not paths.models_dir(data).exists()


def test_what_will_not_fit_is_fetched_only_when_told_to(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "this_machine", lambda: Machine(1 << 20, 1 << 20, packed=False, chunk=64))
    assert run(hub, data, "pull", REPO) == FAILED
    err = capfd.readouterr().err
    assert "Memory is too small: weights 944 bytes, 8192 tokens of context" in err
    assert "--anyway" in err
    assert not paths.models_dir(data).exists()
    assert run(hub, data, "pull", REPO, "--anyway") == 0


def test_a_look_before_the_download(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(hub, data, "inspect", REPO, "--hub") == 0
    lines = dict(line.split(maxsplit=1) for line in capfd.readouterr().out.splitlines())
    expected = {
        "model": REPO,
        "commit": "c" * 40,
        "licence": "mit",
        "tier": "no MTP heads",
        "head": "none known",
    }
    assert expected.items() <= lines.items()
    assert lines["fit"] == "fits"
    assert run(hub, data, "inspect", REPO, "--hub", "--json", "--context", "77") == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["name"], found["path"], found["head_repository"]) == (REPO, None, None)
    assert found["fit"]["context"] == 77
    assert 0 < found["fetched"] < 10_000
    assert not data.exists()


def test_the_hub_is_only_asked_when_told_to(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(hub, data, "inspect", REPO) == FAILED
    assert f"mtplx inspect --hub {REPO}" in capfd.readouterr().err
    assert hub.paths == []


def test_ctrl_c_pauses_and_the_same_command_goes_on(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    go_on = threading.Event()

    def stall(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        go_on.wait(30)

    hub.faults.append(Fault(stall, "model.safetensors", after=1))  # the look at its header goes well
    try:
        assert run(hub, data, "pull", REPO) == INTERRUPTED
    finally:
        go_on.set()
    assert "run the same command again" in capfd.readouterr().err
    hub.faults.clear()
    hub.asked.clear()
    assert run(hub, data, "pull", REPO) == 0
    *look, last = (asked.name for asked in hub.asked)
    assert last == "model.safetensors"
    assert "tokenizer.json" not in look


def test_a_download_that_goes_on_looks_whether_the_hub_has_the_same(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is the same is kept, what is another file now is fetched, and what is gone does not stay."""
    files = hub.repos[REPO].files
    files |= {"merges.txt": b"a b\n", "LICENSE": b"old", "vocab.json": b"{}"}
    hub.faults.append(Fault(lambda handler, *_: handler.reply(404), "model.safetensors", after=1))
    assert run(hub, data, "pull", REPO) == FAILED
    hub.faults.clear()
    del files["vocab.json"]
    files["LICENSE"] = b"new"
    hub.repos[REPO].commit = "e" * 40
    hub.asked.clear()
    capfd.readouterr()
    assert run(hub, data, "pull", REPO) == 0
    assert "not what it was when this download began (commit ccccccc)" in capfd.readouterr().err
    fetched = [asked.name for asked in hub.asked]
    assert "LICENSE" in fetched
    assert "merges.txt" not in fetched
    folder = paths.models_dir(data) / NAME
    assert (folder / "LICENSE").read_bytes() == b"new"
    assert not (folder / "vocab.json").exists()
    assert main(["verify", NAME, "--data-dir", str(data)]) == 0


def test_a_head_that_the_original_has_comes_along(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = toy_pair.write(tmp_path / "toys").target
    base = "makers/whole"
    hub.repos[REPO].files = {path.name: path.read_bytes() for path in target.iterdir()}
    hub.repos[REPO].card = {"base_model": base}
    hub.repos[base] = FakeRepo({path.name: path.read_bytes() for path in TOY.iterdir()})
    assert run(hub, data, "inspect", REPO, "--hub", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["head_repository"]["id"], found["head_repository"]["taken_out"]) == (base, True)
    assert found["head_repository"]["size"] > found["head"]["size"] > 400_000
    assert run(hub, data, "inspect", REPO, "--hub") == 0
    assert "taken out of makers/whole, which adds 4" in capfd.readouterr().out
    go_on = threading.Event()

    def stall(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        go_on.wait(30)

    # Both have a file of this name; once for each look, then the target's, and the header of the original's.
    hub.faults.append(Fault(stall, "model.safetensors", after=4))
    try:
        assert run(hub, data, "pull", REPO) == INTERRUPTED
    finally:
        go_on.set()
    hub.faults.clear()
    assert "with its drafting head (445 kB, taken out of makers/whole)" in capfd.readouterr().err
    assert run(hub, data, "pull", REPO) == 0
    assert main(["models", "--data-dir", str(data)]) == 0
    assert "mtp" in capfd.readouterr().out


def test_new_models_go_where_they_are_told_to(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    told = ("--data-dir", str(data))
    assert main(["models", "folder", *told]) == 0
    assert capfd.readouterr().out == f"New models go to {paths.models_dir(data)}.\n"
    assert main(["models", "folder", str(disk), *told]) == 0
    assert run(hub, data, "pull", REPO) == 0
    assert (disk / NAME / "config.json").is_file()
    capfd.readouterr()
    assert main(["models", "--json", *told]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["folder"], found["models"][0]["path"]) == (str(disk), str(disk / NAME))
    assert main(["models", "folder", "usual", *told]) == 0
    hub.asked.clear()
    assert run(hub, data, "pull", REPO) == 0  # it is there
    assert hub.asked == []
    assert main(["models", "folder", str(disk), *told]) == 0
    disk.rename(tmp_path / "away")
    hub.repos[REPO].commit = "e" * 40
    assert run(hub, data, "pull", REPO) == FAILED
    assert "Connect its disk" in capfd.readouterr().err
    assert main(["models", "folder", *told]) == 0
    assert capfd.readouterr().out.endswith("which is not connected.\n")
    assert main(["models", *told]) == 0
    assert "not connected" in capfd.readouterr().out
    assert main(["models", "forget", str(disk), *told]) == WRONG_USE
    assert main(["models", "folder", "usual", *told]) == 0
    assert main(["models", "forget", str(disk), *told]) == 0


def test_ctrl_c_ends_a_look(hub: FakeHub, data: Path) -> None:
    go_on = threading.Event()

    def stall(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        go_on.wait(30)

    hub.faults.append(Fault(stall, "config.json"))
    try:
        assert run(hub, data, "pull", REPO) == INTERRUPTED
    finally:
        go_on.set()
    assert not paths.models_dir(data).exists()


def test_damage_is_found(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(hub, data, "pull", REPO) == 0
    path = paths.models_dir(data) / NAME / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    capfd.readouterr()
    assert main(["verify", NAME, "--data-dir", str(data), "--json"]) == FAILED
    assert json.loads(capfd.readouterr().out)["wrong"] == ["model.safetensors"]


def test_only_installed_models_are_removed(data: Path, tmp_path: Path) -> None:
    own = model_folder.write(tmp_path / "own")
    link = paths.models_dir(data) / "linked"
    link.parent.mkdir(parents=True)
    link.symlink_to(own)
    for name in (str(own), "../own", ".", ""):
        assert main(["remove", name, "--data-dir", str(data)]) == FAILED
    assert main(["remove", "linked", "--data-dir", str(data)]) == 0
    assert not link.is_symlink()
    assert sorted(path.name for path in own.iterdir())


def test_a_model_that_we_did_not_install_cannot_be_verified(
    data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(model_folder.write(tmp_path / "own"), paths.models_dir(data) / "own")
    assert main(["verify", "own", "--data-dir", str(data)]) == FAILED
    assert "was not installed by MTPLX" in capfd.readouterr().err


def test_without_words_the_recommendations_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["search"]) == 0
    out = capfd.readouterr().out
    assert all(entry.target in out for entry in catalogue.entries())


def test_a_search_by_size_asks_for_each(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hub.repos["makers/tiny-large"] = FakeRepo(hub.repos[REPO].files | {"model-2.safetensors": bytes(2_000_000)})
    sizes = {name: sum(map(len, repo.files.values())) for name, repo in hub.repos.items()}
    assert run(hub, data, "search", "tiny") == 0
    assert "SIZE" not in capfd.readouterr().out
    assert run(hub, data, "search", "tiny", "--max-gb", "0.002", "--json") == 0
    (model,) = json.loads(capfd.readouterr().out)["models"]
    assert (model["id"], model["size"]) == (REPO, sizes[REPO])
    assert run(hub, data, "search", "tiny", "--max-gb", "0.01") == 0
    heading, *rows = capfd.readouterr().out.splitlines()
    assert heading.endswith("SIZE")
    assert [row.split()[0] for row in rows] == [REPO, "makers/tiny-large"]
    assert rows[1].endswith("2 MB")
    assert run(hub, data, "search", "tiny", "--max-gb", "1e-9") == 0
    assert "these words and at most 1e-09 GB" in capfd.readouterr().out


def test_what_has_no_size_for_us_is_left_out_and_told_of(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A private repository is listed to its owner; another account cannot ask about it."""
    hub.listed = ("makers/tiny-gone",)
    assert run(hub, data, "search", "tiny", "--max-gb", "1") == 0
    out, err = capfd.readouterr()
    assert "makers/tiny-gone" not in out
    assert "makers/tiny-gone is private, or there is no such model" in err


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "many"])
def test_a_size_is_a_number_above_0(data: Path, text: str) -> None:
    with pytest.raises(SystemExit):
        main(["search", "qwen", f"--max-gb={text}", "--data-dir", str(data)])


def test_the_mirror_in_the_settings_is_asked(hub: FakeHub, data: Path) -> None:
    settings.write_settings(data, settings.HubSettings(endpoint=hub.endpoint))
    assert main(["pull", REPO, "--data-dir", str(data)]) == 0


@pytest.mark.parametrize("endpoint", ["http://hub.example", "ftp://x", "hub", "file:///etc"])
def test_an_unsafe_mirror_is_refused(data: Path, endpoint: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["pull", REPO, "--endpoint", endpoint, "--data-dir", str(data)]) != 0
    assert "no https address" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", '{"endpoint": 1}', '{"other": ""}'])
def test_settings_that_cannot_be_read_are_the_defaults(data: Path, text: str) -> None:
    data.mkdir()
    (data / "hub.json").write_text(text)
    assert settings.read_settings(data) == settings.HubSettings()
