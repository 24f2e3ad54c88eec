"""One file from a hub with every fault that hubs and networks have: the right bytes, or a clear error."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.hub import partial, repository
from mtplx_engine.hub.errors import CancelledError, CancelToken, HubError, HubErrorKind
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.hub.retries import Retries
from mtplx_engine.hub.transfer import Requests, Transfer
from tests.support.fake_hub import BLOCK, Asked, FakeHub, FakeRepo, Fault, Handler, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


SEGMENT = 1 << 20
DATA = random.Random(5).randbytes(5 * SEGMENT + 12_345)
NAME = "model.safetensors"
THREADS = 3


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial, "SEGMENT", SEGMENT)


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with running(FakeHub({"a/b": FakeRepo({NAME: DATA, "config.json": b'{"a": 1}'})})) as hub:
        yield hub


class Fetch:
    """Fetches one file, and remembers what it was told."""

    def __init__(self, hub: FakeHub, token: str | None = None, limit: int = 7) -> None:
        self.connection = HubConnection(hub.endpoint, token)
        self.interrupt = CancelToken()
        self.requests = Requests(self.connection, self.interrupt)
        self.retries = Retries(limit=limit, first_s=0.001, longest_s=0.002)
        self.there = 0  # before it began
        self.received: list[int] = []

    def __call__(self, folder: Path, name: str = NAME) -> str:
        found = repository.read_repo(self.connection, "a/b")
        file = next(file for file in found.files if file.name == name)
        source = found.source(self.connection, file)
        self.there = partial.present(folder / name, source.identity)
        transfer = Transfer(source, self.requests, self.interrupt, self.retries, self.received.append)
        try:
            return transfer.run(folder / name, THREADS)
        finally:
            self.requests.close()


def right(folder: Path, name: str = NAME, data: bytes = DATA) -> bool:
    """Whether the file is there, and nothing beside it that is left over."""
    return (folder / name).read_bytes() == data and [path.name for path in folder.iterdir()] == [name]


# ---------------------------------------------------------------- faults


def cut_at(count: int) -> Callable[[Handler, bytes, Asked], None]:
    """Break off after `count` bytes of the answer."""

    def act(handler: Handler, data: bytes, asked: Asked) -> None:
        last = len(data) - 1 if asked.last is None else asked.last
        body = data[asked.first : last + 1]
        headers = {
            "Content-Range": f"bytes {asked.first}-{last}/{len(data)}",
            "ETag": f'"{hashlib.sha256(data).hexdigest()}"',
        }
        handler.reply(206, body[:count], headers, announced=len(body))

    return act


def status(code: int, error: str = "", **headers: str) -> Callable[[Handler, bytes, Asked], None]:
    """Answer with an error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if error:
        named["X-Error-Code"] = error
    return lambda handler, _data, _asked: handler.reply(code, b"no", named)


def whole(handler: Handler, data: bytes, asked: Asked) -> None:
    """Know no ranges."""
    handler.serve(data, asked, ranged=False)


def other_bytes(handler: Handler, data: bytes, asked: Asked) -> None:
    """Serve as many wrong bytes."""
    handler.serve(bytes(len(data)), asked, ranged="Range" in handler.headers, etag='"other"')


def of_length(change: int) -> Callable[[Handler, bytes, Asked], None]:
    """Serve a file that is longer or shorter."""

    def act(handler: Handler, data: bytes, asked: Asked) -> None:
        other = data + bytes(change) if change > 0 else data[:change]
        handler.serve(other, asked, ranged="Range" in handler.headers)

    return act


def page(handler: Handler, _data: bytes, _asked: Asked) -> None:
    """Be the sign-in page of a hotel."""
    handler.reply(200, b"<html>Welcome</html>", {"Content-Type": "text/html"})


def sent_to(address: str) -> Callable[[Handler, bytes, Asked], None]:
    """Send the client somewhere."""
    return lambda handler, _data, _asked: handler.reply(302, headers={"Location": address})


def circle(handler: Handler, _data: bytes, _asked: Asked) -> None:
    """Send the client to where it is."""
    handler.reply(302, headers={"Location": handler.path})


def slow(handler: Handler, data: bytes, asked: Asked) -> None:
    """Send little by little."""
    last = len(data) - 1 if asked.last is None else asked.last
    body = data[asked.first : last + 1]
    handler.send_response(206)
    handler.send_header("Content-Length", str(len(body)))
    handler.send_header("Content-Range", f"bytes {asked.first}-{last}/{len(data)}")
    handler.end_headers()
    handler.send_body(body, pause_s=0.005)


