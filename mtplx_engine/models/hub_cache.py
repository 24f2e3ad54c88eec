"""The folders in which Hugging Face's programs keep what they fetched: models--OWNER--NAME/snapshots/COMMIT."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PREFIX = "models--"


def title(folder: Path) -> str:
    """Return what people call a model folder: its repository's name, OWNER/NAME, when it is a snapshot there."""
    snapshots = folder.absolute().parent
    repository = snapshots.parent.name
    if snapshots.name != "snapshots" or not repository.startswith(_PREFIX):
        return folder.name
    return repository.removeprefix(_PREFIX).replace("--", "/")


def blobs(folder: Path) -> Path:
    """Return where the files of a snapshot are, to which it only holds links."""
    return folder.resolve().parent.parent / "blobs"
