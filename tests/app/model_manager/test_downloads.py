"""Downloads as the window sees them: at once, two at a time, and there again after any end of the program."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.model_manager import download_job, rows
from app.model_manager import downloads as downloads_module
from app.model_manager.download_job import DownloadFolder
from app.model_manager.downloads import DownloadRow, Downloads, DownloadState
from mtplx_engine import paths
from mtplx_engine.errors import ErrorKind
from mtplx_engine.hub import http, partial, plan, remote_inspect
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.models import library, manifest
from tests.support import downloads_child, model_folder
from tests.support.fake_hub import BLOCK, FakeHub, FakeRepo, Fault, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytestqt.qtbot import QtBot

    from mtplx_engine.hub.plan import DownloadPlan
    from tests.support.fake_hub import Asked, Handler


REPOS = ("makers/one", "makers/two", "makers/three")
ONE, TWO, THREE = (plan.folder_name(name) for name in REPOS)
SEGMENT = 4 * BLOCK


class Stall:
    """A server that says nothing, until it is let go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, handler: Handler, data: bytes, asked: Asked) -> None:
        self.asked.set()
        self.go_on.wait(60)
        handler.serve(data, asked, ranged="Range" in handler.headers)


class Bench:
    """Downloads, what they signalled, and the hub."""

    def __init__(self, qtbot: QtBot, data: Path, hub: FakeHub) -> None:
        self.hub = hub
        self.data = data
        self.rows: list[DownloadRow] = []
        self.removed: list[str] = []
        self.installed: list[str] = []
        self._qtbot = qtbot
        self.downloads = self.reopen()

    def reopen(self) -> Downloads:
        """Begin the program, another time perhaps."""
        self.downloads = Downloads(self.data, lambda: HubConnection(self.hub.endpoint))
        self.downloads.changed.connect(self.rows.append)
        self.downloads.removed.connect(self.removed.append)
        self.downloads.installed.connect(lambda row: self.installed.append(row.id))
        return self.downloads

    def plan(self, repo: str = REPOS[0]) -> DownloadPlan:
        return remote_inspect.plan_download(HubConnection(self.hub.endpoint), repo)

    def row(self, plan_id: str = ONE) -> DownloadRow:
        return {row.id: row for row in self.downloads.rows()}[plan_id]

    def state(self, plan_id: str = ONE) -> DownloadState:
        return self.row(plan_id).state

    def until(self, condition: Callable[[], object]) -> None:
        self._qtbot.waitUntil(lambda: bool(condition()), timeout=30_000)

    def until_state(self, state: DownloadState, plan_id: str = ONE) -> None:
        self.until(lambda: self.state(plan_id) is state)

    def until_nobody_works(self) -> None:
        """Wait for the threads; far below the 20 s after which a silent server is given up."""

        def idle() -> bool:
            works = any(thread.name == "download" for thread in threading.enumerate())
            return not works and (not self.downloads._tasks.busy)

        self._qtbot.waitUntil(idle, timeout=5_000)

    def files(self, plan_id: str = ONE) -> dict[str, bytes]:
        folder = paths.models_dir(self.data) / plan_id
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.name != manifest.MANIFEST_NAME
        }


@pytest.fixture
def model(tmp_path: Path) -> dict[str, bytes]:
    folder = model_folder.write(tmp_path / "original")
    # Large, of no matter to any check, and by its name the first.
    return {path.name: path.read_bytes() for path in folder.iterdir()} | {
        "LICENSE": random.Random(1).randbytes(10 * SEGMENT)
    }


