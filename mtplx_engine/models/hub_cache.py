"""The folders in which Hugging Face's programs keep what they fetched: models--OWNER--NAME/snapshots/COMMIT."""

from __future__ import annotations

from pathlib import Path

_PREFIX = "models--"
_SNAPSHOTS = "snapshots"


def folder() -> Path:
    """Return where the user's cache is, whether it is there or not."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def snapshots(cache: Path) -> tuple[Path, ...]:
    """Return one snapshot of each model in a cache, the one that `main` means; none for other folders.

    Not by the library's `scan_cache_dir`, which leaves out what is not whole (docs/decisions.md, "Model hub").
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
    """Return what people call a model folder: its repository's name, OWNER/NAME, when it is a snapshot there."""
    parent = folder.absolute().parent
    repository = parent.parent.name
    if parent.name != _SNAPSHOTS or not repository.startswith(_PREFIX):
        return folder.name
    return repository.removeprefix(_PREFIX).replace("--", "/")


def commit(folder: Path) -> str:
    """Return the commit that a snapshot is of, "" for other folders."""
    return "" if title(folder) == folder.name else folder.absolute().name


def blobs(folder: Path) -> Path:
    """Return where the files of a snapshot are, to which it only holds links."""
    return folder.resolve().parent.parent / "blobs"
