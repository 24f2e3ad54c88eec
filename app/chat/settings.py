"""Settings of one chat, and named presets of them. No Qt."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from mtplx_engine.config import MAX_DEPTH, Depth, SamplerConfig

MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """The settings of one chat.

    Attributes:
        model: Folder or installed name of the model; "" for the loaded one.
        sampler: Sampling settings; None for the model's recommended ones. Its draft depth is not used.
        drafting: The draft depth; None for the program's setting.
        context: Token limit of prompt and answer together; None for the model's window.
        max_tokens: Longest answer in tokens; None for the rest of the window.
        thinking: Whether the model thinks first, where its template has a switch; None for the template's default.
        reads_from: Id of the first message in the prompt; "" for all of them.
    """

    model: str = ""
    system_prompt: str = ""
    preset: str = ""
    sampler: SamplerConfig | None = None
    drafting: Depth | None = None
    context: int | None = None
    max_tokens: int | None = None
    thinking: bool | None = None
    reads_from: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.drafting, int) and not 0 <= self.drafting <= MAX_DEPTH:
            raise ValueError(f"{self.drafting} is no draft depth")
        for value in (self.context, self.max_tokens):
            if value is not None and not 1 <= value <= MOST_TOKENS:
                raise ValueError(f"{value} is no number of tokens")


NAME_LIMIT = 40


@dataclass(frozen=True, slots=True)
class Preset:
    """Named settings, without `model` and `reads_from`."""

    name: str
    settings: ChatSettings

    def __post_init__(self) -> None:
        if not self.name or self.name != clean_name(self.name):
            raise ValueError(f"{self.name!r} is no name for a preset")

    def applied_to(self, settings: ChatSettings) -> ChatSettings:
        return dataclasses.replace(
            self.settings, model=settings.model, reads_from=settings.reads_from, preset=self.name
        )

    def fits(self, settings: ChatSettings) -> bool:
        return self.applied_to(settings) == dataclasses.replace(settings, preset=self.name)


def clean_name(text: str) -> str:
    """Return typed text as a name: one line of at most `NAME_LIMIT` characters."""
    return " ".join(text.split())[:NAME_LIMIT].rstrip()


def find_preset(presets: tuple[Preset, ...], name: str) -> Preset | None:
    """Return the preset with a name, ignoring case."""
    return next((preset for preset in presets if preset.name.casefold() == name.casefold()), None)


def with_preset(presets: tuple[Preset, ...], name: str, settings: ChatSettings) -> tuple[Preset, ...]:
    """Return the presets with the settings of a chat under `name`, replacing one of that name."""
    saved = dataclasses.replace(settings, model="", reads_from="", preset="")
    return _sorted((*without_preset(presets, name), Preset(name, saved)))


def with_renamed_preset(presets: tuple[Preset, ...], old: str, new: str) -> tuple[Preset, ...]:
    """Return the presets with one renamed; another of the new name is removed. KeyError where there is no `old`."""
    preset = find_preset(presets, old)
    if preset is None:
        raise KeyError(old)
    others = without_preset(without_preset(presets, old), new)
    return _sorted((*others, Preset(new, preset.settings)))


def without_preset(presets: tuple[Preset, ...], name: str) -> tuple[Preset, ...]:
    return tuple(preset for preset in presets if preset.name.casefold() != name.casefold())


def _sorted(presets: tuple[Preset, ...]) -> tuple[Preset, ...]:
    return tuple(sorted(presets, key=lambda preset: preset.name.casefold()))