@pytest.fixture
def bench(qtbot: QtBot, tmp_path: Path, model: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(partial, "SEGMENT", SEGMENT)
    with running(FakeHub({name: FakeRepo(dict(model)) for name in REPOS})) as hub:
        made = Bench(qtbot, tmp_path / "data", hub)
        yield made
        made.downloads.close()


def test_a_model_is_fetched_and_installed(bench: Bench, model: dict[str, bytes]) -> None:
    wanted = bench.plan()
    bench.downloads.enqueue(wanted)
    bench.downloads.enqueue(wanted)  # pressed twice
    bench.until(lambda: bench.installed)
    assert bench.installed == [ONE]
    assert bench.files() == model
    states = [row.state for row in bench.rows]
    assert list(dict.fromkeys(states)) == [
        DownloadState.QUEUED,
        DownloadState.RUNNING,
        DownloadState.DONE,
    ]
    assert (bench.row().done, bench.row().title) == (wanted.size, "one")
    bench.downloads.cancel(ONE)  # off the list; the model stays
    assert (bench.downloads.rows(), bench.removed) == ((), [ONE])
    assert bench.files() == model


def test_pause_and_resume_take_effect_at_once(bench: Bench, model: dict[str, bytes]) -> None:
    stall = Stall()
    bench.hub.faults.append(Fault(stall, "tokenizer.json", times=1))
    bench.downloads.enqueue(bench.plan())
    bench.until(stall.asked.is_set)
    bench.until(lambda: bench.row().done > len(model["LICENSE"]))
    bench.downloads.pause(ONE)
    assert bench.state() is DownloadState.PAUSED
    bench.until_nobody_works()
    assert bench.row().done >= len(model["LICENSE"])
    bench.hub.asked.clear()
    bench.downloads.resume(ONE)
    assert bench.state() is DownloadState.RUNNING
    stall.go_on.set()
    bench.until_state(DownloadState.DONE)
    assert bench.files() == model
    assert "LICENSE" not in [asked.name for asked in bench.hub.asked]
    shown = [row.done for row in bench.rows]
    assert shown == sorted(shown)  # never back, while what is there is looked at again


def test_what_is_cancelled_when_it_was_installed_already_is_told_of(bench: Bench) -> None:
    bench.downloads.enqueue(bench.plan())
    bench.until_state(DownloadState.RUNNING)
    while any(thread.name == "download" for thread in threading.enumerate()):
        time.sleep(0.01)  # and nobody on this thread hears that it ended
    bench.downloads.cancel(ONE)
    bench.until_nobody_works()
    assert bench.installed == [ONE]
    assert bench.downloads.rows() == ()
    assert [model.name for model in library.installed_models(bench.data)] == [ONE]


def test_a_pause_that_is_taken_back_before_the_thread_has_ended(bench: Bench) -> None:
    stall = Stall()
    bench.hub.faults.append(Fault(stall, "config.json", times=1))
    bench.downloads.enqueue(bench.plan())
    bench.until(stall.asked.is_set)
    bench.downloads.pause(ONE)
    bench.downloads.resume(ONE)
    bench.downloads.pause(ONE)
    bench.downloads.resume(ONE)
    stall.go_on.set()
    bench.until_state(DownloadState.DONE)
    assert bench.installed == [ONE]


def test_cancel_ends_the_thread_and_leaves_nothing(bench: Bench) -> None:
    stall = Stall()
    bench.hub.faults.append(Fault(stall, "tokenizer.json"))
    bench.downloads.enqueue(bench.plan())
    bench.until(stall.asked.is_set)
    bench.downloads.cancel(ONE)
    assert (bench.downloads.rows(), bench.removed) == ((), [ONE])
    bench.until_nobody_works()
    stall.go_on.set()
    assert plan.unfinished_plans(bench.data) == ()
    assert not plan.staging(bench.data, ONE).exists()


def test_what_was_cancelled_can_be_wanted_again_at_once(bench: Bench, model: dict[str, bytes]) -> None:
    stall = Stall()
    bench.hub.faults.append(Fault(stall, "tokenizer.json", times=1))
    wanted = bench.plan()
    bench.downloads.enqueue(wanted)
    bench.until(stall.asked.is_set)
    bench.downloads.cancel(ONE)
    bench.downloads.enqueue(wanted)
    assert bench.state() is DownloadState.QUEUED
    stall.go_on.set()
    bench.until_state(DownloadState.DONE)
    assert bench.files() == model


def test_two_at_once_and_the_others_in_line(bench: Bench) -> None:
    stall = Stall()
    bench.hub.faults.append(Fault(stall, "config.json"))
    for repo in REPOS:
        bench.downloads.enqueue(bench.plan(repo))
    bench.until(lambda: [bench.state(item) for item in (ONE, TWO)] == [DownloadState.RUNNING] * 2)
    bench.until(lambda: bench.downloads._items[THREE].noted)
    assert bench.state(THREE) is DownloadState.QUEUED
    bench.downloads.pause(ONE)
    bench.until_state(DownloadState.RUNNING, THREE)
    bench.downloads.resume(ONE)
    assert bench.state(ONE) is DownloadState.QUEUED
    stall.go_on.set()
    for plan_id in (ONE, TWO, THREE):
        bench.until_state(DownloadState.DONE, plan_id)
    most = 0
    now: dict[str, DownloadState] = {}
    for row in bench.rows:
        now[row.id] = row.state
        most = max(most, list(now.values()).count(DownloadState.RUNNING))
    assert most == downloads_module.AT_ONCE


def test_a_failure_says_what_and_can_be_tried_again(bench: Bench, model: dict[str, bytes]) -> None:
    bench.hub.faults.append(Fault(lambda handler, *_: handler.reply(404), "tokenizer.json"))
    bench.downloads.enqueue(bench.plan())
    bench.until_state(DownloadState.FAILED)
    row = bench.row()
    assert (row.problem, row.error and row.error.kind) == (HubErrorKind.NOT_FOUND, ErrorKind.DOWNLOAD)
    assert row.error
    assert "tokenizer.json" in row.error.message
    assert row.done >= len(model["LICENSE"])
    bench.hub.faults.clear()
    bench.downloads.resume(ONE)
    assert (bench.row().error, bench.row().problem) == (None, None)
    bench.until_state(DownloadState.DONE)


@dataclass(frozen=True)
class Lasting:
    """A fault, and what is said while it lasts."""

    status: int
    headers: dict[str, str]
    said: str

    def __call__(self, handler: Handler, _data: bytes, _asked: Asked) -> None:
        handler.reply(self.status, headers=self.headers)


LASTING = (
    Lasting(
        429,
        {"Retry-After": "3600"},
        r"127\.0\.0\.1 asks to wait until \d\d:\d\d( tomorrow)? \(429\) · .+ of .+ MB",
    ),
    Lasting(
        503,
        {"Retry-After": "60"},
        r".+\(error 503\), and asks to wait 60 s, trying again in \d\d s · .+ of .+ MB",
    ),
    Lasting(429, {"Retry-After": "9" * 30}, r"127\.0\.0\.1 asks to wait for a day or longer \(429\) · .+ of .+ MB"),
    Lasting(
        500,
        {},
        r"127\.0\.0\.1 cannot answer at the moment \(error 500\), trying again in \d+ s · .+ of .+ MB",
    ),
)


@pytest.mark.parametrize("fault", LASTING, ids=lambda fault: fault.said)
def test_what_has_to_wait_says_why_and_lets_the_next_ones_go_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, fault: Lasting
) -> None:
    """Two that wait hold no place; at their time they are in line again, and the bytes that are there stay."""
    monkeypatch.setattr(download_job, "_HOLD_S", 0.0)
    for repo in REPOS[:2]:
        bench.hub.repos[repo].fault = fault
    for repo in REPOS:
        bench.downloads.enqueue(bench.plan(repo))
    bench.until_state(DownloadState.DONE, THREE)
    for item in (ONE, TWO):
        bench.until_state(DownloadState.WAITING, item)
        assert re.fullmatch(fault.said, rows.progress(bench.row(item)))
        bench.hub.repos[REPOS[(ONE, TWO).index(item)]].fault = None
    monkeypatch.setattr("mtplx_engine.hub.retries.Waiting.seconds", lambda *_: 0.0)  # the time has come
    for item in (ONE, TWO):
        bench.until_state(DownloadState.DONE, item)


