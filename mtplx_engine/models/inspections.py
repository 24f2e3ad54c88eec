"""What inspections found, remembered by the state of the files, so that a list of many models is there at once."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError
from mtplx_engine.json_store import JsonStore
from mtplx_engine.models import inspection, manifest, probe_memory
from mtplx_engine.models.inspection import Tier
from mtplx_engine.models.probe_memory import ProbeMemory

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME, _FORMAT = "inspected.json", 1


@dataclass(frozen=True, slots=True)
class Grade:
    """The part of an inspection that a list shows.

    Attributes:
        tier: How well the model runs.
        reason: Why, in a sentence or two.
        loads: Whether this version loads it.
    """

    tier: Tier
    reason: str
    loads: bool


class Inspections:
    """Those of one data folder.

    An inspection reads a tokenizer and the tensors of a head, which takes longer than a list may. So it is believed as
    long as no file of the model has another size or time, the probe has found nothing new, and the program is the same.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._kept = JsonStore(data / _NAME, _FORMAT)

    def grade(self, folder: Path) -> Grade | None:
        """Return how well the model in a folder runs, None when there is none to be read."""
        try:
            state = self._state(folder)
            known = self._known(folder, state)
            if known is not None:
                return known
            found = inspection.inspect(folder, ProbeMemory(self._data))
        except (EngineError, OSError):
            return None
        grade = Grade(found.tier, found.reason, found.loads)
        entry = {"state": state, "tier": grade.tier, "reason": grade.reason, "loads": grade.loads}
        self._kept.put(str(folder), entry)
        return grade

    def _known(self, folder: Path, state: str) -> Grade | None:
        entry = self._kept.get(str(folder))
        try:
            if entry is None or entry["state"] != state:
                return None
            return Grade(Tier(entry["tier"]), str(entry["reason"]), entry["loads"] is True)
        except (TypeError, KeyError, ValueError):
            return None

    def _state(self, folder: Path) -> str:
        """Return what stands for everything that an inspection of a folder depends on.

        Raises:
            OSError: A file cannot be looked at.
        """
        probes = self._data / probe_memory.NAME
        parts = [importlib.metadata.version("mtplx"), _stamp(probes) if probes.exists() else ""]
        for part in _folders(folder):
            parts += (_stamp(path) for path in sorted(part.rglob("*")) if not path.is_dir())
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the folder of a model, and those that it joins."""
    yield folder
    if pair := manifest.read_pair(folder):
        yield from (Path(pair[1].target), Path(pair[1].folder))


def _stamp(path: Path) -> str:
    state = path.stat()
    return f"{os.fspath(path)} {path.resolve()} {state.st_size} {state.st_mtime_ns}"
