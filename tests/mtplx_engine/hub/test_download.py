"""A whole model from a hub: installed as it is there, or not at all, whatever happens on the way."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import random
import shlex
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.hub import download, partial, plan, repository
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.hub.partial import Expected
from mtplx_engine.hub.plan import DownloadPlan
from mtplx_engine.hub.repository import RemoteFile, Repo
from mtplx_engine.hub.retries import Retries
from mtplx_engine.models import checkpoint, library, manifest
from tests.support import hub_child, model_folder, small_disk_child
from tests.support.fake_hub import BLOCK, FakeHub, FakeRepo, Fault, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.fake_hub import Asked, Handler


REPO = "makers/model"
SEGMENT = 1 << 20


def files_of(folder: Path) -> dict[str, bytes]:
    """Return what is in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def model(tmp_path: Path) -> dict[str, bytes]:
    return files_of(model_folder.write(tmp_path / "original"))


@pytest.fixture
def hub(model: dict[str, bytes]) -> Iterator[FakeHub]:
    with running(FakeHub({REPO: FakeRepo(dict(model))})) as hub:
        yield hub


def planned(hub: FakeHub, head: str | None = None) -> tuple[DownloadPlan, HubConnection]:
    """Ask the hub, and return what is to be installed."""
    connection = HubConnection(hub.endpoint)
    heads = repository.read_repo(connection, head) if head else None
    return DownloadPlan(plan.folder_name(REPO), "A model", repository.read_repo(connection, REPO), heads), connection


def started(hub: FakeHub, data: Path, head: str | None = None) -> Download:
    """Return a download that has not begun."""
    return Download(*_swap(planned(hub, head), data), Retries(limit=3, first_s=0.001))


def _swap(found: tuple[DownloadPlan, HubConnection], data: Path) -> tuple[DownloadPlan, Path, HubConnection]:
    return found[0], data, found[1]


def test_an_installed_model_is_what_the_hub_has(hub: FakeHub, tmp_path: Path, model: dict[str, bytes]) -> None:
    hub.repos[REPO].files |= {"evil.py": b"import os", "weights.bin": b"pickle", "sub/dir/x.json": b"{}"}
    running_download = started(hub, tmp_path)
    folder = running_download.run()
    assert running_download.tally.done == running_download.total == sum(map(len, model.values()))
    found = files_of(folder)
    noted = manifest.read_manifest(folder)
    assert noted is not None
    assert found.pop(manifest.MANIFEST_NAME)
    assert found == model
    assert {record.name: record.sha256 for record in noted.files} == {
        name: hashlib.sha256(data).hexdigest() for name, data in model.items()
    }
    assert noted.source == f"{hub.endpoint}/{REPO}@{'c' * 40}"
    assert noted.licence == "apache-2.0"
    assert [item.name for item in library.installed_models(tmp_path) if item.complete] == ["makers--model"]
    checkpoint.check(folder)
    assert plan.unfinished_plans(tmp_path) == ()


def test_a_head_of_its_own_is_bound_to_its_model(hub: FakeHub, tmp_path: Path) -> None:
    head = {
        "config.json": b'{"model_type": "llama_mtp", "hidden_size": 4, "vocab_size": 16}',
        "model.safetensors": model_folder.safetensors({"fc.weight": ("F32", (4, 8)), "norm.weight": ("F32", (4,))}),
    }
    hub.repos["makers/head"] = FakeRepo(head, commit="d" * 40)
    folder = started(hub, tmp_path, "makers/head").run()
    noted = manifest.read_manifest(folder)
    assert noted is not None
    assert noted.binding is not None
    assert noted.binding.folder == plan.HEAD_FOLDER
    assert files_of(folder / plan.HEAD_FOLDER) == head
    assert [item.name for item in library.installed_models(tmp_path)] == ["makers--model"]


def test_what_must_not_be_loaded_is_not_kept(hub: FakeHub, tmp_path: Path) -> None:
    hub.repos[REPO].files["config.json"] = b'{"model_type": "llama", "auto_map": {"AutoModel": "evil.Model"}}'
    with pytest.raises(HubError) as raised:
        started(hub, tmp_path).run()
    assert raised.value.problem is HubErrorKind.UNSAFE
    assert not any(path.is_file() for path in paths.models_dir(tmp_path).rglob("*") if path.suffix != ".lock")


def test_a_later_start_goes_on(hub: FakeHub, tmp_path: Path, model: dict[str, bytes]) -> None:
    hub.faults.append(Fault(lambda handler, _data, _asked: handler.reply(404), "tokenizer_config.json"))
    with pytest.raises(HubError):
        started(hub, tmp_path).run()
    assert [item.id for item in plan.unfinished_plans(tmp_path)] == ["makers--model"]
    assert library.installed_models(tmp_path) == ()
    hub.faults.clear()
    hub.asked.clear()
    (found,) = plan.unfinished_plans(tmp_path)
    folder = Download(found, tmp_path, HubConnection(hub.endpoint)).run()
    assert {name: data for name, data in files_of(folder).items() if name != manifest.MANIFEST_NAME} == model
    # The order is by name, with weights last: two were there.
    assert [asked.name for asked in hub.asked] == ["tokenizer_config.json", "model.safetensors"]


