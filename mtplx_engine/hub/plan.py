"""What a download fetches: the plan, its provenance, and how it compares with the installed version.

The start of the window reads plans on a worker, so this module needs nothing of `HfApi`.
"""

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
"""The file of an extracted head."""

_ALIGNMENT = 8

_KEEP_UNFINISHED_S = 14 * 24 * 3600
_SPARE = 2_000_000_000  # bytes that stay free for chats and the system
_SLACK = 1.05
_MOST_BYTES = 64 << 20  # of a stored plan, which may list a head's tensors
_EXTRACTED = "taken out of "
_PROVENANCE = re.compile(r".*?([^/@ ]+/[^/@ ]+)@([0-9a-f]{40})")


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor of an extracted head.

    Attributes:
        dtype: As safetensors spells it.
        file: The file of the original repository that holds it.
        begin: Offset of its first byte there.
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
    """The safetensors header of a file of the original repository, which identifies it: size and sha256 in hex."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ExtractedHead:
    """A drafting head inside another repository, and where its bytes are.

    Attributes:
        original: The repository, with only the files that hold parts.
        architecture: The model's `model_type`.
        parts: Its tensors, in the order of the head's file.
    """

    original: Repo
    architecture: str
    hidden_size: int
    vocabulary: int
    headers: tuple[Header, ...]
    parts: tuple[Part, ...]

    @property
    def start(self) -> bytes:
        """The head's safetensors header, with its length."""
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
        body = {
            "model_type": f"{self.architecture}_mtp",
            "hidden_size": self.hidden_size,
            "vocab_size": self.vocabulary,
        }
        return json.dumps(body, indent=1).encode() + b"\n"

    @property
    def source(self) -> Source:
        """The head's file as if the hub had it, with a hash of its ranges in place of its content's."""
        start = self.start
        where = [self.original.id, self.original.revision, *((part.file, part.begin) for part in self.parts)]
        recipe = hashlib.sha256(json.dumps(where).encode() + start).hexdigest()
        size = len(start) + sum(part.size for part in self.parts)
        return Source("", self.original.id, "its drafting head", size, Expected("parts", recipe))

    @property
    def size(self) -> int:
        """Bytes of the head's two files."""
        return len(self.config) + self.source.size

    def write_sparse(self, folder: Path) -> None:
        """Write a sparse copy of the head to `folder`: the file of its tensors has only its header."""
        folder.mkdir()
        (folder / config_checks.CONFIG_NAME).write_bytes(self.config)
        with (folder / HEAD_NAME).open("wb") as file:
            file.write(self.start)
            file.truncate(self.source.size)

    def is_sound(self) -> bool:
        """Whether all parts lie within the files of the repository."""
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

PLAN_NAME: Final = "download.json"


@dataclass(frozen=True, slots=True)
class DownloadPlan:
    """A model that is to be installed.

    Attributes:
        id: Name of its folder under the models folder, and what `--model` takes.
        target: The repository of the model.
        head: The repository of its drafting head, None when it has none or its own.
        taken: A drafting head that is extracted from another repository, None without one.
        home: The models folder that it is installed in, fixed for a download; "" for the one in the data folder.
        revision: The requested branch, tag or commit of the model.
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
        """The plan as it was before the inspection of the repository."""
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
        """The repository of this head, "" without one."""
        if self.taken is not None:
            return self.taken.original.id
        return self.head.id if self.head is not None else ""

    def files(self) -> Iterator[tuple[Repo, RemoteFile, str]]:
        """Yield the files that are fetched whole, with their repository and their name in the folder, weights last.

        So a model that is refused for its configuration is refused before its weights are fetched.
        """
        found = [(self.target, file, file.name) for file in self.target.files]
        if self.head is not None:
            found += [(self.head, file, f"{HEAD_FOLDER}/{file.name}") for file in self.head.files]
        yield from sorted(found, key=lambda item: (repository.is_weights(item[1].name), item[2]))


def folder_name(repo_id: str) -> str:
    return repo_id.replace("/", "--")


def staging(data: Path, plan_id: str, home: str = "") -> Path:
    """Return the staging folder of a download, on the volume of the models folder `home`."""
    return (Path(home) if home else paths.models_dir(data)) / INCOMING / plan_id


def placed(data: Path, plan: DownloadPlan) -> DownloadPlan:
    """Return a plan with its home: where it was begun, or is installed, or else where new models go.

    Raises:
        HubError: NOT_CONNECTED, when that folder is missing.
    """
    homes = InstallFolders(data)
    markers = (f"{INCOMING}/{plan.id}/{PLAN_NAME}", f"{plan.id}/{manifest.MANIFEST_NAME}")
    known = (home for marker in markers for home in homes.all() if (home / marker).is_file())
    found = dataclasses.replace(plan, home=str(next(known, homes.current)))
    check_home(data, found)
    return found


def check_home(data: Path, plan: DownloadPlan) -> None:
    """Raise HubError (NOT_CONNECTED) without the plan's home; it is never created: its disk may only be unmounted."""
    if plan.home and not InstallFolders(data).is_there(Path(plan.home)):
        raise HubError(
            HubErrorKind.NOT_CONNECTED,
            f"{plan.title} goes to {plan.home}, which is not there or has no folder {INCOMING} any more. Connect its "
            "disk and try again, or choose a folder for new models in Settings.",
        )


