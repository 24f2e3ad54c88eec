"""`mtplx pull` and `mtplx search` where a hub makes them wait: why and how long is said, to users and to programs."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.cli import hub as hub_commands
from mtplx_engine.cli.main import FAILED, main
from mtplx_engine.hub import plan
from mtplx_engine.hub.errors import CancelToken
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, Fault, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


REPO = "makers/tiny"
NAME = "makers--tiny"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    files = {path.name: path.read_bytes() for path in model_folder.write(tmp_path / "original").iterdir()}
    with running(FakeHub({REPO: FakeRepo(files)})) as hub:
        yield hub


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is waited for takes a tenth of a second, in which a few readings are told."""

    def wait(interrupt: CancelToken, _seconds: float) -> None:
        time.sleep(0.1)
        interrupt.check()

    monkeypatch.setattr(CancelToken, "wait", wait)
    monkeypatch.setattr(hub_commands, "_TICK_S", 0.01)
    monkeypatch.setattr(hub_commands, "_JSON_TICK_S", 0.01)


def run(hub: FakeHub, tmp_path: Path, command: str, *arguments: str) -> int:
    return main([command, *arguments, "--endpoint", hub.endpoint, "--data-dir", str(tmp_path / "data")])


def wait_once(hub: FakeHub, status: int, **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    act = Fault(lambda handler, *_: handler.reply(status, headers=named), "tokenizer.json", times=1)
    hub.faults.append(act)


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (
            429,
            {"Retry_After": "3000"},
            r"127\.0\.0\.1 asks to wait until \d\d:\d\d( tomorrow)? \(429\), \d+ (bytes|kB|MB) of ",
        ),
        (
            503,
            {"Retry_After": "60"},
            r"127\.0\.0\.1 .+ \(error 503\), and asks to wait 60 s, trying again in \d+ s, ",
        ),
        (
            500,
            {},
            r"127\.0\.0\.1 cannot answer at the moment \(error 500\), trying again in \d+ s, \d+ (bytes|kB|MB) of ",
        ),
    ],
)
def test_a_wait_is_said(
    hub: FakeHub,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    status: int,
    headers: dict[str, str],
    said: str,
) -> None:
    wait_once(hub, status, **headers)
    assert run(hub, tmp_path, "pull", REPO) == 0
    assert re.search(f"^{said}", capfd.readouterr().err, re.MULTILINE)


def test_a_wait_is_told_to_programs(hub: FakeHub, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wait_once(hub, 429, Retry_After="3000")
    assert run(hub, tmp_path, "pull", REPO, "--json") == 0
    events = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    waiting = next(event for event in events if event["event"] == "waiting")
    assert waiting.keys() == {"event", "done", "total", "reason", "asked", "seconds"}
    assert "asks to wait until" in waiting["reason"]
    assert waiting["asked"]
    assert 2900 < waiting["seconds"] <= 3000
    assert events[-1]["event"] == "installed"


@pytest.mark.parametrize("wanted", ["4000", "9" * 40])
def test_a_wait_that_is_too_long_pauses_it(
    hub: FakeHub, tmp_path: Path, capfd: pytest.CaptureFixture[str], wanted: str
) -> None:
    wait_once(hub, 429, Retry_After=wanted)
    assert run(hub, tmp_path, "pull", REPO) == FAILED
    assert re.search(r"127\.0\.0\.1 asks to wait .+ \(429\)\. Try again then\.$", capfd.readouterr().err.strip())
    assert NAME in {found.id for found in plan.unfinished_plans(tmp_path / "data")}
    assert run(hub, tmp_path, "pull", REPO) == 0


def test_bytes_that_were_there_are_no_speed(hub: FakeHub, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """And are in the first reading, as far as it began to count."""
    hub.faults.append(Fault(lambda handler, *_: handler.reply(404), "tokenizer.json"))
    assert run(hub, tmp_path, "pull", REPO, "--json") == FAILED
    there = len(hub.repos[REPO].files["config.json"])
    hub.faults.clear()
    wait_once(hub, 503)
    capfd.readouterr()
    assert run(hub, tmp_path, "pull", REPO, "--json") == 0
    *readings, _installed = map(json.loads, capfd.readouterr().out.splitlines())
    dones = [event["done"] for event in readings]
    assert all(done == 0 or done >= there for done in dones)
    assert dones == sorted(dones)
    assert all(not event.get("bytes_s") for event in readings if event["done"] <= there)


def test_odd_entries_of_a_search_are_counted(hub: FakeHub, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hub.listed = ("no-owner", "a/../b")
    assert run(hub, tmp_path, "search", "tiny") == 0
    out, err = capfd.readouterr()
    assert REPO in out
    assert err == "127.0.0.1 lists 2 entries that make no sense; left out.\n"


def test_a_search_that_fails_says_one_sentence(hub: FakeHub, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hub.api_fault = lambda handler: handler.reply(503)
    assert run(hub, tmp_path, "search", "tiny") == FAILED
    out, err = capfd.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert "cannot answer at the moment (error 503)" in err