def test_a_server_that_says_nothing_holds_no_place(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """By clocks on which the silence takes a moment; the first one in line is not tried again and again."""
    monkeypatch.setattr(http.HubConnection.client, "__defaults__", (0.1,))
    monkeypatch.setattr(download_job, "_PATIENCE_S", 0.05)
    stall = Stall()
    for repo in REPOS[:2]:
        bench.hub.repos[repo].fault = stall
    for repo in REPOS:
        bench.downloads.enqueue(bench.plan(repo))
    bench.until_state(DownloadState.DONE, THREE)
    for item in (ONE, TWO):
        bench.until_state(DownloadState.WAITING, item)
        said = r"127\.0\.0\.1 stopped answering, trying again in \d+ s · .+"
        assert re.fullmatch(said, rows.progress(bench.row(item)))
    stall.go_on.set()


def test_what_waits_can_be_paused_gone_on_with_and_wanted_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_job, "_HOLD_S", 0.0)
    wanted = bench.plan()
    bench.hub.repos[REPOS[0]].fault = LASTING[0]
    bench.downloads.enqueue(wanted)
    for act in (bench.downloads.resume, lambda _: bench.downloads.enqueue(wanted)):
        bench.until_state(DownloadState.WAITING)
        bench.downloads.pause(ONE)
        assert bench.state() is DownloadState.PAUSED
        act(ONE)
    bench.until_state(DownloadState.WAITING)
    bench.downloads.close()
    bench.hub.repos[REPOS[0]].fault = None
    bench.reopen().open()  # it was under way
    bench.until(bench.downloads.rows)
    bench.until_state(DownloadState.DONE)