def write_plan(folder: Path, plan: DownloadPlan) -> None:
    files.write_json(folder / PLAN_NAME, dataclasses.asdict(plan))


def read_plan(folder: Path) -> DownloadPlan | None:
    """Return the plan in a staging folder, None without a valid one."""
    try:
        plan = files.read_as(DownloadPlan, folder / PLAN_NAME, _MOST_BYTES)
    except (OSError, ValueError):
        return None
    if not _is_sound(plan) or plan.id != folder.name:
        return None
    return dataclasses.replace(plan, home=str(folder.parent.parent))


def unfinished_plans(data: Path) -> tuple[DownloadPlan, ...]:
    """Return the plans of all unfinished downloads, by folder and name."""
    found = (read_plan(folder) for folder in _staging_folders(data))
    return tuple(plan for plan in found if plan is not None)


def sweep_plans(data: Path, now_s: float | None = None) -> tuple[str, ...]:
    """Delete the downloads that nothing was written to for 14 days; return their names."""
    oldest = (time.time() if now_s is None else now_s) - _KEEP_UNFINISHED_S
    swept = []
    for folder in _staging_folders(data):
        times = [path.stat().st_mtime for path in (folder, *folder.rglob("*")) if path.exists()]
        if folder.is_dir() and not folder.is_symlink() and max(times) < oldest:
            shutil.rmtree(folder)
            swept.append(folder.name)
    return tuple(swept)


def _staging_folders(data: Path) -> tuple[Path, ...]:
    roots = (home / INCOMING for home in InstallFolders(data).all())
    return tuple(path for root in roots if root.is_dir() for path in sorted(root.iterdir()) if path.is_dir())


def check_room(folder: Path, plan: DownloadPlan, present: int, promised: int = 0) -> None:
    """Check that the volume of the staging folder has room for the rest of a download.

    `present` bytes of it have arrived, and other downloads still need `promised` bytes.

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


class Provenance(NamedTuple):
    """The repository (owner/name) and commit of an installed model; `taken` when only a head was extracted from it."""

    repo: str
    revision: str
    taken: bool = False

    def in_words(self) -> str:
        return f"{self.repo} (commit {self.revision[:7]})"


def origin_of(repo: Repo, endpoint: str) -> str:
    """Return the manifest's entry for a repository."""
    return f"{endpoint}/{repo.id}@{repo.revision}"


def origin_of_head(plan: DownloadPlan, endpoint: str) -> str:
    """Return the manifest's entry for a drafting head, "" when there is none or it is the model's own."""
    if plan.taken is not None:
        return _EXTRACTED + origin_of(plan.taken.original, endpoint)
    return origin_of(plan.head, endpoint) if plan.head is not None else ""


def read_origin(noted: str) -> Provenance | None:
    """Parse a manifest's entry, whatever its endpoint; None for other text."""
    found = _PROVENANCE.fullmatch(noted)
    return Provenance(found[1], found[2], noted.startswith(_EXTRACTED)) if found else None


def head_origin(plan: DownloadPlan) -> Provenance | None:
    """Return the provenance of a plan's head, None when there is none or it is the model's own."""
    return read_origin(origin_of_head(plan, ""))


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """An installed model, to be compared with what is requested.

    Attributes:
        head: The provenance of its drafting head, None when it has none or its own.
        missing: The files that are not as they were installed.
    """

    folder: Path
    model: Provenance
    head: Provenance | None
    missing: tuple[str, ...]

    @classmethod
    def find(cls, data: Path, name: str) -> Self | None:
        """Return the model in a folder of this name, None without one that is from a hub."""
        for home in InstallFolders(data).all():
            noted = manifest.read_manifest(home / name)
            model = read_origin(noted.source) if noted else None
            if noted is not None and model is not None:
                head = read_origin(noted.head_source)
                return cls(home / name, model, head, manifest.missing_files(home / name, noted))
        return None

    @property
    def head_repo(self) -> str:
        """The repository that consists of its head, "" without one."""
        return self.head.repo if self.head is not None and not self.head.taken else ""

    def difference(self, wanted: DownloadPlan, *, looked: bool) -> str:
        """Return in words how the installed model differs from a plan, "" when it does not.

        `looked` says whether the plan is one of an inspection, so that its heads are final.
        """
        name, head = wanted.target.id, head_origin(wanted)
        if (self.model.repo, self.model.revision) != (name, wanted.target.revision):
            return (
                f"{self.model.in_words()} is installed; commit {wanted.target.revision[:7]} of {name} takes its place, "
                "and files that are the same are kept."
            )
        if head != self.head and (looked or wanted.head is not None):
            own = f"with the drafting head of {self.head.in_words()}" if self.head else "without another drafting head"
            other = f"that of {head.in_words()}" if head else "none beside it"
            return f"{name} is installed {own}; it gets {other}."
        if self.missing:
            more = f" and {len(self.missing) - 1} more" if len(self.missing) > 1 else ""
            return (
                f"{name} is installed, but damaged: {self.missing[0]}{more} is not what was installed and is fetched "
                "again."
            )
        return ""
