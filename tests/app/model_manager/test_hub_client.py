"""Questions to the hub as the window asks them: the newest wins, and every refusal has its own words and action."""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from app.model_manager.hub_client import HubAccess, HubClient, HubQuestion
from app.program import start_logging
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.settings import HubSettings
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, running
from tests.support.fake_keychain import FakeKeychain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from tests.support.fake_hub import Handler


REPO = "makers/model"
CANARY = "hf_canaryCANARYcanary0123456789"


class Bench:
    """A client, what it signalled, its hub and its keychain."""

    def __init__(self, qtbot: QtBot, data: Path, hub: FakeHub) -> None:
        self.hub = hub
        self.keychain = FakeKeychain()
        self.access = HubAccess(data, lambda: self.keychain)
        self.access.set_settings(HubSettings(hub.endpoint))
        self.client = HubClient(self.access)
        self.heard: list[tuple[Any, ...]] = []
        self._qtbot = qtbot
        self.client.found.connect(lambda words, hits: self.heard.append(("found", words, hits)))
        self.client.inspected.connect(lambda repo, look: self.heard.append(("inspected", repo, look)))
        self.client.token_checked.connect(lambda name: self.heard.append(("token", name)))
        self.client.token_forgotten.connect(lambda: self.heard.append(("forgotten",)))
        self.client.failed.connect(lambda *what: self.heard.append(("failed", *what)))

    def wait(self, count: int = 1) -> tuple[Any, ...]:
        """Wait for the `count`th signal, and return what it carried."""
        self._qtbot.waitUntil(lambda: len(self.heard) >= count, timeout=30_000)
        return self.heard[count - 1]

    def until(self, condition: Callable[[], object]) -> None:
        self._qtbot.waitUntil(lambda: bool(condition()), timeout=30_000)

    def until_nobody_asks(self) -> None:
        """Wait for the threads; far below the 20 s after which a silent server is given up."""
        self._qtbot.waitUntil(lambda: not any(t.name == "hub" for t in threading.enumerate()), timeout=5_000)


