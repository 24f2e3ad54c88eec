"""What the window remembers: a small JSON file, replaced atomically."""

from __future__ import annotations

import dataclasses
import logging
import typing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - annotations are read at run time

from app.chat.settings import Preset  # noqa: TC001 - annotations are read at run time
from mtplx_engine.config import MAX_DEPTH, Depth
from mtplx_engine.errors import EngineError
from mtplx_engine.util import files

_NAME = "window.json"
_FARTHEST = 1_000_000
_MOST_BYTES = 64 << 20  # of presets, each with a prompt of any length
SMALLEST_TEXT_PX, LARGEST_TEXT_PX = 11, 26
LONGEST_IDLE_MINUTES = 24 * 60
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WindowGeometry:
    """Where the window was, in logical pixels of the whole desktop."""

    x: int
    y: int
    width: int
    height: int
    maximized: bool = False

    def __post_init__(self) -> None:
        # Far more than any desktop has, and within what Qt's rectangles hold.
        if not all(abs(value) <= _FARTHEST for value in (self.x, self.y, self.width, self.height)):
            raise ValueError(f"{self} is on no desktop")


class Appearance(StrEnum):
    """Which palette the person wants."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class SendKey(StrEnum):
    """What sends a message; the other one is a new line."""

    RETURN = "return"
    CTRL_RETURN = "ctrl+return"


@dataclass(frozen=True, slots=True)
class Settings:
    """The person's choices, and where they left off.

    Attributes:
        place: Where the window was; None before it was ever closed.
        sidebar: Whether the list of chats is shown.
        drafting: The draft depth asked for: "auto", 0 for off, or 1..8.
        last_chat: The chat that was shown, "" for an empty one.
        inspector: Whether the settings of the chat are shown beside it.
        presets: Choices for chats, by name.
        new_chat_preset: Name of the preset that a new chat begins with; "" for none.
        appearance: Which palette.
        tint: Whether what the model drafted itself is tinted in answers.
        text_px: The size of messages, in pixels.
        reduced_motion: Whether nothing moves by itself.
        send_key: What sends a message.
        checked_version: The version of the app that has looked at whether this machine is as it needs it; "" for none.
        speed_place: Where the Speed window was; None before it was ever closed.
        first_offer: Whether a first model beside the starter is still offered.
        idle_minutes: After so many minutes without a question the model is unloaded; 0 for never.
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
        """The settings as they are now."""
        return self._settings

    def change(self, **fields: typing.Any) -> None:
        """Set fields of `Settings` and write the file.

        A file that cannot be written is no reason to disturb anybody: the choice holds until the program ends.
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
    """Return the settings in the file; whatever in it cannot be understood gets its default."""
    try:
        body = files.read_json(path, _MOST_BYTES)
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:
        _log.warning("settings not read: %r", error)
        return Settings()
    settings = Settings()
    for name, hint in typing.get_type_hints(Settings).items():
        if isinstance(body, dict) and name in body:
            try:
                settings = dataclasses.replace(settings, **{name: files.build(hint, body[name])})
            except (ValueError, TypeError, EngineError) as error:
                _log.warning("setting %s not understood: %r", name, error)
    return settings
