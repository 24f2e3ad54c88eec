"""The Hugging Face cache on disk: models--OWNER--NAME/snapshots/COMMIT."""

from __future__ import annotations

from pathlib import Path

_PREFIX = "models--"
_SNAPSHOTS = "snapshots"


def folder() -> Path:
    """Return the path of the user's cache, which may not exist."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def snapshots(cache: Path) -> tuple[Path, ...]:
    """Return one snapshot of each model in a cache, that of `main` if it is there; none for other folders.

    Not by the library's `scan_cache_dir`, which leaves out incomplete models (docs/decisions.md, "Model hub").
    """
    found = (_snapshot(repository) for repository in sorted(cache.glob(f"{_PREFIX}*")))
    return tuple(snapshot for snapshot in found if snapshot is not None)


def _snapshot(repository: Path) -> Path | None:
    folders = [path for path in sorted(repository.glob(f"{_SNAPSHOTS}/*")) if path.is_dir()]
    try:
        main = (repository / "refs" / "main").read_text().strip()
    except (OSError, ValueError):
        main = ""
    return next((path for path in folders if path.name == main), folders[-1] if folders else None)


def title(folder: Path) -> str:
    """Return the display name of a model folder: OWNER/NAME for a snapshot in a cache, else the folder's name."""
    parent = folder.absolute().parent
    repository = parent.parent.name
    if parent.name != _SNAPSHOTS or not repository.startswith(_PREFIX):
        return folder.name
    return repository.removeprefix(_PREFIX).replace("--", "/")


def commit(folder: Path) -> str:
    """Return the commit of a snapshot, "" for other folders."""
    return "" if title(folder) == folder.name else folder.absolute().name


def blobs(folder: Path) -> Path:
    return folder.resolve().parent.parent / "blobs"