def test_a_moment_of_no_answer_is_said_in_place_of_a_speed(bench: Bench) -> None:
    asks = Lasting(503, {"Retry-After": "3"}, r".+ \(error 503\), and asks to wait 3 s, trying again in [123] s · .+")
    bench.hub.repos[REPOS[0]].fault = asks
    bench.downloads.enqueue(bench.plan())
    bench.until(lambda: bench.row().waiting)
    assert bench.state() is DownloadState.RUNNING
    assert re.fullmatch(asks.said, rows.progress(bench.row()))


def test_bytes_that_were_there_are_progress_and_no_speed(bench: Bench, model: dict[str, bytes]) -> None:
    there = len(model["LICENSE"])
    bench.hub.faults.append(Fault(lambda handler, *_: handler.reply(404), "tokenizer.json"))
    bench.downloads.enqueue(bench.plan())
    bench.until_state(DownloadState.FAILED)
    stall = Stall()
    bench.hub.faults[:] = [Fault(stall, "tokenizer.json", times=1)]
    bench.rows.clear()
    bench.downloads.resume(ONE)
    bench.until(stall.asked.is_set)
    bench.until(lambda: bench.row().bytes_s is not None)  # enough was seen
    assert all(row.done >= there for row in bench.rows)
    assert all(row.bytes_s in (None, 0.0) and row.seconds_left is None for row in bench.rows)
    stall.go_on.set()
    bench.until_state(DownloadState.DONE)


def test_another_commit_starts_over(bench: Bench) -> None:
    bench.hub.faults.append(Fault(lambda handler, *_: handler.reply(404), "tokenizer.json"))
    bench.downloads.enqueue(bench.plan())
    bench.until_state(DownloadState.FAILED)
    bench.hub.faults.clear()
    newer = bench.hub.repos[REPOS[0]]
    newer.commit = "d" * 40
    newer.files["LICENSE"] = bytes(len(newer.files["LICENSE"]))  # of the same size
    bench.downloads.enqueue(bench.plan())
    bench.until_state(DownloadState.DONE)
    assert bench.files() == newer.files


def test_what_the_hub_has_no_more_is_fetched_as_it_is_now_and_that_is_said(bench: Bench) -> None:
    """A download that was paused long ago is no dead end, nor is one whose repository is changed under it."""
    repo = bench.hub.repos[REPOS[0]]

    def vanish(handler: Handler, _data: bytes, _asked: Asked) -> None:
        repo.commit = "d" * 40
        repo.files["LICENSE"] = b"new"
        handler.reply(404, headers={"X-Error-Code": "EntryNotFound"})

    bench.hub.faults.append(Fault(vanish, "tokenizer.json", times=1))
    bench.downloads.enqueue(bench.plan())
    bench.until_state(DownloadState.DONE)
    assert bench.files() == repo.files
    assert bench.row().total == sum(map(len, repo.files.values()))
    assert bench.row().renewed
    assert "changed at the hub meanwhile" in rows.progress(bench.row())


def test_what_it_is_now_is_judged_first(bench: Bench) -> None:
    repo = bench.hub.repos[REPOS[0]]

    def vanish(handler: Handler, _data: bytes, _asked: Asked) -> None:
        repo.commit = "d" * 40
        repo.files["config.json"] = b'{"model_type": "rwkv9"}'
        handler.reply(404, headers={"X-Error-Code": "EntryNotFound"})

    bench.hub.faults.append(Fault(vanish, "tokenizer.json", times=1))
    bench.downloads.enqueue(bench.plan())
    bench.until_state(DownloadState.FAILED)
    assert bench.row().problem is HubErrorKind.UNSAFE


def test_a_disk_that_does_not_take_it_is_said(bench: Bench) -> None:
    wanted = bench.plan()
    bench.data.mkdir()
    (bench.data / "models").write_text("in the way")
    bench.downloads.enqueue(wanted)
    bench.until_state(DownloadState.FAILED)
    assert bench.row().problem is HubErrorKind.READ_ONLY


def test_the_end_of_the_program_waits_for_no_server(bench: Bench, model: dict[str, bytes]) -> None:
    """What was under way goes on by itself; what was paused does not."""
    stall = Stall()
    bench.hub.faults.append(Fault(stall, "tokenizer.json", times=2))
    bench.downloads.enqueue(bench.plan(REPOS[0]))
    bench.downloads.enqueue(bench.plan(REPOS[1]))
    bench.until(lambda: bench.row(TWO).done > SEGMENT and bench.state() is DownloadState.RUNNING)
    bench.downloads.pause(TWO)
    bench.downloads.close()
    bench.downloads.close()
    bench.until_nobody_works()
    stall.go_on.set()

    bench.reopen().open()
    bench.until(lambda: len(bench.downloads.rows()) == 2)
    bench.until_state(DownloadState.DONE)
    assert bench.state(TWO) is DownloadState.PAUSED
    assert bench.row(TWO).done > SEGMENT
    assert bench.files() == model


