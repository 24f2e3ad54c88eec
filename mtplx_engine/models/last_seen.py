"""Which models were in a folder when it was looked into last: its disk may not be connected the next time."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtplx_engine.models.installed_model import InstalledModel

if TYPE_CHECKING:
    from mtplx_engine.json_store import JsonStore

_MODELS = "models"


class LastSeen:
    """Models by folder.

    Args:
        kept: Where they are noted; a folder's path is the key.
    """

    def __init__(self, kept: JsonStore) -> None:
        self._kept = kept

    def note(self, folder: Path, models: tuple[InstalledModel, ...]) -> bool:
        """Note what is in a folder; return whether that could be written."""
        self._kept.put(str(folder), {_MODELS: [_as_json(model) for model in models]})
        return self._kept.get(str(folder)) is not None

    def models(
        self, folder: Path, found: tuple[InstalledModel, ...], *, there: bool
    ) -> tuple[InstalledModel, ...]:
        """Return the models of a folder: what was found, or what was seen last while the folder is not there."""
        seen = self._seen(folder)
        if not there:
            return tuple(dataclasses.replace(model, there=False) for model in seen)
        if found != seen:
            self.note(folder, found)
        return found

    def _seen(self, folder: Path) -> tuple[InstalledModel, ...]:
        entry = self._kept.get(str(folder))
        try:
            return tuple(InstalledModel(**{**item, "path": Path(item["path"])}) for item in entry[_MODELS])  # type: ignore[index]
        except (TypeError, KeyError):
            return ()


def _as_json(model: InstalledModel) -> dict[str, Any]:
    return {**dataclasses.asdict(model), "path": str(model.path)}
