"""Join a model and a head-only folder into a pair, split it again, and check that head and model belong together."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, head_source, manifest, safetensors_header
from mtplx_engine.models.head_source import Location
from mtplx_engine.models.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.safetensors_header import TensorSpec


# Endings of the tensors that a head may repeat, and of the target's that they repeat.
_REPEATED = {
    "embed_tokens.weight": ("embed_tokens.weight",),
    "shared_head.head.weight": ("lm_head.weight", "embed_tokens.weight"),
    "lm_head.weight": ("lm_head.weight", "embed_tokens.weight"),
}
_SAMPLES = 8
_SAMPLE_BYTES = 4096
_SOURCE = "joined from a model and its head"
_NAME = re.compile(r"[^\W_][\w.+ -]*")
_LONGEST_NAME = 100


def differing_tensors(head: HeadSource, folder: Path, tensors: Mapping[str, TensorSpec]) -> str:
    """Return the name of a tensor that a head repeats with other values than its target's; empty when there is none.

    Tensors that are packed in another way cannot be compared and count as shared.
    """
    for raw, location in head.tensors.items():
        endings = next((ends for end, ends in _REPEATED.items() if raw == end or raw.endswith(f".{end}")), ())
        own = next(
            (name for ending in endings for name in tensors if name == ending or name.endswith(f".{ending}")),
            None,
        )
        if own is not None and not _same(location, Location(folder / tensors[own].file, own, tensors[own])):
            return raw
    return ""


def _same(repeated: Location, own: Location) -> bool:
    if repeated.spec.dtype != own.spec.dtype:
        return True
    return repeated.spec.shape == own.spec.shape and _sample(repeated) == _sample(own)


def _sample(location: Location) -> bytes:
    size = location.spec.size
    starts = (size * number // _SAMPLES for number in range(_SAMPLES))
    with location.path.open("rb") as file:
        return safetensors_header.sample_tensor(file, location.spec, starts, _SAMPLE_BYTES)


def join(target: Path, head: Path, data: Path, name: str = "") -> Path:
    """Join a model and its head-only folder; return the pair's folder, which loads like any model's.

    Joining the same two again renews their binding. Whether the head predicts this model is probed when the pair is
    loaded. The pair's name is by default the model's with "+mtp".

    Raises:
        EngineError: NOT_FOUND or REFUSED, when one of the folders is no sound one; UNSUPPORTED, when they do not
            belong together; BAD_REQUEST, when the name is taken or not allowed.
    """
    target, head = target.resolve(), head.resolve()
    _check_is_head(head)
    checked = checkpoint.check(target)
    if checked.head is not None and not checked.head.problem:
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{checked.name} has a drafting head already ({checked.head.place}); load it as it is.",
        )
    if name:
        _check_name(name)
    title = name or f"{checked.name}+mtp"
    folder = paths.models_dir(data) / _folder_name(title)
    _check_is_free(folder, target, head)
    binding = head_source.bind_head(str(head), checked.config, checked.tensors, target, str(target))
    pair = Manifest(folder.name, title, "", _SOURCE, 1, (), binding=binding)
    _check_fits(pair, checked)
    folder.mkdir(parents=True, exist_ok=True)
    manifest.write_manifest(folder, pair)
    return folder


def split(folder: Path) -> None:
    """Delete a pair, its two folders untouched; raises BAD_REQUEST, when `folder` is no pair."""
    if manifest.read_pair(folder) is None:
        raise EngineError(
            ErrorKind.BAD_REQUEST, f"{folder.name} was not joined from two folders, so it cannot be split."
        )
    for name in (manifest.MANIFEST_NAME, ".DS_Store"):  # the second one is Finder's
        (folder / name).unlink(missing_ok=True)
    folder.rmdir()


def _check_is_head(head: Path) -> None:
    if not head.is_dir():
        raise EngineError(ErrorKind.NOT_FOUND, f"There is no folder {head}; check the path.")
    if not head_source.is_head_only(head):
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{head.name} is no folder with only a drafting head: its config.json names no such kind. Give the "
            "model first and then its head.",
        )


def _check_name(name: str) -> None:
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise EngineError(
            ErrorKind.BAD_REQUEST,
            f"A model cannot be called {name[:_LONGEST_NAME]!r}; take a name of at most {_LONGEST_NAME} letters, "
            "digits, spaces and . + - _ that begins with a letter or digit.",
        )


def _folder_name(title: str) -> str:
    return re.sub(r"[^\w.+-]+", "--", title).lstrip(".-")[:_LONGEST_NAME]


def _check_is_free(folder: Path, target: Path, head: Path) -> None:
    """Check that a pair may be written to `folder`: it is new, or the same pair's."""
    former = manifest.read_pair(folder)
    same = former is not None and (former[1].target, former[1].folder) == (str(target), str(head))
    if folder.exists() and not same:
        raise EngineError(
            ErrorKind.BAD_REQUEST,
            f'There is a model called "{folder.name}" already; choose another name (--name).',
        )


def _check_fits(pair: Manifest, target: Checkpoint) -> None:
    """Check a pair as its load will."""
    with tempfile.TemporaryDirectory() as draft:
        manifest.write_manifest(Path(draft), pair)
        head = checkpoint.check(Path(draft)).head
    problem = head.problem if head else ""
    if head and not problem and (own := differing_tensors(head, target.folder, target.tensors)):
        problem = f"The drafting head does not share {own} with {target.name}: it was made for another model."
    if problem:
        raise EngineError(ErrorKind.UNSUPPORTED, f"{problem} Nothing was joined; choose another head.")
