"""Named sets of choices that a person keeps for several chats."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from app.chat.chat_settings import ChatSettings  # noqa: TC001 - annotations are read at run time

NAME_LIMIT = 40


@dataclass(frozen=True, slots=True)
class Preset:
    """Choices under a name; which model answers, and from where it reads, is not among them."""

    name: str
    settings: ChatSettings

    def __post_init__(self) -> None:
        if not self.name or self.name != clean_name(self.name):
            raise ValueError(f"{self.name!r} is no name for a preset")

    def applied_to(self, settings: ChatSettings) -> ChatSettings:
        """Return the settings of a chat with the choices of this preset."""
        return dataclasses.replace(
            self.settings, model=settings.model, reads_from=settings.reads_from, preset=self.name
        )

    def fits(self, settings: ChatSettings) -> bool:
        """Return whether a chat has just these choices."""
        return self.applied_to(settings) == dataclasses.replace(settings, preset=self.name)


def clean_name(text: str) -> str:
    """Return what was typed as a name: one line, not too long."""
    return " ".join(text.split())[:NAME_LIMIT].rstrip()


def find(presets: tuple[Preset, ...], name: str) -> Preset | None:
    """Return the preset with a name; capitals make no difference."""
    return next((preset for preset in presets if preset.name.casefold() == name.casefold()), None)


def saved(presets: tuple[Preset, ...], name: str, settings: ChatSettings) -> tuple[Preset, ...]:
    """Return the presets with the choices of a chat under `name`, in place of what had that name."""
    choices = dataclasses.replace(settings, model="", reads_from="", preset="")
    return _sorted((*removed(presets, name), Preset(name, choices)))


def renamed(presets: tuple[Preset, ...], old: str, new: str) -> tuple[Preset, ...]:
    """Return the presets with one called otherwise; another that had the new name goes.

    Raises:
        KeyError: There is none with the old name.
    """
    preset = find(presets, old)
    if preset is None:
        raise KeyError(old)
    others = removed(removed(presets, old), new)
    return _sorted((*others, Preset(new, preset.settings)))


def removed(presets: tuple[Preset, ...], name: str) -> tuple[Preset, ...]:
    """Return the presets without the one of that name."""
    return tuple(preset for preset in presets if preset.name.casefold() != name.casefold())


def _sorted(presets: tuple[Preset, ...]) -> tuple[Preset, ...]:
    return tuple(sorted(presets, key=lambda preset: preset.name.casefold()))
