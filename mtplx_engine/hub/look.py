"""What a repository holds, before its weights are fetched: by its settings and the headers of its weight files.

They are laid into a temporary folder, each weight file as its real header and a hole as long as its tensors. That
folder is then inspected like any model's, so that there is no second copy of any rule.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mtplx_engine.hub import answers, catalogue, names
from mtplx_engine.hub import repo as repos
from mtplx_engine.hub.interrupt import Interrupt
from mtplx_engine.hub.plan import HEAD_FOLDER, Plan, folder_name
from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.hub.requests import Requests
from mtplx_engine.hub.retry import Retries
from mtplx_engine.hub.transfer import Transfer
from mtplx_engine.models import folder_safety, inspection, model_config, safetensors_header, weight_files
from mtplx_engine.models.probe_memory import ProbeMemory

if TYPE_CHECKING:
    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.repo import RemoteFile, Repo
    from mtplx_engine.models.inspection import Inspection

MAX_BYTES: Final = 64 << 20
"""More than this no honest model needs to say what it is."""

_FIRST_BYTES = 128 << 10  # holds most headers whole, so that one request is enough
_LENGTH_BYTES = 8
# What only a tokenizer or a person reads is as good as empty here.
_UNREAD = frozenset(
    {
        "LICENSE",
        "LICENSE.md",
        "LICENSE.txt",
        "README.md",
        "merges.txt",
        "tokenizer.json",
        "tokenizer.model",
        "vocab.json",
    }
)


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a repository and of the one with its drafting head.

    Attributes:
        plan: What would be installed.
        found: What an inspection says; its `folder` is gone.
        fetched: Bytes that were fetched to know it.
        warnings: What else there is to know before it is fetched, a sentence each.
    """

    plan: Plan
    found: Inspection
    fetched: int
    warnings: tuple[str, ...]

    @property
    def head_size(self) -> int:
        """Bytes that a repository with the drafting head adds, 0 without one."""
        return self.plan.head.size if self.plan.head else 0

    def check(self) -> None:
        """Refuse what would be refused once it was installed.

        Raises:
            HubError: UNSAFE.
        """
        if not self.found.loads:
            sentence = f"{self.plan.target.id} was not fetched, since this version does not load it: "
            raise HubError(Problem.UNSAFE, sentence + self.found.reason)


def plan(
    connection: Connection,
    repo_id: str,
    revision: str = "main",
    head: str = "",
    interrupt: Interrupt | None = None,
) -> Plan:
    """Ask the hub what would be installed; the head that we know of comes with its model.

    Args:
        connection: How the hub is reached.
        repo_id: Repository of the model.
        revision: A branch, tag or commit.
        head: Repository of its drafting head, "" for the one that we know of.
        interrupt: Stops it.

    Raises:
        HubError: One of them is not there, or cannot be had.
        CancelledError: The interrupt was set.
    """
    entry = catalogue.entry_of(repo_id)
    head = head or (entry.head if entry else "")
    target = repos.read(connection, repo_id, revision, interrupt)
    title = entry.title if entry else repo_id.partition("/")[2]
    with_head = repos.read(connection, head, interrupt=interrupt) if head else None
    return Plan(folder_name(repo_id), title, target, with_head)


def at(
    connection: Connection,
    wanted: Plan,
    interrupt: Interrupt | None = None,
    retries: Retries | None = None,
) -> Look:
    """Look at what would be installed.

    Args:
        connection: How the hub is reached.
        wanted: The repositories, see `plan`.
        interrupt: Stops it.
        retries: How patient it is.

    Raises:
        HubError: The hub does not give what is needed to know, or says it in more bytes than anybody honest.
        CancelledError: The interrupt was set.
    """
    with tempfile.TemporaryDirectory(prefix="mtplx-look-") as temporary:
        root = Path(temporary)
        folder = root / wanted.target.id.partition("/")[2]
        copier = _Copier(connection, interrupt or Interrupt(), retries or Retries())
        try:
            copier.lay(wanted.target, folder)
            if wanted.head is not None:
                copier.lay(wanted.head, folder / HEAD_FOLDER)
            found = inspection.inspect(folder, ProbeMemory(root), tokenizer=False)
        except OSError as error:
            raise answers.disk_failure(error, wanted.title) from error
        finally:
            copier.close()
    return Look(wanted, found, copier.fetched, _warnings(wanted))


