"""What is to be installed from a hub, kept on the disk so that a later start goes on with it."""

from __future__ import annotations

import dataclasses
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mtplx_engine import json_store, paths, words
from mtplx_engine.hub import names
from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.hub.repo import RemoteFile, Repo  # noqa: TC001 - annotations are read at run time
from mtplx_engine.hub.taken_head import TakenHead  # noqa: TC001
from mtplx_engine.models import manifest
from mtplx_engine.models.homes import INCOMING, Homes

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD_FOLDER: Final = "head"
MAIN: Final = "main"
"""The branch that is meant when none is named."""

NAME: Final = "download.json"
_KEEP_S = 14 * 24 * 3600
_SPARE = 2_000_000_000  # bytes that stay free, for chats and for the system
_SLACK = 1.05
_MOST_BYTES = 64 << 20  # of a plan, with the tensors of a head among them


@dataclass(frozen=True, slots=True)
class Plan:
    """A model that is to be installed.

    Attributes:
        id: Name of its folder under the models folder, and what `--model` takes.
        title: Name for people.
        target: The repository of the model.
        head: The repository of its drafting head, None when it has none or carries it itself.
        taken: A drafting head that is taken out of another repository, None without one.
        home: The folder that it is installed in, which a download keeps; "" for the one in the data folder.
        revision: The branch, tag or commit of the model that was asked for.
        anyway: Whether it is wanted although it will not fit into memory.
    """

    id: str
    title: str
    target: Repo
    head: Repo | None = None
    taken: TakenHead | None = None
    home: str = field(default="", compare=False)
    revision: str = field(default=MAIN, compare=False)
    anyway: bool = field(default=False, compare=False)

    @property
    def asked(self) -> Plan:
        """What was known before anybody looked into the repository."""
        return dataclasses.replace(self, taken=None)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return self.target.size + self.head_size

    @property
    def head_size(self) -> int:
        """Bytes of the drafting head that is not in the model's own repository, 0 without one."""
        return sum(part.size for part in (self.head, self.taken) if part is not None)

    @property
    def head_repo(self) -> str:
        """The repository that this head comes from, "" without one."""
        if self.taken is not None:
            return self.taken.original.id
        return self.head.id if self.head is not None else ""

    def files(self) -> Iterator[tuple[Repo, RemoteFile, str]]:
        """Yield the files that are fetched whole, with their repository and their name in the folder, small ones first.

        So a model that will be refused for what its settings say is refused before its weights are fetched.
        """
        found = [(self.target, file, file.name) for file in self.target.files]
        if self.head is not None:
            found += [(self.head, file, f"{HEAD_FOLDER}/{file.name}") for file in self.head.files]
        yield from sorted(found, key=lambda item: (names.is_weights(item[1].name), item[2]))


def folder_name(repo_id: str) -> str:
    """Return the folder under which a repository's model is installed."""
    return repo_id.replace("/", "--")


def staging(data: Path, plan_id: str, home: str = "") -> Path:
    """Return the folder in which a model grows; it is on the volume where it will be, in the folder `home` too."""
    return (Path(home) if home else paths.models_dir(data)) / INCOMING / plan_id


def placed(data: Path, plan: Plan) -> Plan:
    """Return a plan with its home: where it was begun, or is installed, or else where new models go.

    Raises:
        HubError: NOT_CONNECTED, when that folder is not there.
    """
    homes = Homes(data)
    signs = (f"{INCOMING}/{plan.id}/{NAME}", f"{plan.id}/{manifest.NAME}")
    known = (home for sign in signs for home in homes.all() if (home / sign).is_file())
    found = dataclasses.replace(plan, home=str(next(known, homes.current)))
    check_home(data, found)
    return found


def check_home(data: Path, plan: Plan) -> None:
    """Check that the folder is there which a model is installed in; never is one made where a disk should be.

    Raises:
        HubError: NOT_CONNECTED.
    """
    if plan.home and not Homes(data).is_there(Path(plan.home)):
        raise HubError(
            Problem.NOT_CONNECTED,
            f"{plan.title} goes to {plan.home}, which is not there or has no folder {INCOMING} any more. Connect its "
            "disk and try again, or choose a folder for new models in Settings.",
        )


def write(folder: Path, plan: Plan) -> None:
    """Remember in its staging folder what is to be installed.

    Raises:
        OSError: The disk does not take it.
    """
    json_store.write_json(folder / NAME, dataclasses.asdict(plan))


def read(folder: Path) -> Plan | None:
    """Return what is to be installed in a staging folder; None when it cannot be understood."""
    try:
        plan = json_store.read_as(Plan, folder / NAME, _MOST_BYTES)
    except (OSError, ValueError):
        return None
    if not _is_sound(plan) or plan.id != folder.name:
        return None
    return dataclasses.replace(plan, home=str(folder.parent.parent))


def begun(data: Path, plan_id: str) -> Plan | None:
    """Return what was begun under this name, None when nothing was."""
    return next((plan for plan in unfinished(data) if plan.id == plan_id), None)


def unfinished(data: Path) -> tuple[Plan, ...]:
    """Return what was begun and is not installed yet, by folder and name."""
    found = (read(folder) for folder in _growing(data))
    return tuple(plan for plan in found if plan is not None)


def sweep(data: Path, now_s: float | None = None) -> tuple[str, ...]:
    """Delete what was begun and not touched for 14 days; return the names."""
    oldest = (time.time() if now_s is None else now_s) - _KEEP_S
    swept = []
    for folder in _growing(data):
        times = [path.stat().st_mtime for path in (folder, *folder.rglob("*")) if path.exists()]
        if folder.is_dir() and not folder.is_symlink() and max(times) < oldest:
            shutil.rmtree(folder)
            swept.append(folder.name)
    return tuple(swept)


def _growing(data: Path) -> tuple[Path, ...]:
    """Return the folders in which models grow, in all homes that are there."""
    roots = (home / INCOMING for home in Homes(data).all())
    return tuple(path for root in roots if root.is_dir() for path in sorted(root.iterdir()) if path.is_dir())


def check_room(folder: Path, plan: Plan, present: int, promised: int = 0) -> None:
    """Look whether the volume of `folder` has room for what is still to come.

    Args:
        folder: Where the model grows.
        plan: What is to be installed.
        present: Bytes of it that are there.
        promised: Bytes that other downloads still need.

    Raises:
        HubError: DISK_FULL, with both numbers.
    """
    needed = max(round((plan.size - present) * _SLACK), 0)
    free = max(shutil.disk_usage(folder).free - promised, 0)
    if free < needed + _SPARE:
        beside = " beside the other downloads" if promised else ""
        raise HubError(
            Problem.DISK_FULL,
            f"{plan.title} needs {words.size(needed)}, with {words.size(_SPARE)} to spare beside it, and "
            f"{words.size(free)} are free{beside}. Make room and try again.",
        )


def _is_sound(plan: Plan) -> bool:
    if plan.taken is not None and not plan.taken.is_sound():
        return False
    original = plan.taken.original if plan.taken else None
    repos = [repo for repo in (plan.target, plan.head, original) if repo is not None]
    return all(
        names.is_repo(repo.id)
        and names.is_commit(repo.revision)
        and all(names.is_wanted(file.name) and file.size >= 0 for file in repo.files)
        for repo in repos
    )
