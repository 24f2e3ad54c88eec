"""`mtplx pull` compares what is asked for with what is there, whole or in part, and says what it does about it."""

from __future__ import annotations

import json
import shutil
import threading
from typing import TYPE_CHECKING, NamedTuple

import pytest

from mtplx_engine import paths
from mtplx_engine.cli.main import FAILED, main
from mtplx_engine.hub import download, partial, plan
from mtplx_engine.models import manifest
from mtplx_engine.util import system
from mtplx_engine.util.system import Machine
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, Fault, running
from tests.support.model_folder import HEAD, HIDDEN, ROWS, TENSORS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


REPO, NAME = "makers/tiny", "makers--tiny"
ONE, OTHER = "makers/one-MTP", "makers/other-MTP"
OLD, NEW = "a" * 40, "c" * 40
SMALL = Machine(1 << 20, 1 << 20, packed=False, chunk=64)
WEIGHTS = "model.safetensors"


class Wish(NamedTuple):
    """What is asked for: options of the command, and the commit and head that they mean."""

    options: tuple[str, ...]
    commit: str
    head: str = ""


PLAIN = Wish((), NEW)
WISHES = {
    "plain": PLAIN,
    "one": Wish(("--head", ONE), NEW, ONE),
    "other": Wish(("--head", OTHER), NEW, OTHER),
    "old one": Wish(("--revision", OLD, "--head", ONE), OLD, ONE),
}


def head_files() -> dict[str, bytes]:
    config = {"model_type": "llama_mtp", "hidden_size": HIDDEN, "vocab_size": ROWS}
    return {"config.json": json.dumps(config).encode(), WEIGHTS: model_folder.safetensors(HEAD)}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    files = {path.name: path.read_bytes() for path in model_folder.write(tmp_path / "original").iterdir()}
    older = files | {"README.md": b"old"}
    repos = {
        REPO: FakeRepo(files, older={OLD: older}),
        ONE: FakeRepo(head_files()),
        OTHER: FakeRepo(head_files() | {"README.md": b"other"}),
    }
    with running(FakeHub(repos)) as hub:
        yield hub


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def run(hub: FakeHub, data: Path, *options: str) -> int:
    return main(["pull", REPO, *options, "--endpoint", hub.endpoint, "--data-dir", str(data)])


def interrupt(hub: FakeHub, data: Path, *options: str) -> None:
    """Begin a download that ends before its last file."""
    hub.faults.append(Fault(lambda handler, *_: handler.reply(403), "tokenizer_config.json", after=1))
    assert run(hub, data, *options) == FAILED
    hub.faults.clear()


def there(data: Path) -> tuple[str, str]:
    """Return the commit and the head that are installed."""
    noted = manifest.read_manifest(paths.models_dir(data) / NAME)
    assert noted is not None
    assert not manifest.missing_files(paths.models_dir(data) / NAME, noted)
    model, head = plan.read_origin(noted.source), plan.read_origin(noted.head_source)
    assert model is not None
    return model.revision, head.repo if head else ""


def weights(data: Path) -> set[int]:
    """Return what tells the files of weights from others of the same content."""
    return {path.stat().st_ino for path in (paths.models_dir(data) / NAME).rglob(WEIGHTS)}


@pytest.mark.parametrize("first", WISHES)
@pytest.mark.parametrize("then", WISHES)
def test_no_wish_is_dropped(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str], first: str, then: str) -> None:
    """Whatever is installed, the next wish is fulfilled; a head stays where none is named; weights come once."""
    assert run(hub, data, *WISHES[first].options) == 0
    assert there(data) == WISHES[first][1:]
    before = weights(data)
    capfd.readouterr()
    assert run(hub, data, *WISHES[then].options) == 0
    out, err = capfd.readouterr()
    kept = WISHES[then].head or WISHES[first].head
    assert there(data) == (WISHES[then].commit, kept)
    same = (WISHES[then].commit, kept) == WISHES[first][1:]
    assert ("is installed already" in out) is same
    assert ("is installed" in err) is not same
    assert weights(data) >= before


@pytest.mark.parametrize("first", WISHES)
@pytest.mark.parametrize("then", WISHES)
def test_nor_by_what_was_begun(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str], first: str, then: str
) -> None:
    """What is not said again is as it was begun."""
    interrupt(hub, data, *WISHES[first].options)
    capfd.readouterr()
    assert run(hub, data, *WISHES[then].options) == 0
    err = capfd.readouterr().err
    kept = WISHES[then].head or WISHES[first].head
    commit = WISHES[then].commit if "--revision" in WISHES[then].options else WISHES[first].commit
    assert there(data) == (commit, kept)
    assert ("goes on at" in err) is ((commit, kept) == WISHES[first][1:])