class _Copier:
    """Lays sparse copies of repositories; weighs what it fetches."""

    def __init__(self, connection: Connection, interrupt: Interrupt, retries: Retries) -> None:
        self._connection = connection
        self._interrupt = interrupt
        self._retries = retries
        self._requests = Requests(connection, interrupt)
        self.fetched = 0

    def close(self) -> None:
        """Close all connections."""
        self._requests.close()

    def lay(self, repo: Repo, folder: Path) -> None:
        """Make `folder` look like the repository."""
        for file in repo.files:
            path = folder / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            if names.is_weights(file.name):
                self._lay_weights(repo, file, path)
            elif file.name in _UNREAD or file.size > _most(file.name):
                _hole(path, b"", file.size)  # what is too large is refused for that
            else:
                self._lay_whole(repo, file, path)

    def _lay_whole(self, repo: Repo, file: RemoteFile, path: Path) -> None:
        self._weigh(file.size)
        source = repo.source(self._connection, file)
        Transfer(source, self._requests, self._interrupt, self._retries, lambda _: None).run(path, 1)

    def _lay_weights(self, repo: Repo, file: RemoteFile, path: Path) -> None:
        start = self._read(repo, file, 0, min(_FIRST_BYTES, file.size))
        length = int.from_bytes(start[:_LENGTH_BYTES], "little")
        end = _LENGTH_BYTES + length
        if length > safetensors_header.MAX_HEADER_BYTES or end > file.size:
            end = len(start)  # a header that lies is refused for that
        if end > len(start):
            start += self._read(repo, file, len(start), end)
        _hole(path, start[:end], file.size)

    def _read(self, repo: Repo, file: RemoteFile, start: int, end: int) -> bytes:
        """Return the bytes of a file from `start` to `end`."""
        self._weigh(end - start)
        source = repo.source(self._connection, file)

        def ask() -> bytes:
            found = bytearray()
            if start == end:
                return b""
            with self._requests.get(source, start, end) as body:
                wanted = end - body.start
                for piece in body.response.iter_raw():
                    self._interrupt.check()
                    found += piece
                    if len(found) >= wanted:
                        return bytes(found[start - body.start : wanted])
            raise HubError(Problem.UNREACHABLE, f"The connection broke off in {file.name}. Try again.")

        return self._retries.patiently(ask, self._interrupt)

    def _weigh(self, count: int) -> None:
        self.fetched += count
        if self.fetched > MAX_BYTES:
            raise HubError(
                Problem.UNSAFE,
                f"This repository needs more than {MAX_BYTES >> 20} MB to say what it holds, which no honest model "
                "does. Choose another one.",
            )


def _most(name: str) -> int:
    """Return from how many bytes on a file is refused unread."""
    return MAX_BYTES if name == weight_files.INDEX else model_config.MAX_BYTES


def _hole(path: Path, start: bytes, size: int) -> None:
    """Write a file that begins with `start` and is nothing behind it, which takes no room on the disk."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)


def _warnings(wanted: Plan) -> tuple[str, ...]:
    repositories = [repo for repo in (wanted.target, wanted.head) if repo is not None]
    code = [name for repo in repositories for name in repo.left_out if folder_safety.is_unsafe(name)]
    if not code:
        return ()
    others = len(code) - 1
    more = f" and {others} more {'files' if others > 1 else 'file'}" if others else ""
    return (
        f"It also holds {code[0][:60]!r}{more} that can run code when they are read; they are never fetched.",
    )
