"""The files of a hub repository: which of them a model needs, and whether they can be a model or a head."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from mtplx_engine.hub import answers
from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.partial import Expected
from mtplx_engine.hub.transfer import Source
from mtplx_engine.models import checkpoint, config_checks
from mtplx_engine.util import formatting
from mtplx_engine.util.formatting import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from mtplx_engine.hub.errors import CancelToken
    from mtplx_engine.hub.http import HubConnection


_COMMIT = re.compile(r"[0-9a-f]{40}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,200}")
_WEIGHTS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.safetensors")
_DEEPER_WEIGHTS = frozenset({"mtp/weights.safetensors"})
_OTHERS = frozenset(
    {
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.json",
        "merges.txt",
        "tokenizer.model",
        "chat_template.jinja",
        "chat_template.json",
        "model.safetensors.index.json",
        "README.md",
        "LICENSE",
        "LICENSE.txt",
        "LICENSE.md",
    }
)

_MOST_FILES = 2000
_LARGEST_FILE = 2 << 40
_LONGEST_LICENCE, _LONGEST_NAME = 40, 120
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")
_ADAPTERS = ("adapter_config.json", "adapter_model.safetensors", "adapters.safetensors", "adapters.npz")
_PIPELINE_INDEX = "model_index.json"
_OTHER_KINDS = {"datasets": "a data set", "spaces": "a space, which is a program,"}
_LONGEST_SHOWN = 100
_MOST_NAMED = 3
# By file extension, in order of precedence: weights of any form before mere data.
_OTHER_FORMATS: Mapping[str, str] = {
    ".gguf": "GGUF files, which are for other programs",
    ".mlpackage": "Core ML files, which are for other programs",
    ".mlmodel": "Core ML files, which are for other programs",
    ".bin": "PyTorch files, which can run code when they are read",
    ".pt": "PyTorch files, which can run code when they are read",
    ".pth": "PyTorch files, which can run code when they are read",
    ".ckpt": "PyTorch files, which can run code when they are read",
    ".onnx": "ONNX files, which are for other programs",
    ".h5": "TensorFlow files, which are for other programs",
    ".msgpack": "Flax files, which are for other programs",
    ".npz": "NumPy files, which can run code when they are read",
    ".parquet": "data and no weights",
    ".arrow": "data and no weights",
    ".jsonl": "data and no weights",
    ".csv": "data and no weights",
}


def is_repo(name: str) -> bool:
    """Whether `name` has the form owner/name."""
    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return "/" in name


def is_commit(revision: str) -> bool:
    """Whether `revision` is a full commit hash."""
    return bool(_COMMIT.fullmatch(revision))


def is_revision(name: str) -> bool:
    """Whether `name` can be a branch, tag or commit."""
    return bool(_REVISION.fullmatch(name)) and ".." not in name


def is_weights(name: str) -> bool:
    """Whether a file of this name holds weights in safetensors, the only form without code."""
    return bool(_WEIGHTS.fullmatch(name)) or name in _DEEPER_WEIGHTS


def is_wanted(name: str) -> bool:
    """Whether a model needs a file of this name; all others, above all code and pickles, are never fetched."""
    return name in _OTHERS or is_weights(name)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository: its name, its bytes, and the hash of its content."""

    name: str
    size: int
    digest: Expected


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository at one commit.

    Attributes:
        id: owner/name.
        revision: The commit.
        licence: As in the model card, mostly an SPDX identifier; other text in quotation marks, "" for none.
        gated: Whether an account must accept the licence first.
        files: Those that a model needs, by name.
        left_out: Names of all others, which are never fetched, cleaned for display.
        base: The repository that the model card names as its base, owner/name; "" for none or several.
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

    def source(self, connection: HubConnection, file: RemoteFile) -> Source:
        # Late, as `HfApi` below: the start of the program reads plans, which need neither.
        from huggingface_hub import hf_hub_url

        url = hf_hub_url(self.id, file.name, revision=self.revision, endpoint=connection.endpoint)
        return Source(url, self.id, file.name, file.size, file.digest)


def read_repo(
    connection: HubConnection, repo_id: str, revision: str = "main", interrupt: CancelToken | None = None
) -> Repo:
    """Ask a hub about a repository at a branch, tag or commit.

    Raises:
        HubError: It does not exist, or cannot be fetched, or its description is invalid.
    """
    if not is_repo(repo_id):
        raise HubError(HubErrorKind.NOT_FOUND, f'"{repo_id}" is no name of a model; it looks like owner/name.')

    from huggingface_hub import ModelCardData

    from mtplx_engine.hub.api import Api

    with Api(connection, repo_id, interrupt) as api:
        about = api.model_info(revision)
        commit = about.sha
        if not isinstance(commit, str) or not is_commit(commit):
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
        left_out=tuple(one_line(entry["path"], _LONGEST_NAME) for entry in entries if not is_wanted(entry["path"])),
        base=_base(card.base_model, repo_id),
    )


