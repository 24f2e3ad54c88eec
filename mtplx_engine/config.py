"""Settings of a request, checked where they are made, and the fixed sizes of the caches.

The sizes stand here since both who allocates (`cache`, with mlx) and who estimates beforehand (`models.memory_fit`,
without it) need them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from mtplx_engine.errors import EngineError, ErrorKind

MAX_DEPTH = 8
AUTO_MAX_DEPTH = 4  # deeper drafts of one chained head are never worth measuring

CACHE_STEP = 256  # tokens by which buffers of keys and values grow
WINDOW_GRAIN = 64  # the start of a sliding window is rounded down to a multiple of so many tokens
MOST_CHECKPOINTS, MOST_CHECKPOINT_BYTES = 16, 1 << 30  # of a cache whose layers cannot go back to any length

Depth = int | Literal["auto"]
DrafterKind = Literal["mtp", "draft_model", "prompt_lookup", "mtp+prompt_lookup"]
DraftCore = Literal["stock", DrafterKind, "off"]
VerifyCore = Literal["target", "strict"]

_DRAFT_CORES: tuple[DraftCore, ...] = get_args(DraftCore)
_VERIFY_CORES = ("target", "strict")
_GREEDY_BELOW = 1e-5  # logits divided by so little would leave the range of float32
# name -> (smallest, largest); both ends are allowed
_RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0.0, 5.0),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "repetition_penalty": (0.1, 10.0),
    "presence_penalty": (-10.0, 10.0),
    "frequency_penalty": (-10.0, 10.0),
}


@dataclass(frozen=True, slots=True)
class SamplerConfig:
    """How the next token is sampled, and how far the model drafts ahead.

    The speculation fields change the speed of an answer, never its distribution.

    Attributes:
        temperature: 0, or less than 1e-5, is greedy; else the kept logits are divided by it.
        top_p: Keep the smallest set of tokens whose probability reaches it, at least one; 1 is off.
        top_k: Keep the k most probable tokens; 0 is off.
        min_p: Drop tokens below this share of the most probable one; 0 is off.
        repetition_penalty: Divides positive (multiplies negative) logits of tokens seen in prompt or answer.
        presence_penalty: Subtracted once from tokens that the answer already holds.
        frequency_penalty: Subtracted once per occurrence in the answer.
        logit_bias: Pairs (token id, bias) added to the logits first.
        seed: Same seed, depth, prompt and machine give the same text; None draws one.
        speculative_depth: k, draft tokens per verify step, 0..8, or "auto": the depth measured to be fastest, 0
            included; but 1 with a seed, since a text that depends on timings would not repeat.
        draft_core: Who drafts; "stock" is the model's default drafter, "mtp+prompt_lookup" copies from the context
            where it repeats itself and asks the model's own head otherwise.
        verify_core: "target" verifies in one batched forward, "strict" forwards row by row.

    Raises:
        EngineError: BAD_REQUEST, naming the field, its value and what is allowed.
    """

    temperature: float = 0.7
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int | None = None
    speculative_depth: Depth = "auto"
    draft_core: DraftCore = "stock"
    verify_core: VerifyCore = "target"

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            _check_number(name, getattr(self, name), low, high)
        _check_whole("top_k", self.top_k, 0, 1_000_000)
        _check_choice("draft_core", self.draft_core, _DRAFT_CORES)
        _check_choice("verify_core", self.verify_core, _VERIFY_CORES)
        if self.speculative_depth != "auto":
            _check_whole("speculative_depth", self.speculative_depth, 0, MAX_DEPTH, or_else=' or "auto"')
        if self.seed is not None:
            _check_whole("seed", self.seed, 0, 2**63 - 1)
        for token, bias in self.logit_bias:
            _check_whole("logit_bias token", token, 0, 2**31 - 1)
            _check_number("logit_bias", bias, -100.0, 100.0)

    @property
    def greedy(self) -> bool:
        """Whether the most probable token is always taken."""
        return self.temperature < _GREEDY_BELOW

    @property
    def needs_history(self) -> bool:
        """Whether the sampler itself, beyond the model, depends on which tokens came before: it has penalties."""
        return self.repetition_penalty != 1.0 or self.presence_penalty != 0.0 or self.frequency_penalty != 0.0


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of a chat.

    Attributes:
        role: "system", "user" or "assistant".
        thinking: The model's thinking before an answer; the chat template decides how much of it the model sees again.
    """

    role: str
    content: str
    thinking: str = ""


def _bad(name: str, value: object, allowed: str) -> EngineError:
    return EngineError(ErrorKind.BAD_REQUEST, f"{name} is {value!r}, but must be {allowed}.")


def _check_number(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _bad(name, value, f"a number from {low:g} to {high:g}")
    if not low <= value <= high:
        raise _bad(name, value, f"from {low:g} to {high:g}")


def _check_whole(name: str, value: object, low: int, high: int, or_else: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _bad(name, value, f"a whole number from {low} to {high}{or_else}")


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise _bad(name, value, "one of " + ", ".join(allowed))
