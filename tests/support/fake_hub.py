"""A model hub on this machine, with the faults that real ones and the ways to them have."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_LARGE = 10_000  # bytes from which on a file has a sha256, as with git-lfs
BLOCK = 64 << 10


@dataclass
class FakeRepo:
    """A repository: its files, and what the hub says of it.

    Attributes:
        commit: The one that "main" means.
        older: The files of other commits; of a branch, the very ones of `commit`.
        card: What else its model card says, parsed.
        listed: Changes the list of its files before it is sent.
        fault: Answers requests for its files in place of the hub.
    """

    files: dict[str, bytes]
    commit: str = "c" * 40
    licence: str = "apache-2.0"
    gated: bool = False
    tags: tuple[str, ...] = ()
    card: dict[str, object] = field(default_factory=dict)
    listed: Callable[[list[dict[str, object]]], object] | None = None
    fault: Callable[[Handler, bytes, Asked], None] | None = None
    older: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def at(self, revision: str) -> dict[str, bytes] | None:
        """Return the files of a revision, None when there is none."""
        return self.files if revision in ("main", self.commit) else self.older.get(revision)


@dataclass(frozen=True)
class Asked:
    """A request for a file: its name, and the first and last byte that were asked for."""

    name: str
    first: int
    last: int | None
    authorized: bool


@dataclass
class Fault:
    """Something that goes wrong with requests for a file.

    Attributes:
        act: Answers in place of the hub.
        name: For which file; "" for every one.
        times: How often, before all is well.
        after: Requests that go well before it, whatever other faults there are.
    """

    act: Callable[[Handler, bytes, Asked], None]
    name: str = ""
    times: int = 1_000_000
    after: int = 0


@dataclass
class FakeHub:
    """What the hub has, what it was asked, and what it sent."""

    repos: dict[str, FakeRepo] = field(default_factory=dict)
    accounts: dict[str, str] = field(default_factory=dict)  # names by token
    listed: tuple[str, ...] = ()  # found by a search, and given to nobody
    faults: list[Fault] = field(default_factory=list)
    api_fault: Callable[[Handler], None] | None = None
    asked: list[Asked] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    sent: int = 0
    cdn: str = ""  # another origin that files come from
    endpoint: str = ""
    pause_s: float = 0.0  # after each block that is sent
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fault_for(self, name: str) -> Fault | None:
        """Return the fault that a request for `name` meets now."""
        with self.lock:
            for fault in self.faults:
                if fault.name in ("", name):
                    if fault.after:
                        fault.after -= 1
                        return None
                    if fault.times:
                        fault.times -= 1
                        return fault
        return None


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    hub: ClassVar[FakeHub]

    def setup(self) -> None:
        # What counts as sent must be on its way, and not in megabytes of a buffer of this end.
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
        super().setup()

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self.do_GET()

    def do_GET(self) -> None:
        """Answer."""
        parts = urlsplit(self.path)
        self.hub.paths.append(self.path)
        if parts.path.startswith("/api/"):
            if self.hub.api_fault is not None:
                self.hub.api_fault(self)
            else:
                self._api(parts.path, parse_qs(parts.query))
            return
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([0-9a-f]{40})/(.+)", parts.path)
        repo = self.hub.repos.get(found[1]) if found else None
        files = repo.at(found[2]) if found and repo else None
        if found is None or repo is None or files is None or found[3] not in files:
            self.reply(404, headers={"X-Error-Code": "EntryNotFound"})
            return
        self._file(found[3], repo, files[found[3]])

    def _api(self, path: str, query: dict[str, list[str]]) -> None:
        if path == "/api/models":
            self._search(query)
            return
        if path == "/api/whoami-v2":
            self._whoami()
            return
        found = re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+))?", path)
        repo = self.hub.repos.get(found[1]) if found else None
        if found is None or repo is None:
            self.reply(401, headers={"X-Error-Code": "RepoNotFound"})
        elif (files := repo.at(unquote(found[3] or "main"))) is None:
            self.reply(404, headers={"X-Error-Code": "RevisionNotFound"})
        elif found[2] == "tree":
            entries = [entry(name, data) for name, data in sorted(files.items())]
            self._json(repo.listed(entries) if repo.listed else entries)
        else:
            self._json(
                {
                    "id": found[1],
                    "sha": repo.commit if files is repo.files else found[3],
                    "private": False,
                    "gated": "manual" if repo.gated else False,
                    "tags": [*repo.tags, f"license:{repo.licence}"],
                    "cardData": {"license": repo.licence, **repo.card},
                    "siblings": [{"rfilename": name} for name in sorted(files)],
                }
            )

    def _whoami(self) -> None:
        name = self.hub.accounts.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
        if name is None:
            self.reply(401)
        else:
            self._json({"type": "user", "name": name})

    def _search(self, query: dict[str, list[str]]) -> None:
        wanted = query.get("search", [""])[0].casefold()
        found = [
            {"id": name, "sha": repo.commit, "tags": list(repo.tags), "gated": repo.gated, "downloads": 1}
            for name, repo in self.hub.repos.items()
            if wanted in name.casefold()
        ]
        self._json([*found, *({"id": name} for name in self.hub.listed)])

    def _file(self, name: str, repo: FakeRepo, data: bytes) -> None:
        if self.hub.cdn and not self.headers.get("Host", "").endswith(self.hub.cdn.rpartition(":")[2]):
            self.reply(302, headers={"Location": self.hub.cdn + self.path})
            return
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        first = int(asked[1]) if asked else 0
        last = int(asked[2]) if asked and asked[2] else None
        request = Asked(name, first, last, "Authorization" in self.headers)
        with self.hub.lock:
            self.hub.asked.append(request)
        fault = self.hub.fault_for(name)
        act = fault.act if fault else repo.fault
        if act is not None:
            act(self, data, request)
        else:
            self.serve(data, request, ranged=asked is not None)

    def serve(self, data: bytes, asked: Asked, *, ranged: bool, etag: str = "") -> None:
        """Send what was asked for."""
        etag = etag or f'"{hashlib.sha256(data).hexdigest()}"'
        if ranged and self.headers.get("If-Range", etag) != etag:
            ranged = False
        if not ranged:
            self.reply(200, data, {"ETag": etag})
            return
        if asked.first >= len(data):
            self.reply(416, headers={"Content-Range": f"bytes */{len(data)}"})
            return
        body = data[asked.first : len(data) if asked.last is None else asked.last + 1]
        span = f"bytes {asked.first}-{asked.first + len(body) - 1}/{len(data)}"
        self.reply(206, body, {"ETag": etag, "Content-Range": span})

    def reply(
        self,
        status: int,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        *,
        announced: int | None = None,
    ) -> None:
        """Send an answer; `announced` is a length that the body does not have."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        if self.command != "HEAD":
            self.send_body(body)
        if announced is not None:
            self.cut()

    def send_body(self, body: bytes, *, pause_s: float = 0.0) -> None:
        """Send bytes, and count them."""
        pause_s = pause_s or self.hub.pause_s
        for start in range(0, len(body), BLOCK):
            block = body[start : start + BLOCK]
            try:
                self.wfile.write(block)
            except OSError:
                self.close_connection = True
                return
            with self.hub.lock:
                self.hub.sent += len(block)
            if pause_s:
                time.sleep(pause_s)

    def cut(self) -> None:
        """Break the connection off."""
        self.close_connection = True
        with self.hub.lock:
            self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def _json(self, body: object) -> None:
        self.reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def entry(name: str, data: bytes) -> dict[str, object]:
    """Return how a hub lists a file."""
    found: dict[str, object] = {"type": "file", "path": name, "size": len(data), "oid": git_id(data)}
    if len(data) >= _LARGE:
        found["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return found


def git_id(data: bytes) -> str:
    """Return the id of content in git."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@contextmanager
def running(hub: FakeHub) -> Iterator[FakeHub]:
    """Run the hub; its address is in `hub.endpoint`."""
    handler = type("HubHandler", (Handler,), {"hub": hub})
    server = _Server(("127.0.0.1", 0), handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.end_connections()
        server.server_close()


class _Server(ThreadingHTTPServer):
    """Ends the connections that clients left open, so that no thread stays."""

    daemon_threads = False
    block_on_close = True

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._open: set[socket.socket] = set()

    def process_request(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override]
        self._open.add(request)
        super().process_request(request, client_address)

    def end_connections(self) -> None:
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, *_: object) -> None:
        """A client that goes away is what the tests are about."""