def _is_file(entry: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(entry, dict) and entry.get("type") == "file" and isinstance(entry.get("path"), str)


def _licence(said: object) -> str:
    # Free text is quoted, so that it does not look like ours.
    line = one_line(said, _LONGEST_LICENCE) if isinstance(said, str) else ""
    return f'"{line}"' if line and not _LICENCE.fullmatch(line) else line


def _base(said: object, repo_id: str) -> str:
    """Return the one other repository that a model card names as its base, "" without one."""
    listed = said if isinstance(said, list) else [said]
    if len(listed) != 1 or not isinstance(listed[0], str) or not is_repo(listed[0]):
        return ""
    return "" if listed[0].casefold() == repo_id.casefold() else listed[0]


def _files(repo_id: str, entries: Sequence[Mapping[str, Any]]) -> tuple[RemoteFile, ...]:
    """Return the files that a model needs, by name.

    Raises:
        HubError: One has an invalid size or hash, or two names differ only in case.
    """
    wanted = [entry for entry in entries if is_wanted(entry["path"])]
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
    if type(size) is not int or not 0 <= size <= _LARGEST_FILE or size != entry["size"]:
        raise ValueError(f"{size} bytes, or {entry['size']}")
    digest = Expected("git", entry["oid"]) if lfs is None else Expected("sha256", lfs["oid"])
    return RemoteFile(entry["path"], size, digest)


MOST_BYTES: Final = 128 << 20
"""Upper limit for files other than weights; the largest are tokenizers."""


def check_name(repo_id: str) -> None:
    """Raise HubError (NO_MODEL) for the name of a data set or space."""
    kind = _OTHER_KINDS.get(repo_id.partition("/")[0])
    if kind and repo_id.count("/") > 1:
        raise HubError(
            HubErrorKind.NO_MODEL,
            f"{one_line(repo_id, _LONGEST_SHOWN)} is {kind} and no model. Choose a model.",
        )


def check_model(repo: Repo) -> None:
    """Raise HubError for a file list that cannot be a model's: NO_MODEL, or UNSAFE when a file is too large."""
    if problem := _kind(repo, checkpoint.is_weight_file):
        raise HubError(HubErrorKind.NO_MODEL, f"{repo.id} {problem}. Choose another model.")
    if problem := _oversize(repo):
        raise HubError(HubErrorKind.UNSAFE, f"{repo.id} cannot be fetched: {problem}. Choose another model.")


def check_head(repo: Repo) -> None:
    """Raise HubError (UNFIT_HEAD) for a file list that cannot be a drafting head's."""
    if problem := _kind(repo, is_weights):
        raise HubError(HubErrorKind.UNFIT_HEAD, f"{repo.id} is no drafting head: it {problem}. Choose another one.")
    if problem := _oversize(repo):
        raise HubError(HubErrorKind.UNFIT_HEAD, f"{repo.id} cannot be fetched: {problem}. Choose another head.")


def _oversize(repo: Repo) -> str:
    """Return which file is too large; "" when none is."""
    for file in repo.files:
        if file.size > MOST_BYTES and not is_weights(file.name):
            return (
                f"its {file.name} is larger than {formatting.size(MOST_BYTES)} ({formatting.size(file.size)}), "
                "which no honest one is"
            )
    return ""


def _kind(repo: Repo, is_weights: Callable[[str], bool]) -> str:
    """Return why a repository cannot be in MLX form, as a predicate; "" when it can."""
    ours = {file.name for file in repo.files}
    every = ours | set(repo.left_out)
    has_config, has_weights = config_checks.CONFIG_NAME in ours, any(map(is_weights, ours))
    if has_config and has_weights:
        return ""
    if any(name in every for name in _ADAPTERS):
        return "is an adapter (LoRA), which changes another model and is none itself"
    if _PIPELINE_INDEX in every:
        return "holds a pipeline of several models, as for pictures, and no language model"
    if not has_weights and (form := _form(every)):
        return f"holds no model in MLX form: it has {form}"
    if folders := _models_below(every):
        return f"holds no model of its own, but models in folders ({_named(folders)}), which are not fetched"
    if has_weights:
        return f"holds no model: it has weights and no {config_checks.CONFIG_NAME}"
    if has_config:
        return "holds no model: it has no weights (model*.safetensors)"
    return f"holds no model: it has only {_named(sorted(every))}" if every else "is empty"


def _form(every: Collection[str]) -> str:
    paths = [PurePosixPath(name) for name in every]
    endings = {part.suffix.lower() for path in paths for part in (path, *path.parents)}
    return next((form for ending, form in _OTHER_FORMATS.items() if ending in endings), "")


def _models_below(every: Collection[str]) -> list[str]:
    """Return the folders that have a configuration or weights of their own."""
    paths = (PurePosixPath(name) for name in every)
    below = (path for path in paths if len(path.parts) > 1)
    return sorted(
        {
            str(path.parent)
            for path in below
            if path.name == config_checks.CONFIG_NAME or checkpoint.is_weight_file(path.name)
        }
    )


def _named(found: list[str]) -> str:
    more = len(found) - _MOST_NAMED
    return ", ".join(found[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