@pytest.mark.parametrize("name", [WEIGHTS, "head/model.safetensors", "config.json"])
def test_only_what_is_damaged_is_repaired_and_the_head_stays(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    assert run(hub, data, "--head", ONE) == 0
    path = paths.models_dir(data) / NAME / name
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert main(["verify", NAME, "--data-dir", str(data)]) == FAILED
    assert f"mtplx pull {REPO}" in capfd.readouterr().out
    inode = (paths.models_dir(data) / NAME / "tokenizer.json").stat().st_ino
    assert run(hub, data) == 0
    assert f"damaged: {name} is not what was installed" in capfd.readouterr().err
    assert there(data) == (NEW, ONE)
    assert (paths.models_dir(data) / NAME / "tokenizer.json").stat().st_ino == inode


@pytest.mark.parametrize("revision", ["../../x", "f" * 40, "v9", "a b", "x\n"])
@pytest.mark.parametrize("state", ["nothing", "begun", "installed"])
def test_a_revision_that_there_is_not(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str], revision: str, state: str
) -> None:
    if state == "begun":
        interrupt(hub, data)
    elif state == "installed":
        assert run(hub, data) == 0
    capfd.readouterr()
    assert run(hub, data, "--revision", revision) == FAILED
    out, err = capfd.readouterr()
    assert "no such branch, tag or commit" in err or "is no branch, tag or commit" in err
    assert "ready" not in out
    assert "installed" not in out


def test_a_commit_that_vanished_is_no_dead_end(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    interrupt(hub, data, "--revision", OLD, "--head", ONE)
    hub.repos[REPO].older.clear()
    capfd.readouterr()
    assert run(hub, data) == 0
    err = capfd.readouterr().err
    assert f"has no {OLD} any more; what it has now is fetched" in err
    assert "files that are the same are kept" in err
    assert there(data) == (NEW, ONE)


def test_nor_is_one_that_vanishes_meanwhile(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    repo = hub.repos[REPO]

    def vanish(handler: object, *_: object) -> None:
        repo.commit = "e" * 40
        handler.reply(404, headers={"X-Error-Code": "EntryNotFound"})  # type: ignore[attr-defined]

    hub.faults.append(Fault(vanish, "tokenizer.json", times=1))
    assert run(hub, data) == 0
    assert "not what it was when this download began (commit ccccccc)" in capfd.readouterr().err
    assert there(data) == ("e" * 40, "")


def test_a_partial_is_listed_and_can_be_discarded(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = ("--data-dir", str(data))
    for discard in (
        ["remove", NAME],
        ["remove", REPO],
        ["pull", REPO, "--discard"],
    ):
        interrupt(hub, data, "--head", ONE)
        capfd.readouterr()
        assert main(["models", *told]) == 0
        assert f"paused, {download.find_unfinished(data)[0].amount}" in capfd.readouterr().out
        assert main(["models", "--json", *told]) == 0
        (found,) = json.loads(capfd.readouterr().out)["downloads"]
        assert (found["name"], found["repo"], found["state"]) == (NAME, REPO, "paused")
        assert main([*discard, *told]) == 0
        assert f"What had arrived of {NAME}" in capfd.readouterr().out
        assert not plan.staging(data, NAME).exists()
        assert main([*discard, *told]) == FAILED
    interrupt(hub, data)
    with download._only_one(plan.staging(data, NAME), NAME):
        capfd.readouterr()
        assert main(["models", *told]) == 0
        assert "downloading, " in capfd.readouterr().out
        assert main(["remove", NAME, *told]) == FAILED
    assert plan.staging(data, NAME).exists()


def test_memory_is_judged_again_whenever_it_goes_on(
    hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(hub, data)
    monkeypatch.setattr(system, "this_machine", lambda: SMALL)
    assert run(hub, data) == FAILED
    assert "--anyway" in capfd.readouterr().err
    interrupt(hub, data, "--anyway")
    assert run(hub, data) == 0  # as it was said of this very download
    shutil.rmtree(paths.models_dir(data) / NAME)
    assert run(hub, data) == FAILED
    interrupt(hub, data, "--anyway")
    assert run(hub, data, "--head", ONE) == FAILED  # another one


def test_what_had_arrived_and_was_deleted_is_said(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    go_on = threading.Event()

    def delete(handler: object, content: bytes, asked: object) -> None:
        for path in plan.staging(data, NAME).glob("*.partial"):
            path.unlink()
        go_on.set()
        handler.serve(content, asked, ranged=False)  # type: ignore[attr-defined]

    hub.faults.append(Fault(delete, WEIGHTS, after=1))
    assert run(hub, data) == FAILED
    assert go_on.is_set()
    assert "it was deleted, or its disk taken away. Download it again." in capfd.readouterr().err
    hub.faults.clear()
    assert run(hub, data) == 0


def test_the_tokenizer_comes_before_the_weights(hub: FakeHub, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is wrong with what only it reads is known before anything large is fetched."""
    vocab = {"a": 0, "b": ROWS}
    tokenizer = {"model": {"type": "BPE", "vocab": vocab, "merges": []}}
    hub.repos[REPO].files["tokenizer.json"] = json.dumps(tokenizer).encode()
    hub.repos[REPO].files[WEIGHTS] = model_folder.safetensors(TENSORS)
    assert run(hub, data) == FAILED
    err = capfd.readouterr().err
    assert "was not fetched, since it must not be loaded: tokenizer.json has token ids up to 16" in err
    assert [asked.name for asked in hub.asked].count(WEIGHTS) == 1  # the header, at the look
    assert not any(partial.is_growing(path) for path in data.rglob("*"))
    assert download.find_unfinished(data) == ()
