"""Questions to a hub: whatever goes wrong, soon a sentence with the true cause, and no wait that cannot be ended."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.hub import remote_inspect, repository, search
from mtplx_engine.hub.api import Api
from mtplx_engine.hub.errors import CancelledError, CancelToken, HubError, HubErrorKind
from mtplx_engine.hub.http import HubConnection
from tests.support.fake_hub import FakeHub, FakeRepo, entry, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.fake_hub import Handler


REPO = "makers/model"
FILES = {"config.json": b'{"model_type": "llama"}', "model.safetensors": b"weights"}
CLOCK = r"\d\d:\d\d( tomorrow)?"


def account(connection: HubConnection, interrupt: CancelToken) -> str:
    with Api(connection, interrupt=interrupt) as api:
        return api.account()


QUESTIONS: dict[str, Callable[[HubConnection, CancelToken], object]] = {
    "search": lambda connection, interrupt: search.search(connection, "model", interrupt=interrupt),
    "repository": lambda connection, interrupt: repository.read_repo(connection, REPO, interrupt=interrupt),
    "plan": lambda connection, interrupt: remote_inspect.plan_download(connection, REPO, interrupt=interrupt),
    "account": account,
}


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited for, by a clock that makes nobody wait."""
    seconds: list[float] = []

    def wait(interrupt: CancelToken, count: float) -> None:
        seconds.append(count)
        interrupt.check()

    monkeypatch.setattr(CancelToken, "wait", wait)
    return seconds


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with running(FakeHub({REPO: FakeRepo(FILES)}, accounts={"hf_token_of_ada": "ada"})) as hub:
        yield hub


def status(code: int, body: bytes = b"", **headers: str) -> Callable[[Handler], None]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.reply(code, body, named)


def dropped(handler: Handler) -> None:
    handler.reply(200, b"[", {"Content-Type": "application/json"}, announced=1000)


def circle(handler: Handler) -> None:
    handler.reply(302, headers={"Location": handler.path})


