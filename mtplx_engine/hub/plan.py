"""What a download fetches: the plan, its provenance, how it compares with the installed version."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from mtplx_engine import paths
from mtplx_engine.hub import repository
from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.partial import Expected
from mtplx_engine.hub.repository import RemoteFile, Repo  # noqa: TC001 - annotations are read at run time
from mtplx_engine.hub.transfer import Source
from mtplx_engine.models import config_checks, manifest
from mtplx_engine.models.folders import INCOMING, InstallFolders
from mtplx_engine.models.safetensors_header import ITEM_BYTES, LENGTH_BYTES, MAX_DIMENSIONS
from mtplx_engine.util import files, formatting

if TYPE_CHECKING:
    from collections.abc import Iterator


HEAD_NAME: Final = "model.safetensors"
"""The file that a head becomes."""

_ALIGNMENT = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor of the head.

    Attributes:
        name: Its name in the head.
        dtype: As safetensors spells it.
        shape: Its shape.
        file: The file of the original that holds it.
        begin: Its first byte there.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str
    begin: int

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file of the original, by which the file is known again: its bytes, and their sha256 in hex."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ExtractedHead:
    """A head, and where its bytes are.

    Attributes:
        original: The repository that has it, with only the files that parts are taken from.
        architecture: The model's, as in config.json's `model_type`.
        hidden_size: Of the model.
        vocabulary: Of the model, in tokens.
        headers: Those of the files.
        parts: Its tensors, in the order of the file that they become.
    """

    original: Repo
    architecture: str
    hidden_size: int
    vocabulary: int
    headers: tuple[Header, ...]
    parts: tuple[Part, ...]

    @property
    def start(self) -> bytes:
        """How the head's file begins: all before the tensors."""
        entries, at = {}, 0
        for part in self.parts:
            span = [at, at + part.size]
            entries[part.name] = {"dtype": part.dtype, "shape": list(part.shape), "data_offsets": span}
            at += part.size
        text = json.dumps(entries, separators=(",", ":")).encode()
        text = text.ljust(-(-len(text) // _ALIGNMENT) * _ALIGNMENT)
        return len(text).to_bytes(LENGTH_BYTES, "little") + text

    @property
    def config(self) -> bytes:
        """What the head's config.json says."""
        body = {
            "model_type": f"{self.architecture}_mtp",
            "hidden_size": self.hidden_size,
            "vocab_size": self.vocabulary,
        }
        return json.dumps(body, indent=1).encode() + b"\n"

    @property
    def source(self) -> Source:
        """The head's file, as if the hub had it; in place of its hash there is one of where its bytes are."""
        start = self.start
        where = [self.original.id, self.original.revision, *((part.file, part.begin) for part in self.parts)]
        recipe = hashlib.sha256(json.dumps(where).encode() + start).hexdigest()
        size = len(start) + sum(part.size for part in self.parts)
        return Source("", self.original.id, "its drafting head", size, Expected("parts", recipe))

    @property
    def size(self) -> int:
        """Bytes of its two files."""
        return len(self.config) + self.source.size

    def lay(self, folder: Path) -> None:
        """Make `folder` look like the head: the file that its tensors will be in is a hole behind its start."""
        folder.mkdir()
        (folder / config_checks.CONFIG_NAME).write_bytes(self.config)
        with (folder / HEAD_NAME).open("wb") as file:
            file.write(self.start)
            file.truncate(self.source.size)

    def is_sound(self) -> bool:
        """Whether all parts are within the files that the repository has."""
        sizes = {file.name: file.size for file in self.original.files}
        return (
            len({part.name for part in self.parts}) == len(self.parts) > 0
            and {header.file for header in self.headers} == sizes.keys()
            and all(LENGTH_BYTES <= header.size <= sizes[header.file] for header in self.headers)
            and all(_is_inside(part, sizes.get(part.file, 0)) for part in self.parts)
        )


def _is_inside(part: Part, size: int) -> bool:
    return (
        part.dtype in ITEM_BYTES
        and len(part.shape) <= MAX_DIMENSIONS
        and all(side >= 0 for side in part.shape)
        and 0 <= part.begin <= part.begin + part.size <= size
    )


HEAD_FOLDER: Final = "head"
MAIN: Final = "main"
"""The branch that is meant when none is named."""

PLAN_NAME: Final = "download.json"
_KEEP_S = 14 * 24 * 3600
_SPARE = 2_000_000_000  # bytes that stay free, for chats and for the system
_SLACK = 1.05
_MOST_BYTES = 64 << 20  # of a plan, with the tensors of a head among them


@dataclass(frozen=True, slots=True)
class DownloadPlan:
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
    taken: ExtractedHead | None = None
    home: str = field(default="", compare=False)
    revision: str = field(default=MAIN, compare=False)
    anyway: bool = field(default=False, compare=False)

    @property
    def asked(self) -> DownloadPlan:
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
        yield from sorted(found, key=lambda item: (repository.is_weights(item[1].name), item[2]))


def folder_name(repo_id: str) -> str:
    """Return the folder under which a repository's model is installed."""
    return repo_id.replace("/", "--")


def staging(data: Path, plan_id: str, home: str = "") -> Path:
    """Return the folder in which a model grows; it is on the volume where it will be, in the folder `home` too."""
    return (Path(home) if home else paths.models_dir(data)) / INCOMING / plan_id


def placed(data: Path, plan: DownloadPlan) -> DownloadPlan:
    """Return a plan with its home: where it was begun, or is installed, or else where new models go.

    Raises:
        HubError: NOT_CONNECTED, when that folder is not there.
    """
    homes = InstallFolders(data)
    signs = (f"{INCOMING}/{plan.id}/{PLAN_NAME}", f"{plan.id}/{manifest.MANIFEST_NAME}")
    known = (home for sign in signs for home in homes.all() if (home / sign).is_file())
    found = dataclasses.replace(plan, home=str(next(known, homes.current)))
    check_home(data, found)
    return found


def check_home(data: Path, plan: DownloadPlan) -> None:
    """Check that the folder is there which a model is installed in; never is one made where a disk should be.

    Raises:
        HubError: NOT_CONNECTED.
    """
    if plan.home and not InstallFolders(data).is_there(Path(plan.home)):
        raise HubError(
            HubErrorKind.NOT_CONNECTED,
            f"{plan.title} goes to {plan.home}, which is not there or has no folder {INCOMING} any more. Connect its "
            "disk and try again, or choose a folder for new models in Settings.",
        )


def write_plan(folder: Path, plan: DownloadPlan) -> None:
    """Remember in its staging folder what is to be installed.

    Raises:
        OSError: The disk does not take it.
    """
    files.write_json(folder / PLAN_NAME, dataclasses.asdict(plan))


def read_plan(folder: Path) -> DownloadPlan | None:
    """Return what is to be installed in a staging folder; None when it cannot be understood."""
    try:
        plan = files.read_as(DownloadPlan, folder / PLAN_NAME, _MOST_BYTES)
    except (OSError, ValueError):
        return None
    if not _is_sound(plan) or plan.id != folder.name:
        return None
    return dataclasses.replace(plan, home=str(folder.parent.parent))


def begun_plan(data: Path, plan_id: str) -> DownloadPlan | None:
    """Return what was begun under this name, None when nothing was."""
    return next((plan for plan in unfinished_plans(data) if plan.id == plan_id), None)


def unfinished_plans(data: Path) -> tuple[DownloadPlan, ...]:
    """Return what was begun and is not installed yet, by folder and name."""
    found = (read_plan(folder) for folder in _growing(data))
    return tuple(plan for plan in found if plan is not None)


def sweep_plans(data: Path, now_s: float | None = None) -> tuple[str, ...]:
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
    roots = (home / INCOMING for home in InstallFolders(data).all())
    return tuple(path for root in roots if root.is_dir() for path in sorted(root.iterdir()) if path.is_dir())


def check_room(folder: Path, plan: DownloadPlan, present: int, promised: int = 0) -> None:
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
            HubErrorKind.DISK_FULL,
            f"{plan.title} needs {formatting.size(needed)}, with {formatting.size(_SPARE)} to spare beside it, and "
            f"{formatting.size(free)} are free{beside}. Make room and try again.",
        )


def _is_sound(plan: DownloadPlan) -> bool:
    if plan.taken is not None and not plan.taken.is_sound():
        return False
    original = plan.taken.original if plan.taken else None
    repos = [repo for repo in (plan.target, plan.head, original) if repo is not None]
    return all(
        repository.is_repo(repo.id)
        and repository.is_commit(repo.revision)
        and all(repository.is_wanted(file.name) and file.size >= 0 for file in repo.files)
        for repo in repos
    )


_TAKEN = "taken out of "
_FORM = re.compile(r".*?([^/@ ]+/[^/@ ]+)@([0-9a-f]{40})")


class Provenance(NamedTuple):
    """A repository at a commit.

    Attributes:
        repo: owner/name.
        revision: The commit.
        taken: Whether only a head was taken out of it.
    """

    repo: str
    revision: str
    taken: bool = False

    def in_words(self) -> str:
        """Name it in a sentence."""
        return f"{self.repo} (commit {self.revision[:7]})"


def origin_of(repo: Repo, endpoint: str) -> str:
    """Return what a manifest notes of a repository."""
    return f"{endpoint}/{repo.id}@{repo.revision}"


def origin_of_head(plan: DownloadPlan, endpoint: str) -> str:
    """Return what a manifest notes of a drafting head, "" when there is none or the model carries it itself."""
    if plan.taken is not None:
        return _TAKEN + origin_of(plan.taken.original, endpoint)
    return origin_of(plan.head, endpoint) if plan.head is not None else ""


def read_origin(noted: str) -> Provenance | None:
    """Return what a manifest notes; None for nothing, or what is from elsewhere. Which mirror gave it is the same."""
    found = _FORM.fullmatch(noted)
    return Provenance(found[1], found[2], noted.startswith(_TAKEN)) if found else None


def head_origin(plan: DownloadPlan) -> Provenance | None:
    """Return where the head of a plan comes from, None when there is none or the model carries it itself."""
    return read_origin(origin_of_head(plan, ""))


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """A model that was installed from a hub.

    Attributes:
        folder: Where it is.
        model: Where it came from.
        head: Where its drafting head came from, None when it has none or carries it itself.
        missing: The files that are not as they were installed.
    """

    folder: Path
    model: Provenance
    head: Provenance | None
    missing: tuple[str, ...]

    @classmethod
    def find(cls, data: Path, name: str) -> Self | None:
        """Return what is installed in a folder of this name, None when nothing is, or it is not from a hub."""
        for home in InstallFolders(data).all():
            noted = manifest.read_manifest(home / name)
            model = read_origin(noted.source) if noted else None
            if noted is not None and model is not None:
                head = read_origin(noted.head_source)
                return cls(home / name, model, head, manifest.missing_files(home / name, noted))
        return None

    @property
    def head_repo(self) -> str:
        """The repository that its head is all of, "" without one."""
        return self.head.repo if self.head is not None and not self.head.taken else ""

    def difference(self, wanted: DownloadPlan, *, looked: bool) -> str:
        """Return in words why what is wanted is not there, "" when it is.

        Args:
            wanted: What is asked for.
            looked: Whether it is known too if a head can be taken out of another repository, and if the one that was
                asked for is of use.
        """
        name, head = wanted.target.id, head_origin(wanted)
        if (self.model.repo, self.model.revision) != (name, wanted.target.revision):
            return (
                f"{self.model.in_words()} is installed; commit {wanted.target.revision[:7]} of {name} takes its place, "
                "and files that are the same are kept."
            )
        if head != self.head and (looked or wanted.head is not None):
            own = (
                f"with the drafting head of {self.head.in_words()}"
                if self.head
                else "without another drafting head"
            )
            other = f"that of {head.in_words()}" if head else "none beside it"
            return f"{name} is installed {own}; it gets {other}."
        if self.missing:
            more = f" and {len(self.missing) - 1} more" if len(self.missing) > 1 else ""
            return (
                f"{name} is installed, but damaged: {self.missing[0]}{more} is not what was installed and is fetched "
                "again."
            )
        return ""
