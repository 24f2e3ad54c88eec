"""The settings of the window: a small JSON file, replaced atomically."""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from app.chat.settings import Preset  # noqa: TC001 - annotations are read at run time
from app.storage.errors import overlaid
from mtplx_engine.config import MAX_DEPTH, Depth
from mtplx_engine.util import files

if TYPE_CHECKING:
    from pathlib import Path


_NAME = "window.json"
_FARTHEST = 1_000_000  # pixels; far more than any desktop has, and within Qt's rectangles
_MAX_BYTES = 64 << 20  # for presets with long prompts
SMALLEST_TEXT_PX, LARGEST_TEXT_PX = 11, 26
LONGEST_IDLE_MINUTES = 24 * 60
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WindowGeometry:
    """Position and size of a window, in logical pixels of the whole desktop."""

    x: int
    y: int
    width: int
    height: int
    maximized: bool = False

    def __post_init__(self) -> None:
        if not all(abs(value) <= _FARTHEST for value in (self.x, self.y, self.width, self.height)):
            raise ValueError(f"{self} is on no desktop")


class Appearance(StrEnum):
    """The palette that the user chose."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class SendKey(StrEnum):
    """The key that sends a message; the other one starts a new line."""

    RETURN = "return"
    CTRL_RETURN = "ctrl+return"


@dataclass(frozen=True, slots=True)
class Settings:
    """The user's settings, and the state of the windows when they were left.

    Attributes:
        place: Geometry of the main window; None before its first close.
        drafting: The draft depth: "auto", 0 for off, or 1..8.
        last_chat: Id of the shown chat, "" for a new one.
        new_chat_preset: Name of the preset for new chats; "" for none.
        checked_version: The last version of the app whose self-check ran; "" for none.
        speed_place: Geometry of the Speed window; None before its first close.
        first_offer: Whether a first model beside the starter is still offered.
        idle_minutes: Minutes without a generation after which the model is unloaded; 0 for never.
    """

    place: WindowGeometry | None = None
    sidebar: bool = True
    drafting: Depth = "auto"
    last_chat: str = ""
    inspector: bool = False
    presets: tuple[Preset, ...] = ()
    new_chat_preset: str = ""
    appearance: Appearance = Appearance.SYSTEM
    tint: bool = False
    text_px: int = 14
    reduced_motion: bool = False
    send_key: SendKey = SendKey.RETURN
    checked_version: str = ""
    speed_place: WindowGeometry | None = None
    first_offer: bool = True
    idle_minutes: int = 30

    def __post_init__(self) -> None:
        if self.drafting != "auto" and not 0 <= self.drafting <= MAX_DEPTH:
            raise ValueError(f"{self.drafting} is no draft depth")
        if not SMALLEST_TEXT_PX <= self.text_px <= LARGEST_TEXT_PX:
            raise ValueError(f"{self.text_px} is no size for text")
        if not 0 <= self.idle_minutes <= LONGEST_IDLE_MINUTES:
            raise ValueError(f"{self.idle_minutes} is no time to wait")


class SettingsFile:
    """The settings in the data folder; every change is written at once."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _NAME
        self._settings = _read(self._path)

    @property
    def value(self) -> Settings:
        return self._settings

    def change(self, **fields: Any) -> None:
        """Set fields of `Settings` and write the file.

        When it cannot be written, the change holds until the program ends.
        """
        changed = dataclasses.replace(self._settings, **fields)
        if changed == self._settings:
            return
        self._settings = changed
        try:
            files.write_json(self._path, dataclasses.asdict(changed), indent=1)
        except OSError as error:
            _log.warning("settings not written: %r", error)


def _read(path: Path) -> Settings:
    """Return the settings in the file; fields that do not fit get their defaults."""
    try:
        body = files.read_json(path, _MAX_BYTES)
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:
        _log.warning("settings not read: %r", error)
        return Settings()
    return overlaid(Settings(), body, lambda name, error: _log.warning("setting %s not understood: %r", name, error))
