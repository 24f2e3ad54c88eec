"""What a person has set for one chat; whatever is not set follows the model and the program."""

from __future__ import annotations

from dataclasses import dataclass

from mtplx_engine.config import MAX_DEPTH, Depth, SamplerConfig

MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """The choices of one chat.

    Attributes:
        model: Folder or installed name of the model that answers; "" for the one that is loaded.
        system_prompt: Comes before everything else; "" for none.
        preset: Name of the preset that the choices came from; "" for none.
        sampler: How tokens are chosen; None for what the model's makers recommend. Its draft depth is not used.
        drafting: The draft depth; None for the program's own choice.
        context: Tokens that prompt and answer may hold together; None for the model's window.
        max_tokens: The longest answer; None for the rest of the window.
        thinking: Whether the model thinks first, where its template has a switch; None for the template's default.
        reads_from: Id of the first message that the model is given; "" for all of them.
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
                raise ValueError("that many tokens no chat can hold")