PASSING = {
    "cut at the first byte": (cut_at(0), 4),
    "cut after 1 byte": (cut_at(1), 4),
    "cut after 100 kB": (cut_at(100_000), 12),
    "cut after 300 kB": (cut_at(300_000), 12),
    "cut after 1 MB": (cut_at(1_000_000), 5),
    "slow": (slow, 3),
    "429": (status(429, Retry_After="0"), 5),
    "429 without a time": (status(429), 5),
    "500": (status(500), 5),
    "502": (status(502), 5),
    "503": (status(503, Retry_After="0"), 5),
    "504": (status(504), 5),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_costs_little(hub: FakeHub, tmp_path: Path, name: str) -> None:
    act, times = PASSING[name]
    hub.faults.append(Fault(act, NAME, times=times, after=1))
    fetch = Fetch(hub, limit=20)
    assert fetch(tmp_path) == hashlib.sha256(DATA).hexdigest()
    assert right(tmp_path)
    assert sum(fetch.received) == len(DATA)
    again = hub.sent - len(DATA)
    print(f"{name}: {again:,} bytes sent more than once")
    # Each break loses at most what was on its way in that one range.
    assert again <= times * BLOCK + 10_000


LASTING: dict[str, tuple[Callable[[Handler, bytes, Asked], None], HubErrorKind]] = {
    "401": (status(401), HubErrorKind.NO_TOKEN),
    "403 gated": (status(403, "GatedRepo"), HubErrorKind.NO_TOKEN),
    "403": (status(403), HubErrorKind.FORBIDDEN),
    "404": (status(404, "EntryNotFound"), HubErrorKind.NOT_FOUND),
    "407": (status(407), HubErrorKind.PROXY),
    "416": (status(416), HubErrorKind.UNREACHABLE),
    "429 for ever": (status(429), HubErrorKind.RATE_LIMITED),
    "500 for ever": (status(500), HubErrorKind.UNREACHABLE),
    "cut at once for ever": (cut_at(0), HubErrorKind.UNREACHABLE),
    "captive portal": (page, HubErrorKind.PORTAL),
    "captive portal elsewhere": (sent_to("http://login.example/"), HubErrorKind.PORTAL),
    "redirect circle": (circle, HubErrorKind.ADDRESS),
    "longer": (of_length(100), HubErrorKind.CHANGED),
    "shorter": (of_length(-100), HubErrorKind.CHANGED),
    "wrong bytes of the same size": (other_bytes, HubErrorKind.WRONG_HASH),
}


@pytest.mark.parametrize("name", LASTING)
def test_what_lasts_is_said(hub: FakeHub, tmp_path: Path, name: str) -> None:
    act, problem = LASTING[name]
    hub.faults.append(Fault(act, NAME))
    with pytest.raises(HubError) as raised:
        Fetch(hub)(tmp_path)
    assert raised.value.problem is problem
    assert not (tmp_path / NAME).exists()
    hub.faults.clear()
    assert Fetch(hub)(tmp_path) == hashlib.sha256(DATA).hexdigest()
    assert right(tmp_path)


def test_each_problem_has_its_own_words(hub: FakeHub, tmp_path: Path) -> None:
    words = {}
    for name, (act, problem) in LASTING.items():
        hub.faults[:] = [Fault(act, NAME)]
        with pytest.raises(HubError) as raised:
            Fetch(hub, limit=2)(tmp_path)
        words.setdefault(problem, str(raised.value))
        assert str(raised.value).endswith("."), name
    assert len(set(words.values())) == len(words)


ABOUT_A_FILE = ("401", "403 gated", "403", "404", "longer", "shorter", "wrong bytes of the same size")


@pytest.mark.parametrize("name", ABOUT_A_FILE)
def test_what_is_wrong_with_a_file_names_its_repository_first(hub: FakeHub, tmp_path: Path, name: str) -> None:
    hub.faults.append(Fault(LASTING[name][0], NAME))
    with pytest.raises(HubError) as raised:
        Fetch(hub)(tmp_path)
    assert "a/b" in str(raised.value).partition(NAME)[0]


def test_a_token_that_is_refused_is_not_a_missing_one(hub: FakeHub, tmp_path: Path) -> None:
    found = []
    for code, error in ((401, ""), (403, "GatedRepo")):
        hub.faults[:] = [Fault(status(code, error), NAME)]
        with pytest.raises(HubError) as raised:
            Fetch(hub, token="hf_wrong")(tmp_path)
        found.append(raised.value.problem)
        assert "hf_wrong" not in str(raised.value) + raised.value.info.details
    assert found == [HubErrorKind.BAD_TOKEN, HubErrorKind.LICENCE]


def test_a_server_without_ranges_is_read_from_the_start(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.append(Fault(whole, NAME))
    assert Fetch(hub)(tmp_path) == hashlib.sha256(DATA).hexdigest()
    assert right(tmp_path)


def test_a_server_that_forgets_ranges_after_a_break(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults += [Fault(cut_at(700_000), NAME, times=3, after=1), Fault(status(404), NAME)]
    with pytest.raises(HubError):
        Fetch(hub)(tmp_path)
    hub.faults[:] = [Fault(whole, NAME)]
    fetch = Fetch(hub)
    assert fetch(tmp_path) == hashlib.sha256(DATA).hexdigest()
    assert fetch.there > 0  # and was not written again
    assert fetch.there + sum(fetch.received) == len(DATA)


def test_another_content_under_the_same_address_begins_anew(hub: FakeHub, tmp_path: Path) -> None:
    # The hash of the listing is that of the new content; what has arrived is of the old one.
    hub.faults += [
        Fault(other_bytes, NAME, times=3),
        Fault(status(404), NAME),
    ]
    with pytest.raises(HubError):
        Fetch(hub)(tmp_path)
    hub.faults.clear()
    fetch = Fetch(hub)
    assert fetch(tmp_path) == hashlib.sha256(DATA).hexdigest()
    assert min(fetch.received) < 0
    assert fetch.there + sum(fetch.received) == len(DATA)


def test_the_token_stays_with_the_hub(tmp_path: Path) -> None:
    repos = {"a/b": FakeRepo({NAME: DATA})}
    with running(FakeHub(repos)) as storage, running(FakeHub(repos, cdn=storage.endpoint)) as hub:
        assert Fetch(hub, token="hf_secret")(tmp_path) == hashlib.sha256(DATA).hexdigest()
        assert not any(asked.authorized for asked in storage.asked)
        assert len(storage.asked) > THREADS
        # The hub itself is asked once, not for every range.
        assert sum("/resolve/" in path for path in hub.paths) == 1


def test_an_address_that_has_expired_is_asked_for_again(tmp_path: Path) -> None:
    repos = {"a/b": FakeRepo({NAME: DATA})}
    with running(FakeHub(repos)) as storage, running(FakeHub(repos, cdn=storage.endpoint)) as hub:
        storage.faults.append(Fault(status(403), NAME, times=1, after=2))
        assert Fetch(hub)(tmp_path) == hashlib.sha256(DATA).hexdigest()
        # By the thread that was refused, and at most by the others that had no address meanwhile.
        assert 2 <= sum("/resolve/" in path for path in hub.paths) <= 1 + THREADS


@pytest.mark.parametrize("stage", ["before the answer", "in the middle", "while it waits to try again"])
def test_stop_frees_the_thread_at_once(hub: FakeHub, tmp_path: Path, stage: str) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def stall(handler: Handler, data: bytes, asked: Asked) -> None:
        if stage == "in the middle":
            handler.send_response(206)
            handler.send_header("Content-Length", str(SEGMENT))
            handler.send_header("Content-Range", f"bytes {asked.first}-{asked.first + SEGMENT - 1}/{len(data)}")
            handler.end_headers()
            handler.wfile.write(data[:1000])
        reached.set()
        if stage == "while it waits to try again":
            handler.reply(503, headers={"Retry-After": "600"})
        else:
            go_on.wait(30)

    hub.faults.append(Fault(stall, NAME, after=1))
    fetch = Fetch(hub)
    outcome: list[Any] = []

    def run() -> None:
        with pytest.raises(CancelledError):
            fetch(tmp_path)
        outcome.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert reached.wait(30)
        time.sleep(0.05)
        fetch.interrupt.set()
        # Far below the 20 s that a stalled connection may take, and the 600 s that the server asked for.
        thread.join(10)
        assert outcome
    finally:
        go_on.set()
        thread.join()


def test_nothing_is_asked_for_that_is_there(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults += [Fault(cut_at(600_000), NAME, times=4, after=1), Fault(status(404), NAME)]
    with pytest.raises(HubError):
        Fetch(hub)(tmp_path)
    before, hub.faults[:] = hub.sent, []
    fetch = Fetch(hub)
    fetch(tmp_path)
    assert hub.sent - before <= len(DATA) - fetch.there + THREADS * BLOCK  # which the hub may count late


def test_an_empty_file_and_a_small_one(tmp_path: Path) -> None:
    files = {"config.json": b"{}", "README.md": b""}
    with running(FakeHub({"a/b": FakeRepo(files)})) as hub:
        for name, data in files.items():
            folder = tmp_path / name
            folder.mkdir()
            assert Fetch(hub)(folder, name) == hashlib.sha256(data).hexdigest()
            assert right(folder, name, data)
