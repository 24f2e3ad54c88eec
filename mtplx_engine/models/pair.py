"""A model and a head-only folder joined to one installed model; both are used where they are. Imports no mlx.

All that is written is a manifest in a folder of its own among the installed models.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, head_source, manifest, repeats
from mtplx_engine.models.manifest import Manifest

if TYPE_CHECKING:
    from mtplx_engine.models.checkpoint import Checkpoint

_SOURCE = "joined from a model and its head"
_NAME = re.compile(r"[^\W_][\w.+ -]*")
_LONGEST_NAME = 100


def join(target: Path, head: Path, data: Path, name: str = "") -> Path:
    """Join a model and its head; joining the same two again renews their binding.

    What only the probe can tell, whether the head predicts this model, shows when the pair is loaded.

    Args:
        target: The model's folder.
        head: The head-only folder.
        data: The data folder; it may not exist yet.
        name: What the pair is called, by default after the model.

    Returns:
        The pair's folder, which loads like any model's.

    Raises:
        EngineError: NOT_FOUND or REFUSED, when one of the folders is no sound one; UNSUPPORTED, when they do not
            belong together; BAD_REQUEST, when the name cannot be.
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
    binding = head_source.bind(str(head), checked.config, checked.tensors, target, str(target))
    noted = Manifest(folder.name, title, "", _SOURCE, 1, (), binding=binding)
    _check_fits(noted, checked)
    folder.mkdir(parents=True, exist_ok=True)
    manifest.write(folder, noted)
    return folder


def split(folder: Path) -> None:
    """Forget that two folders are joined; both stay as they are.

    Raises:
        EngineError: BAD_REQUEST, when `folder` is no pair.
    """
    if manifest.read_pair(folder) is None:
        raise EngineError(
            ErrorKind.BAD_REQUEST, f"{folder.name} was not joined from two folders, so it cannot be split."
        )
    for name in (manifest.NAME, ".DS_Store"):  # the second one is Finder's
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
    """Return a name for a folder that nothing can lead out of."""
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


def _check_fits(noted: Manifest, target: Checkpoint) -> None:
    """Check a pair as its load will."""
    with tempfile.TemporaryDirectory() as draft:
        manifest.write(Path(draft), noted)
        head = checkpoint.check(Path(draft)).head
    problem = head.problem if head else ""
    if head and not problem and (own := repeats.differing(head, target.folder, target.tensors)):
        problem = f"The drafting head does not share {own} with {target.name}: it was made for another model."
    if problem:
        raise EngineError(ErrorKind.UNSUPPORTED, f"{problem} Nothing was joined; choose another head.")
