"""The values that the inspector shows: the settings of a chat beside their defaults. No Qt."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.i18n import marked, tr
from mtplx_engine.config import MAX_DEPTH, Depth, SamplerConfig
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from app.chat.settings import ChatSettings
    from mtplx_engine.ipc.protocol import ModelInfo


_SMALLEST_CONTEXT = 512


@dataclass(frozen=True, slots=True)
class Dial:
    """A numeric sampling setting.

    Attributes:
        name: The field of `SamplerConfig`.
        low: The smallest value; `high` the largest; the arrow keys move by `step`.
        decimals: Decimal places; 0 for integers.
        off: The value without effect; None for none.
    """

    name: str
    label: str
    help: str
    low: float
    high: float
    step: float
    decimals: int
    off: float | None = None


# The ranges are those of `SamplerConfig`, so that showing a stored value never changes it.
DIALS = (
    Dial(
        "temperature",
        "Temperature",
        marked("How freely words are chosen: 0 always takes the likeliest, higher is more varied."),
        0.0,
        5.0,
        0.1,
        2,
    ),
    Dial(
        "top_p",
        marked("Top P"),
        marked("Chooses among the likeliest words that together reach this probability."),
        0.0,
        1.0,
        0.05,
        2,
        off=1.0,
    ),
    Dial(
        "top_k",
        marked("Top K"),
        marked("Chooses among so many of the likeliest words."),
        0,
        1_000_000,
        5,
        0,
        off=0,
    ),
    Dial(
        "min_p",
        marked("Min P"),
        marked("Leaves out words that are less likely than this share of the likeliest one."),
        0.0,
        1.0,
        0.01,
        3,
        off=0.0,
    ),
    Dial(
        "repetition_penalty",
        marked("Repetition penalty"),
        marked("Above 1, words that have appeared in the chat become less likely."),
        0.1,
        10.0,
        0.05,
        2,
        off=1.0,
    ),
    Dial(
        "presence_penalty",
        marked("Presence penalty"),
        marked("Above 0, words that the answer already holds become less likely, however often they came."),
        -10.0,
        10.0,
        0.1,
        2,
        off=0.0,
    ),
    Dial(
        "frequency_penalty",
        marked("Frequency penalty"),
        marked("Above 0, words become less likely with every time that the answer holds them."),
        -10.0,
        10.0,
        0.1,
        2,
        off=0.0,
    ),
)
DIAL_NAMES = tuple(dial.name for dial in DIALS)


@dataclass(frozen=True, slots=True)
class SettingsForm:
    """The settings of a chat with the defaults of model and program.

    Attributes:
        model: The loaded model; None for none, and for no recommendations.
        drafting: The program's draft depth, for chats that do not set one.
        turned_off: Why drafting was turned off automatically, "" when it was not.
    """

    settings: ChatSettings
    model: ModelInfo | None = None
    drafting: Depth = "auto"
    turned_off: str = ""

    @property
    def recommended(self) -> SamplerConfig:
        """The sampling settings that the model recommends."""
        return self.model.recommended if self.model else SamplerConfig()

    @property
    def sampler(self) -> SamplerConfig:
        return self.settings.sampler or self.recommended

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of the dials, and "seed", that differ from the recommendation."""
        names = (*DIAL_NAMES, "seed")
        return tuple(name for name in names if getattr(self.sampler, name) != getattr(self.recommended, name))

    @property
    def can_reset(self) -> bool:
        return self.reset() != self.settings

    def with_value(self, name: str, value: float | None) -> ChatSettings:
        """Return the settings with a dial or the seed set to `value`."""
        whole = name in {"top_k", "seed"}
        wanted = value if value is None or not whole else int(value)
        sampler = dataclasses.replace(self.sampler, **{name: wanted})  # type: ignore[arg-type]
        names = (*DIAL_NAMES, "seed")
        same = all(getattr(sampler, each) == getattr(self.recommended, each) for each in names)
        return dataclasses.replace(self.settings, sampler=None if same else sampler)

    def without(self, name: str) -> ChatSettings:
        """Return the settings with a dial or the seed as recommended."""
        return self.with_value(name, getattr(self.recommended, name))

    def reset(self) -> ChatSettings:
        """Return the default settings, except for model, system prompt and start of the prompt."""
        return dataclasses.replace(
            self.settings,
            sampler=None,
            drafting=None,
            context=None,
            max_tokens=None,
            thinking=None,
            preset="",
        )

    @property
    def window(self) -> int:
        """Context window of the model in tokens; 0 without a model."""
        return self.model.context_window if self.model else 0

    def contexts(self) -> tuple[tuple[int | None, str], ...]:
        sizes = set()
        size = _SMALLEST_CONTEXT
        while size < self.window:
            sizes.add(size)
            size *= 2
        if self.settings.context is not None:
            sizes.add(self.settings.context)
        everything = tr("All of the model’s: {size}").format(size=tokens(self.window)) if self.window else ""
        whole = (None, everything or tr("All that the model has"))
        return (whole, *((size, tokens(size)) for size in sorted(sizes)))

    def context_cost(self) -> str:
        """Return the memory of the chosen context length as a sentence; "" when unknown."""
        held = min(self.settings.context or self.window, self.window)
        if self.model is None or not self.model.token_bytes or not held:
            return ""
        size = formatting.size(held * self.model.token_bytes)
        each = formatting.size(self.model.token_bytes)
        return tr("Up to {size} of memory when it is full, {each} for each token.").format(size=size, each=each)

    @property
    def drafts(self) -> Depth:
        """The draft depth in effect in this chat."""
        return self.drafting if self.settings.drafting is None else self.settings.drafting

    def depths(self) -> tuple[tuple[Depth | None, str], ...]:
        names: dict[Depth, str] = {"auto": tr("Automatic"), 0: tr("Off")}
        deepest = self.model.max_depth if self.model else MAX_DEPTH
        chosen = self.settings.drafting
        if isinstance(chosen, int):
            deepest = max(deepest, chosen)
        names.update({depth: tr("Depth {depth}").format(depth=depth) for depth in range(1, deepest + 1)})
        ours = names.get(self.drafting, tr("Depth {depth}").format(depth=self.drafting))
        return ((None, tr("As in the menu: {choice}").format(choice=ours)), *names.items())


def thinking_choices() -> tuple[tuple[bool | None, str], ...]:
    return ((None, tr("As the model does")), (True, tr("Thinks first")), (False, tr("Answers at once")))


def tokens(count: int) -> str:
    return tr("{count} tokens").format(count=f"{count:,}")
