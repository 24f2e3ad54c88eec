"""Which model the person takes by default, and when each was used last."""

from __future__ import annotations

import time
from pathlib import Path

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.json_store import JsonStore

_FORMAT = 1
_DEFAULT = "default"


class Habits:
    """Shared by the window and the command.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._used = JsonStore(data / "used.json", _FORMAT)
        self._chosen = JsonStore(data / "chosen.json", _FORMAT)

    def note_use(self, folder: Path, now_s: float | None = None) -> None:
        """Note that the model in a folder was loaded, by default now (in seconds since 1970)."""
        self._used.put(str(folder), round(time.time() if now_s is None else now_s))

    def last_used(self, folder: Path) -> int | None:
        """Return when the model in a folder was loaded last, in seconds since 1970; None when never."""
        found = self._used.get(str(folder))
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def default(self) -> Path | None:
        """Return the folder of the default model, None for the starter."""
        found = self._chosen.get(_DEFAULT)
        return Path(found) if isinstance(found, str) and found else None

    def set_default(self, folder: Path | None) -> None:
        """Choose the default model; None for the starter.

        Raises:
            EngineError: STORAGE, when that cannot be noted.
        """
        self._chosen.put(_DEFAULT, str(folder) if folder else "")
        if self.default() != folder:
            raise EngineError(
                ErrorKind.STORAGE, "The choice could not be noted in the data folder. Make it writable."
            )