def test_a_thread_that_cannot_be_ended_does_not_hold_the_program_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that looks a name up; nothing that it does later is heard of."""
    release = threading.Event()
    monkeypatch.setattr(downloads_module, "_END_S", 0.05)
    wanted = bench.plan()
    downloads = Downloads(bench.data, lambda: release.wait(60) and HubConnection(bench.hub.endpoint))
    downloads.enqueue(wanted)
    bench.until(lambda: downloads.rows()[0].state is DownloadState.RUNNING)
    downloads.close()
    release.set()
    bench.until_nobody_works()
    assert downloads.rows()[0].state is DownloadState.RUNNING


def test_d13_a_killed_program_shows_it_paused_and_goes_on(bench: Bench) -> None:
    model = bench.hub.repos[REPOS[0]].files
    model["LICENSE"] = random.Random(2).randbytes(40 * SEGMENT)
    bench.hub.pause_s = 0.05
    size = bench.plan().size
    command = [sys.executable, downloads_child.__file__, bench.hub.endpoint, REPOS[0], str(bench.data)]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen([*command, str(SEGMENT)], stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        next(line for line in child.stdout if int(line) >= 0.6 * size)
        child.kill()
    assert child.returncode == -signal.SIGKILL

    bench.hub.pause_s = 0.0
    sent = bench.hub.sent
    bench.downloads.open()
    bench.until(bench.downloads.rows)
    assert bench.state() is DownloadState.PAUSED
    assert bench.row().done >= 0.55 * size
    assert library.installed_models(bench.data) == ()
    bench.downloads.resume(ONE)
    bench.until_state(DownloadState.DONE)
    print(f"{(bench.hub.sent - sent) / size:.0%} of {size:,} bytes were fetched after the kill")
    assert 0 < bench.hub.sent - sent <= 0.45 * size
    assert bench.files() == model


def test_d13_nothing_is_ready_before_its_hash_is_right(bench: Bench) -> None:
    """A byte of what had arrived is another one after the restart."""
    stall = Stall()
    bench.hub.faults.append(Fault(stall, "LICENSE", after=4))
    bench.downloads.enqueue(bench.plan())
    bench.until(stall.asked.is_set)
    bench.until(lambda: bench.row().done)
    bench.downloads.close()
    stall.go_on.set()
    [growing] = plan.staging(bench.data, ONE).glob("LICENSE*.partial")
    with growing.open("r+b") as file:
        first = file.read(1)[0]
        file.seek(0)
        file.write(bytes([first ^ 1]))
    bench.hub.faults.clear()
    bench.reopen().open()
    bench.until(bench.downloads.rows)
    bench.until_state(DownloadState.FAILED)
    assert bench.row().problem is HubErrorKind.WRONG_HASH
    assert (library.installed_models(bench.data), bench.installed) == ((), [])
    bench.downloads.resume(ONE)
    bench.until_state(DownloadState.DONE)
    assert bench.files() == bench.hub.repos[REPOS[0]].files


_HOLDER = """
import sys
from pathlib import Path
from mtplx_engine.hub import download
with download._only_one(Path(sys.argv[1]), "it"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_what_another_program_fetches_stays_on_the_list_and_it_is_said_who_does(bench: Bench) -> None:
    wanted = DownloadFolder(bench.data).note(bench.plan())
    bench.reopen().open()
    bench.until(bench.downloads.rows)
    folder = plan.staging(bench.data, wanted.id, wanted.home)
    command = [sys.executable, "-c", _HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        bench.downloads.cancel(ONE)
        bench.until(bench.downloads.rows)
        row = bench.row()
        assert (row.state, row.problem) == (DownloadState.FAILED, HubErrorKind.BUSY)
        assert row.error is not None
        assert f"by another program (process {holder.pid})" in row.error.message
        assert ONE in {found.id for found in plan.unfinished_plans(bench.data)}
        holder.communicate("")
    bench.downloads.cancel(ONE)
    bench.until(lambda: ONE not in {found.id for found in plan.unfinished_plans(bench.data)})
    assert bench.downloads.rows() == ()
