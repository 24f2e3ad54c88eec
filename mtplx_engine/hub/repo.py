"""What a hub says about a repository: its commit, its licence, and the files that a model needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeGuard

from mtplx_engine.harmless import one_line
from mtplx_engine.hub import answers, names
from mtplx_engine.hub.digest import Expected
from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.hub.requests import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt

_MOST_FILES = 2000
_LARGEST = 2 << 40
_LONGEST_LICENCE, _LONGEST_NAME = 40, 120
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository: its name, bytes, and what its content hashes to."""

    name: str
    size: int
    digest: Expected


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository at one commit.

    Attributes:
        id: owner/name.
        revision: The commit.
        licence: As its makers say, mostly an SPDX identifier; anything else in quotation marks, "" for nothing.
        gated: Whether an account must accept the licence first.
        files: Those that a model needs, by name.
        left_out: Names of all others, which are never fetched, in a form that can be shown.
        base: The one repository that its makers say it was made from, owner/name; "" when they name none or several.
    """

    id: str
    revision: str
    licence: str
    gated: bool
    files: tuple[RemoteFile, ...]
    left_out: tuple[str, ...]
    base: str = ""

    @property
    def size(self) -> int:
        """Bytes of all files that a model needs."""
        return sum(file.size for file in self.files)

    def source(self, connection: Connection, file: RemoteFile) -> Source:
        """Return where a file is fetched from."""
        # Late, here and below: the start of the program reads plans, which needs nothing of this.
        from huggingface_hub import hf_hub_url

        url = hf_hub_url(self.id, file.name, revision=self.revision, endpoint=connection.endpoint)
        return Source(url, self.id, file.name, file.size, file.digest)


def read(
    connection: Connection, repo_id: str, revision: str = "main", interrupt: Interrupt | None = None
) -> Repo:
    """Ask a hub about a repository.

    Args:
        connection: How the hub is reached.
        repo_id: owner/name.
        revision: A branch, tag or commit.
        interrupt: Stops it.

    Raises:
        HubError: There is none, or it cannot be had, or what the hub says makes no sense.
        CancelledError: The interrupt was set.
    """
    if not names.is_repo(repo_id):
        raise HubError(Problem.NOT_FOUND, f'"{repo_id}" is no name of a model; it looks like owner/name.')

    from huggingface_hub import ModelCardData

    from mtplx_engine.hub.api import Api

    with Api(connection, repo_id, interrupt) as api:
        about = api.model_info(revision)
        commit = about.sha
        if not isinstance(commit, str) or not names.is_commit(commit):
            raise answers.odd(repo_id, "the hub names no commit of it", repr(commit)[:100])
        path = f"/api/models/{repo_id}/tree/{commit}"
        listed = islice(api.entries(path, {"recursive": True, "expand": False}), _MOST_FILES)
        entries = [entry for entry in listed if _is_file(entry)]
    card = about.card_data if isinstance(about.card_data, ModelCardData) else ModelCardData()
    return Repo(
        id=repo_id,
        revision=commit,
        licence=_licence(card.license),
        gated=bool(about.gated),
        files=_files(repo_id, entries),
        left_out=tuple(
            one_line(entry["path"], _LONGEST_NAME) for entry in entries if not names.is_wanted(entry["path"])
        ),
        base=_base(card.base_model, repo_id),
    )


def _is_file(entry: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(entry, dict) and entry.get("type") == "file" and isinstance(entry.get("path"), str)


def _licence(said: object) -> str:
    """Return what a model card says of the licence; free words must not look like ours."""
    line = one_line(said, _LONGEST_LICENCE) if isinstance(said, str) else ""
    return f'"{line}"' if line and not _LICENCE.fullmatch(line) else line


def _base(said: object, repo_id: str) -> str:
    """Return the one other repository that a model card names as its base, which may be anything that YAML can say."""
    listed = said if isinstance(said, list) else [said]
    if len(listed) != 1 or not isinstance(listed[0], str) or not names.is_repo(listed[0]):
        return ""
    return "" if listed[0].casefold() == repo_id.casefold() else listed[0]


def _files(repo_id: str, entries: Sequence[Mapping[str, Any]]) -> tuple[RemoteFile, ...]:
    """Return the files that a model needs, by name.

    Raises:
        HubError: One has an impossible size or hash, or two would be one on a disk that takes names in any case.
    """
    wanted = [entry for entry in entries if names.is_wanted(entry["path"])]
    found = []
    for entry in sorted(wanted, key=lambda entry: entry["path"]):
        try:
            found.append(_file(entry))
        except (ValueError, TypeError, KeyError) as error:
            problem = f"the hub lists {entry['path']} with a size or hash that cannot be"
            raise answers.odd(repo_id, problem, repr(error)) from error
    if len({file.name.casefold() for file in found}) < len(found):
        raise answers.odd(repo_id, "the hub lists two files of one name")
    return tuple(found)


def _file(entry: Mapping[str, Any]) -> RemoteFile:
    lfs = entry.get("lfs")
    size = entry["size"] if lfs is None else lfs["size"]
    if type(size) is not int or not 0 <= size <= _LARGEST or size != entry["size"]:
        raise ValueError(f"{size} bytes, or {entry['size']}")
    digest = Expected("git", entry["oid"]) if lfs is None else Expected("sha256", lfs["oid"])
    return RemoteFile(entry["path"], size, digest)