JSON = {"Content_Type": "application/json"}
FAULTS: dict[str, tuple[Callable[[Handler], None], HubErrorKind, str]] = {
    "wait 300 s": (
        status(429, Retry_After="300"),
        HubErrorKind.RATE_LIMITED,
        rf"127\.0\.0\.1 asks to wait until {CLOCK} \(429\)\. .+",
    ),
    "wait 55 s": (
        status(429, RateLimit='"api";r=0;t=55'),
        HubErrorKind.RATE_LIMITED,
        r"127\.0\.0\.1 asks to wait 55 s \(429\)\. .+",
    ),
    "wait for ever": (
        status(429, Retry_After="99999999999"),
        HubErrorKind.RATE_LIMITED,
        r"127\.0\.0\.1 asks to wait for a day or longer \(429\)\. .+",
    ),
    "wait for nonsense": (
        status(429, Retry_After="-1e309"),
        HubErrorKind.RATE_LIMITED,
        r"127\.0\.0\.1 gets too many requests from here \(429\)\. .+",
    ),
    "wait until a year": (
        status(503, Retry_After="Fri, 31 Dec 9999 23:59:59 GMT"),
        HubErrorKind.UNREACHABLE,
        r"127\.0\.0\.1 cannot answer at the moment \(error 503\), and asks to wait for a day or longer\. .+",
    ),
    "500": (
        status(500),
        HubErrorKind.UNREACHABLE,
        r"127\.0\.0\.1 cannot answer at the moment \(error 500\)\. .+",
    ),
    "dropped": (dropped, HubErrorKind.UNREACHABLE, r"The connection to 127\.0\.0\.1 broke off\. .+"),
    "circle": (circle, HubErrorKind.ADDRESS, r"127\.0\.0\.1 sends requests in a circle\. .+ Settings\."),
    "a page": (
        status(200, b"<html>Sign in</html>", Content_Type="text/html"),
        HubErrorKind.PORTAL,
        r"This network answers for 127\.0\.0\.1 with a page of its own\. .+",
    ),
    "proxy": (
        status(407),
        HubErrorKind.PROXY,
        r"The proxy wants a name and a password, or others \(407\)\. .+",
    ),
    "forbidden": (
        status(403),
        HubErrorKind.FORBIDDEN,
        r"127\.0\.0\.1 does not let this account .+ \(403\)\. .+",
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", FAULTS)
def test_it_fails_soon_with_the_true_cause(
    hub: FakeHub,
    waits: list[float],
    name: str,
    question: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    hub.api_fault, problem, said = FAULTS[name]
    with pytest.raises(HubError, match=f"^{said}$") as raised:
        QUESTIONS[question](HubConnection(hub.endpoint), CancelToken())
    assert raised.value.problem is problem
    assert len(hub.paths) <= 5
    assert sum(waits) <= 3
    assert bool(waits) is (name in ("500", "dropped", "wait for nonsense"))
    assert capfd.readouterr() == ("", "")
    assert not [record for record in caplog.records if not record.name.startswith(("httpx2", "httpcore2"))]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("fault", [status(500), status(503, Retry_After="1"), dropped], ids=["500", "503", "cut"])
def test_one_bad_answer_is_got_over(
    hub: FakeHub, waits: list[float], fault: Callable[[Handler], None], question: str
) -> None:
    def once(handler: Handler) -> None:
        hub.api_fault = None
        fault(handler)

    hub.api_fault = once
    QUESTIONS[question](HubConnection(hub.endpoint, "hf_token_of_ada"), CancelToken())
    assert len(waits) == 1


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_silent_server_is_given_up_after_one_try(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """By a clock on which a second of silence takes as long as the patience does."""
    monkeypatch.setattr("mtplx_engine.hub.api._ANSWER_S", 0.1)
    monkeypatch.setattr("mtplx_engine.hub.retries.time.monotonic", lambda now=time.monotonic: now() * 100)
    go_on = threading.Event()
    hub.api_fault = lambda _handler: go_on.wait(30)
    try:
        with pytest.raises(HubError, match=r"^127\.0\.0\.1 stopped answering\. ") as raised:
            QUESTIONS[question](HubConnection(hub.endpoint), CancelToken())
    finally:
        go_on.set()
    assert raised.value.problem is HubErrorKind.UNREACHABLE
    assert len(hub.paths) == 1


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_interrupt_ends_a_wait(hub: FakeHub, monkeypatch: pytest.MonkeyPatch, question: str) -> None:
    interrupt = CancelToken()
    monkeypatch.setattr(
        "mtplx_engine.hub.retries.Retries.wait_s", lambda *_: interrupt.set() or 3.0
    )  # it comes in the wait
    hub.api_fault = status(500)
    with pytest.raises(CancelledError):
        QUESTIONS[question](HubConnection(hub.endpoint), interrupt)
    assert len(hub.paths) == 1


def test_a_question_waits_for_no_other_one(hub: FakeHub) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def silent(handler: Handler) -> None:
        hub.api_fault = None
        asked.set()
        go_on.wait(30)
        handler.reply(404)

    hub.api_fault = silent
    interrupt = CancelToken()

    def ask() -> None:
        with pytest.raises(CancelledError):
            repository.read_repo(HubConnection(hub.endpoint), REPO, interrupt=interrupt)

    other = threading.Thread(target=ask)
    other.start()
    try:
        assert asked.wait(30)
        assert search.search(HubConnection(hub.endpoint), "model").hits
        assert other.is_alive()
    finally:
        interrupt.set()
        other.join()
        go_on.set()


def dead_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_what_is_wrong_with_an_address_is_said(hub: FakeHub, waits: list[float]) -> None:
    port = hub.endpoint.rpartition(":")[2]
    cases = [
        (HubConnection(f"https://127.0.0.1:{port}"), HubErrorKind.ADDRESS, "does not speak HTTPS"),
        (HubConnection(f"http://127.0.0.1:{dead_port()}"), HubErrorKind.UNREACHABLE, "takes no connections"),
        (
            HubConnection(hub.endpoint, proxy=f"http://127.0.0.1:{dead_port()}"),
            HubErrorKind.PROXY,
            "cannot be reached",
        ),
        (
            HubConnection("https://hub.example", proxy=hub.endpoint),
            HubErrorKind.PROXY,
            r"through to hub\.example \(501\)",
        ),
    ]
    for connection, problem, said in cases:
        with pytest.raises(HubError, match=said) as raised:
            search.search(connection, "model")
        assert raised.value.problem is problem
    assert len(waits) == 2  # the refused connection only


# ------------------------------------------------------------ what a hub says


def test_what_is_asked_for_is_what_the_hub_knows(hub: FakeHub) -> None:
    search.search(HubConnection(hub.endpoint), " two words ", limit=7)
    hub.repos[REPO].older["a/branch"] = hub.repos[REPO].files
    repository.read_repo(HubConnection(hub.endpoint), REPO, "a/branch")
    listing, about, tree = hub.paths
    assert listing.startswith("/api/models?filter=mlx&sort=downloads&limit=7&expand=downloads&")
    assert listing.endswith("&search=two+words")
    assert about == f"/api/models/{REPO}/revision/a%2Fbranch?expand=cardData&expand=gated&expand=sha"
    assert tree == f"/api/models/{REPO}/tree/{'c' * 40}?recursive=true&expand=false"


ODD = [
    None,
    7,
    "makers/words",
    [],
    {},
    {"id": None},
    {"id": 7},
    {"id": "no-owner"},
    {"id": "../.."},
    {"id": "a/b", "downloads": "many"},
    {"id": "a/c", "downloads": -1, "likes": [], "config": "x", "tags": 7, "lastModified": 9},
    {"id": "a/d", "config": {"model_type": {}}, "lastModified": "yesterday", "gated": "manual"},
    {
        "id": "a/e",
        "downloads": 3,
        "likes": 2,
        "config": {"model_type": "llama"},
        "lastModified": "2026-11-29T10:00Z",
    },
]


def test_odd_entries_are_left_out_and_counted(hub: FakeHub) -> None:
    hub.api_fault = status(200, json.dumps(ODD).encode(), **JSON)
    found = search.search(HubConnection(hub.endpoint), "")
    assert [hit.id for hit in found.hits] == ["a/b", "a/c", "a/d", "a/e"]
    assert found.odd == 9
    assert [hit.downloads for hit in found.hits] == [0, 0, 0, 3]
    assert found.hits[-1] == search.Hit("a/e", "llama", 3, 2, gated=False, updated="2026-11-29")
    assert search.search(HubConnection(hub.endpoint), "", limit=10).odd == 9  # the limit counts them too


def test_a_list_goes_on_on_the_next_page(hub: FakeHub) -> None:
    def paged(handler: Handler) -> None:
        number = int(handler.path.rpartition("page=")[2]) if "page=" in handler.path else 0
        link = {"Link": f'</api/models?page={number + 1}>; rel="next"'} if number < 2 else {}
        body = json.dumps([{"id": f"makers/m{number}"}]).encode()
        handler.reply(200, body, {"Content-Type": "application/json", **link})

    hub.api_fault = paged
    found = search.search(HubConnection(hub.endpoint), "")
    assert [hit.id for hit in found.hits] == ["makers/m0", "makers/m1", "makers/m2"]


FOREIGN = {
    "broken JSON": (b'{"a": ', "application/json"),
    "an object": (b'{"error": "x"}', "application/json"),
    "a number": (b"7", "application/json; charset=utf-8"),
    "deep": (b"[" * 200_000, "application/json"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_program_that_is_no_hub_is_no_sign_in_page(hub: FakeHub, name: str) -> None:
    body, kind = FOREIGN[name]
    hub.api_fault = status(200, body, Content_Type=kind)
    with pytest.raises(HubError, match=r"^127\.0\.0\.1 does not answer as a hub of models does\. ") as raised:
        search.search(HubConnection(hub.endpoint), "model")
    assert raised.value.problem is HubErrorKind.ADDRESS
    hub.api_fault = status(404)
    with pytest.raises(HubError, match="does not answer as a hub"):
        search.search(HubConnection(hub.endpoint), "model")


def odd_file(**changes: object) -> Callable[[list[dict[str, object]]], object]:
    return lambda _: [{**entry("config.json", b"{}"), **changes}]


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        (odd_file(size=-1), "the hub lists config.json with a size or hash that cannot be"),
        (odd_file(size=True), "the hub lists config.json with a size or hash that cannot be"),
        (odd_file(oid=None), "the hub lists config.json with a size or hash that cannot be"),
        (odd_file(lfs=[]), "the hub lists config.json with a size or hash that cannot be"),
        (lambda _: {"error": "x"}, "what the hub says of it is no description of a model"),
    ],
)
def test_a_repository_that_makes_no_sense_is_named(
    hub: FakeHub, listed: Callable[[list[dict[str, object]]], object], said: str
) -> None:
    hub.repos[REPO].listed = listed
    with pytest.raises(HubError, match=f"^{REPO} cannot be fetched: {said}\\. ") as raised:
        repository.read_repo(HubConnection(hub.endpoint), REPO)
    assert raised.value.problem is HubErrorKind.UNSAFE


def test_what_a_model_does_not_need_may_be_odd(hub: FakeHub) -> None:
    others = [None, 7, {}, {"type": "file", "path": 7}, {"type": "directory", "path": "config.json"}]
    hub.repos[REPO].listed = lambda files: [
        *files,
        *others,
        {"type": "file", "path": "model.py", "size": "large"},
    ]
    found = repository.read_repo(HubConnection(hub.endpoint), REPO)
    assert [file.name for file in found.files] == list(FILES)
    assert found.left_out == ("model.py",)


def test_a_hub_that_wants_a_token_for_a_search_says_so(hub: FakeHub) -> None:
    hub.api_fault = status(401)
    with pytest.raises(HubError, match="answers only who has an access token") as raised:
        search.search(HubConnection(hub.endpoint), "model")
    assert raised.value.problem is HubErrorKind.NO_TOKEN