@pytest.fixture
def bench(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    folder = model_folder.write(tmp_path / "original")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with running(FakeHub({REPO: FakeRepo(files)}, accounts={CANARY: "ada"})) as hub:
        made = Bench(qtbot, tmp_path / "data", hub)
        yield made
        made.client.close()


def silent(release: threading.Event, asked: threading.Event) -> Callable[[Handler], None]:
    """Return a fault: a server that says nothing until it is released."""

    def act(handler: Handler) -> None:
        asked.set()
        release.wait(60)
        handler.reply(503)

    return act


def test_models_are_found_and_looked_at(bench: Bench) -> None:
    assert bench.keychain.asked == 0  # it may show a dialog
    bench.client.search("MODEL")
    name, words, found = bench.wait()
    assert (name, words, [hit.id for hit in found.hits]) == ("found", "MODEL", [REPO])
    bench.client.inspect(REPO)
    name, repo, look = bench.wait(2)
    assert (name, repo, look.plan.target.id) == ("inspected", REPO, REPO)
    assert look.found.loads


@pytest.mark.parametrize("kind", ["search", "inspect"])
def test_the_newest_question_wins(bench: Bench, kind: str) -> None:
    """One that waits for a silent server is dropped at once, and never answered."""
    release, asked = threading.Event(), threading.Event()
    bench.hub.api_fault = silent(release, asked)
    ask = getattr(bench.client, kind)
    ask("makers/old")
    bench.until(asked.is_set)
    bench.hub.api_fault = None
    ask(REPO)
    assert bench.wait()[1] == REPO
    bench.until_nobody_asks()
    release.set()
    assert len(bench.heard) == 1


@pytest.mark.parametrize("wanted", ["300", "99999999999"])
def test_a_hub_that_asks_to_wait_blocks_no_later_question(bench: Bench, wanted: str) -> None:
    """Searches and a look while it does fail with the reason; the next ones are answered."""
    bench.hub.api_fault = lambda handler: handler.reply(429, headers={"Retry-After": wanted})
    bench.client.inspect("makers/unknown")
    bench.client.search("zz")
    for count in (1, 2):
        name, _, info, problem = bench.wait(count)
        assert (name, problem) == ("failed", HubErrorKind.RATE_LIMITED)
        assert "asks to wait" in info.message
    bench.client.search("yy")
    bench.until(lambda: len(bench.hub.paths) == 3)
    bench.hub.api_fault = None
    bench.client.search("model")
    bench.until(lambda: bench.heard[-1][0] == "found")
    assert bench.heard[-1][1] == "model"
    bench.until_nobody_asks()


@pytest.mark.parametrize("status", [500, 503])
def test_a_new_search_replaces_one_that_waits_to_try_again(bench: Bench, status: int) -> None:
    bench.hub.api_fault = lambda handler: handler.reply(status)
    bench.client.search("old")
    bench.until(lambda: bench.hub.paths)
    bench.hub.api_fault = None
    bench.client.search("model")
    assert bench.wait()[:2] == ("found", "model")
    bench.until_nobody_asks()
    assert len(bench.heard) == 1


def test_a_question_that_is_stopped_is_never_answered_and_its_thread_ends(bench: Bench) -> None:
    release, asked = threading.Event(), threading.Event()
    bench.hub.api_fault = silent(release, asked)
    bench.client.inspect(REPO)
    bench.until(asked.is_set)
    bench.client.stop(HubQuestion.INSPECT)
    bench.client.stop(HubQuestion.SEARCH)
    bench.until_nobody_asks()
    release.set()
    bench.hub.api_fault = None
    bench.client.search("")
    assert bench.wait()[0] == "found"


def test_the_end_of_the_program_waits_for_no_server(bench: Bench) -> None:
    release, asked = threading.Event(), threading.Event()
    bench.hub.api_fault = silent(release, asked)
    bench.client.search("")
    bench.client.check_token(CANARY)
    bench.until(asked.is_set)
    bench.client.close()
    bench.until_nobody_asks()
    release.set()
    assert bench.heard == []


def refused(status: int, code: str = "") -> Callable[[Handler], None]:
    return lambda handler: handler.reply(status, headers={"X-Error-Code": code} if code else {})


def no_network(*_: object, **__: object) -> list[object]:
    raise socket.gaierror(socket.EAI_NONAME, "no name")


D14 = {
    "no token": (refused(401), "", HubErrorKind.NO_TOKEN),
    "licence": (refused(403, "GatedRepo"), CANARY, HubErrorKind.LICENCE),
    "not found": (refused(404, "RepoNotFound"), CANARY, HubErrorKind.NOT_FOUND),
    "bad token": (refused(401), CANARY, HubErrorKind.BAD_TOKEN),
    "forbidden": (refused(403), CANARY, HubErrorKind.FORBIDDEN),
    "portal": (
        lambda handler: handler.reply(200, b"<html>", {"Content-Type": "text/html"}),
        "",
        HubErrorKind.PORTAL,
    ),
    "busy": (refused(429), "", HubErrorKind.RATE_LIMITED),
    "no network": (None, CANARY, HubErrorKind.NO_NETWORK),
}


def test_d14_each_refusal_has_its_own_words_and_its_own_action(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    found: dict[str, tuple[ErrorInfo, HubErrorKind]] = {}
    for name, (fault, token, _) in D14.items():
        store = bench.access.store("127.0.0.1")
        store.set(token) if token else store.forget()
        bench.hub.api_fault = fault
        with monkeypatch.context() as patch:
            if name == "no network":
                patch.setattr(socket, "getaddrinfo", no_network)
            bench.client.inspect(REPO)
            what, question, info, problem = bench.wait(len(found) + 1)
        assert (what, question) == ("failed", HubQuestion.INSPECT)
        found[name] = info, problem
    assert {name: problem for name, (_, problem) in found.items()} == {
        name: problem for name, (_, _, problem) in D14.items()
    }
    assert len({info.message for info, _ in found.values()}) == len(D14)
    assert len({problem.value for _, problem in found.values()}) == len(D14)
    for name in ("no token", "licence", "not found"):
        assert REPO in found[name][0].message
    artefacts = [caplog.text, repr(found), repr(bench.access), repr(vars(bench.client))]
    artefacts += [path.read_text("latin-1") for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert CANARY not in "\n".join(artefacts)


def test_what_is_asked_is_in_no_log(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor the addresses of files, which storages sign with keys."""
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    start_logging(tmp_path / "logs")
    try:
        bench.client.search("searched-for")
        bench.wait()
        bench.client.inspect(REPO)
        bench.wait(2)
        bench.client.inspect("makers/secret-model")
        bench.wait(3)
    finally:
        for handler in set(root.handlers) - set(handlers):
            root.removeHandler(handler)
            handler.close()
        root.setLevel(level)
    [log] = [path.read_text() for path in (tmp_path / "logs").iterdir()]
    assert "INSPECT: NO_TOKEN" in log
    assert not [word for word in ("searched-for", "secret-model", "127.0.0.1", REPO) if word in log]


def test_a_token_is_checked_before_it_is_kept(bench: Bench) -> None:
    bench.client.check_token(f" {CANARY}\n")
    assert bench.wait() == ("token", "ada")
    assert bench.keychain.kept == {("MTPLX", "127.0.0.1"): CANARY}
    assert bench.access.connection().token == CANARY
    bench.client.forget_token()
    assert bench.wait(2) == ("forgotten",)
    assert (bench.keychain.kept, bench.access.connection().token) == ({}, None)


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("hf_nobody_knows_this_one", ErrorKind.DOWNLOAD, HubErrorKind.BAD_TOKEN),
        ("two words", ErrorKind.BAD_REQUEST, None),
    ],
)
def test_a_token_of_nobody_is_not_kept(bench: Bench, text: str, kind: ErrorKind, problem: HubErrorKind | None) -> None:
    bench.client.check_token(text)
    name, question, info, found = bench.wait()
    assert (name, question, info.kind, found) == ("failed", HubQuestion.TOKEN, kind, problem)
    assert text not in repr(info)
    assert bench.keychain.kept == {}
    assert bench.access.connection().token is None


def test_a_keychain_that_does_not_keep_it_is_said_after_the_name(bench: Bench) -> None:
    bench.keychain.refuses = True
    bench.client.check_token(CANARY)
    assert bench.wait() == ("token", "ada")
    name, question, info, problem = bench.wait(2)
    assert (name, question, info.kind, problem) == ("failed", HubQuestion.TOKEN, ErrorKind.STORAGE, None)
    assert bench.access.connection().token == CANARY  # until the program ends
    assert CANARY not in repr(info)


def test_settings_of_no_use_are_said_and_not_kept(bench: Bench) -> None:
    before = bench.access.settings
    with pytest.raises(EngineError):
        bench.access.set_settings(HubSettings("ftp://hub.example"))
    assert bench.access.settings == before
    bench.access.set_settings(HubSettings("https://mirror.example", "http://proxy.example:3128"))
    assert bench.access.connection().host == "mirror.example"