def test_no_room_is_said_before_the_weights(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repos[REPO].files["model.safetensors"] = bytes(SEGMENT)  # more than the blocks of the small files
    usage = shutil.disk_usage(tmp_path)._replace(free=1_900_000_000)
    monkeypatch.setattr(plan.shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(HubError, match=r"needs \d+ [kM]B, with 2\.0 GB to spare beside it, and 1\.9 GB are") as raised:
        started(hub, tmp_path).run()
    assert raised.value.problem is HubErrorKind.DISK_FULL
    assert "model.safetensors" not in [asked.name for asked in hub.asked]


def test_what_others_still_need_is_no_room(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those that run, and that found room themselves."""
    other = plan.staging(tmp_path, "other")
    large = RemoteFile("model.safetensors", 3_000_000_000, Expected("sha256", "a" * 64))
    repository = Repo("makers/other", "c" * 40, "", gated=False, files=(large,), left_out=())
    plan.write_plan(other, DownloadPlan("other", "Other", repository))
    usage = shutil.disk_usage(tmp_path)._replace(free=4_000_000_000)
    monkeypatch.setattr(plan.shutil, "disk_usage", lambda _path: usage)
    with download._only_one(other, "Other"):
        (other / "model.safetensors.partial").touch()
        with pytest.raises(HubError, match=r"and 1\.0 GB are free beside the other downloads") as raised:
            started(hub, tmp_path).run()
        assert raised.value.problem is HubErrorKind.DISK_FULL
        (other / "model.safetensors.partial").unlink()
        assert started(hub, tmp_path).run().is_dir()
    (other / "model.safetensors.partial").touch()
    assert started(hub, tmp_path).run().is_dir()


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        (errno.ENOSPC, HubErrorKind.DISK_FULL),
        (errno.EROFS, HubErrorKind.READ_ONLY),
        (errno.EIO, HubErrorKind.READ_ONLY),
    ],
)
def test_a_disk_that_fails_is_said(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, problem: HubErrorKind
) -> None:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(partial.os, "pwrite", fail)
        with pytest.raises(HubError) as raised:
            started(hub, tmp_path).run()
    assert raised.value.problem is problem
    assert started(hub, tmp_path).run().is_dir()


def test_one_download_of_a_model_at_a_time(hub: FakeHub, tmp_path: Path) -> None:
    folder = plan.staging(tmp_path, "makers--model")
    with download._only_one(folder, "A model"):
        with pytest.raises(HubError) as raised:
            started(hub, tmp_path).run()
        with pytest.raises(HubError):
            download.discard(tmp_path, planned(hub)[0])
    assert raised.value.problem is HubErrorKind.BUSY
    started(hub, tmp_path).run()


def test_discarding_leaves_nothing(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.append(Fault(lambda handler, _data, _asked: handler.reply(404), "tokenizer_config.json"))
    with pytest.raises(HubError):
        started(hub, tmp_path).run()
    download.discard(tmp_path, plan.unfinished_plans(tmp_path)[0])
    assert plan.unfinished_plans(tmp_path) == ()
    assert files_of(paths.models_dir(tmp_path) / ".incoming").keys() <= {".makers--model.lock"}


def test_old_remains_are_swept_and_new_ones_stay(hub: FakeHub, tmp_path: Path) -> None:
    made = []
    for name in ("old", "new"):
        found = planned(hub)[0]
        folder = plan.staging(tmp_path, name)
        plan.write_plan(folder, DownloadPlan(name, name, found.target))
        made.append(folder)
    for path in (made[0], *made[0].rglob("*")):
        os.utime(path, (1, 1))
    assert plan.sweep_plans(tmp_path) == ("old",)
    assert [item.id for item in plan.unfinished_plans(tmp_path)] == ["new"]


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b'{"id": 1}', b"\xff", b'{"id": "makers--model"}'],
)
def test_a_plan_that_cannot_be_read_is_none(hub: FakeHub, tmp_path: Path, damage: bytes) -> None:
    folder = plan.staging(tmp_path, "makers--model")
    plan.write_plan(folder, planned(hub)[0])
    (folder / plan.PLAN_NAME).write_bytes(damage)
    assert plan.read_plan(folder) is None


def test_two_models_arrive_at_once(tmp_path: Path, model: dict[str, bytes]) -> None:
    """The first file of each is only sent once the other is asked for too."""
    rng = random.Random(3)
    repos = {name: FakeRepo({**model, "LICENSE": rng.randbytes(2 * BLOCK)}) for name in (REPO, "makers/other")}
    both = threading.Barrier(2)

    def together(handler: Handler, data: bytes, asked: Asked) -> None:
        both.wait(30)
        handler.serve(data, asked, ranged="Range" in handler.headers)

    with running(FakeHub(repos, faults=[Fault(together, "LICENSE")])) as hub:
        connection = HubConnection(hub.endpoint)
        plans = [DownloadPlan(plan.folder_name(name), name, repository.read_repo(connection, name)) for name in repos]
        downloads = [Download(each, tmp_path, connection) for each in plans]
        with ThreadPoolExecutor(2) as pool:
            folders = list(pool.map(Download.run, downloads))
    for folder, wanted in zip(folders, repos.values(), strict=True):
        found = files_of(folder)
        del found[manifest.MANIFEST_NAME]
        assert found == wanted.files


def _may_mount() -> bool:
    try:
        done = subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(not _may_mount(), reason="small disks cannot be mounted here")
@pytest.mark.parametrize("checked", ["checked", "unchecked"])
def test_two_downloads_on_a_disk_that_is_too_small(tmp_path: Path, model: dict[str, bytes], checked: str) -> None:
    """It is said before the weights, or when the disk is full; what arrived is of use once there is room."""
    rng = random.Random(5)
    # 5 MB each, 8 MB of room. Several files hold them, so that both downloads are under way when it ends.
    parts = {f"extra-{n}.safetensors": model_folder.safetensors({f"t{n}": ("F32", (131_072,))}) for n in range(8)}
    files = {**model, **parts, "LICENSE": rng.randbytes(1 << 20)}
    repos = {name: FakeRepo(dict(files)) for name in (REPO, "makers/other")}
    with running(FakeHub(repos)) as hub:
        command = [sys.executable, small_disk_child.__file__, hub.endpoint, str(tmp_path), checked, *repos]
        mounted = f"mount -t tmpfs -o size=8m none {tmp_path} && exec {shlex.join(command)}"
        done = subprocess.run(
            ["unshare", "-Urm", "sh", "-c", mounted],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    problems = [problem.partition(":")[0] for problem in told["first"]]
    assert "DISK_FULL" in problems
    assert set(problems) <= {"DISK_FULL", ""}
    assert (told["second"], told["wrong"]) == ("", [])


def test_a_plan_cannot_name_files_elsewhere(hub: FakeHub, tmp_path: Path) -> None:
    folder = plan.staging(tmp_path, "makers--model")
    plan.write_plan(folder, planned(hub)[0])
    text = (folder / plan.PLAN_NAME).read_text()
    assert plan.read_plan(folder) is not None
    (folder / plan.PLAN_NAME).write_text(text.replace('"model.safetensors"', '"../../../model.safetensors"'))
    assert plan.read_plan(folder) is None


@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.long)])
def test_a_kill_at_any_point_costs_little(tmp_path: Path, model: dict[str, bytes], kills: int) -> None:
    rng = random.Random(kills)
    # Large, of no matter to any check, and by its name the first.
    files = {**model, "LICENSE": rng.randbytes((kills + 4) * SEGMENT)}
    there, sent = [], []
    with running(FakeHub({REPO: FakeRepo(files)}, pause_s=0.004)) as hub:
        while not (paths.models_dir(tmp_path) / "makers--model").is_dir():
            before = hub.sent
            limit = None if len(sent) >= kills else rng.randint(1, SEGMENT // 4)
            told = hub_child.run_until(hub, REPO, tmp_path, SEGMENT, limit)
            there.append(told[0])
            sent.append(hub.sent - before)
    again = [count - (after - before) for count, (before, after) in zip(sent, pairwise(there), strict=False)]
    print(f"{len(again)} kills of a download: at most {max(again):,} bytes were sent again")
    assert len(again) == kills
    assert 0 < max(again) <= 2 << 20
    found = files_of(paths.models_dir(tmp_path) / "makers--model")
    del found[manifest.MANIFEST_NAME]
    assert found == files


class Program:
    """Stands for macOS's program; notes what it was told."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def start(self, arguments: list[str]) -> Program:
        self.said.append(arguments)
        return self

    def terminate(self) -> None:
        self.said.append("end")

    def wait(self) -> int:
        self.said.append("ended")
        return 0


STARTED = ["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())]


def test_it_lasts_as_long_as_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    program = Program()
    with download.kept_awake(program.start):
        assert program.said == [STARTED]
    assert program.said == [STARTED, "end", "ended"]


def test_it_ends_after_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    program = Program()
    with pytest.raises(KeyError), download.kept_awake(program.start):
        raise KeyError
    assert program.said == [STARTED, "end", "ended"]


def test_without_the_program_the_download_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")

    def missing(_: list[str]) -> Program:
        raise FileNotFoundError

    done = []
    with download.kept_awake(missing):
        done.append(True)
    assert done


def test_other_machines_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    program = Program()
    with download.kept_awake(program.start):
        assert program.said == []
    assert program.said == []
