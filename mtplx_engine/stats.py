"""Statistics of a generation: counts, times and rates, with the definitions of vLLM's speculative decoding metrics."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class FinishReason(StrEnum):
    """Why an answer ended."""

    END = "end"  # an end-of-sequence token
    STOP = "stop"  # a stop string
    LENGTH = "length"  # max_tokens, or the end of the context window
    CANCELLED = "cancelled"  # the user pressed Stop


def acceptance_rate(accepted: int, drafted: int) -> float | None:
    """A / D, None when nothing was drafted."""
    return accepted / drafted if drafted else None


def mean_acceptance_length(accepted: int, verify_steps: int) -> float | None:
    """1 + A / V, the tokens of a verify step on average; None when nothing was verified."""
    return 1 + accepted / verify_steps if verify_steps else None


@dataclass(frozen=True, slots=True)
class DecodeStats:
    """Counts and times of one answer. Times are seconds, rates tokens per second; None means "not measured".

    Attributes:
        prompt_tokens: Tokens of the rendered prompt.
        cached_tokens: How many of them were reused from the cache and not forwarded.
        emitted: Tokens of the answer; tokens cut by an end, a stop string or a limit are not counted.
        verify_steps: V, forwards of the target that verified at least one draft token.
        plain_steps: Forwards of the target at depth 0.
        drafted: D, draft tokens verified.
        accepted: A, draft tokens accepted and emitted.
        accepted_at: Accepted at draft position 1, 2, ...; sums to `accepted`.
        ttft_s: Time to first token: from the start of the request to the first visible text.
        prefill_s: Time to forward the uncached prompt tokens.
        decode_s: From the first event with tokens to the last one.
        decode_tokens: Tokens emitted after the first event.
        seed: The seed in use, so that the answer can be repeated.
        depth: The depth that was asked for, "auto" or a number as text.
        drafter: Who drafted, "" for plain decoding.
        waited_s: Time in the queue before the request started; None where there is no queue.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    emitted: int = 0
    verify_steps: int = 0
    plain_steps: int = 0
    drafted: int = 0
    accepted: int = 0
    accepted_at: tuple[int, ...] = field(default=())
    ttft_s: float | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    decode_tokens: int = 0
    seed: int = 0
    depth: str = "0"
    drafter: str = ""
    waited_s: float | None = None

    def followed_by(self, part: DecodeStats) -> DecodeStats:
        """Return the statistics of an answer that was generated in two parts.

        Counts and times of decoding are sums; prompt, prefill and TTFT are those of the first part.
        """
        positions = zip_longest(self.accepted_at, part.accepted_at, fillvalue=0)
        times = [each.decode_s for each in (self, part) if each.decode_s is not None]
        return dataclasses.replace(
            self,
            emitted=self.emitted + part.emitted,
            verify_steps=self.verify_steps + part.verify_steps,
            plain_steps=self.plain_steps + part.plain_steps,
            drafted=self.drafted + part.drafted,
            accepted=self.accepted + part.accepted,
            accepted_at=tuple(first + second for first, second in positions),
            decode_s=sum(times) if times else None,
            decode_tokens=self.decode_tokens + part.decode_tokens,
            drafter=self.drafter or part.drafter,
        )

    @property
    def first_word_s(self) -> float | None:
        """Seconds from sending the request to the first visible text: time in the queue and TTFT."""
        return None if self.ttft_s is None else self.ttft_s + (self.waited_s or 0.0)

    @property
    def acceptance_rate(self) -> float | None:
        return acceptance_rate(self.accepted, self.drafted)

    @property
    def mean_acceptance_length(self) -> float | None:
        return mean_acceptance_length(self.accepted, self.verify_steps)

    @property
    def prefill_tps(self) -> float | None:
        """Uncached prompt tokens per second of prefill."""
        fresh = self.prompt_tokens - self.cached_tokens
        return fresh / self.prefill_s if self.prefill_s and fresh > 0 else None

    @property
    def decode_tps(self) -> float | None:
        """Tokens after the first event per second after the first event."""
        return self.decode_tokens / self.decode_s if self.decode_s and self.decode_tokens else None


class CycleCounter:
    """Counts the decode cycles of one answer, as `DecodeStats` does; both the engine and the app's live view use it."""

    def __init__(self) -> None:
        self.emitted = self.verify_steps = self.plain_steps = self.drafted = 0
        self.accepted_at: list[int] = []

    def add(self, *, tokens: int, drafted: int, accepted: int) -> None:
        """Count a cycle of so many emitted tokens; `drafted` is 0 for a plain one."""
        self.emitted += tokens
        if not drafted:
            self.plain_steps += 1
            return
        self.verify_steps += 1
        self.drafted += drafted
        self.accepted_at += [0] * (drafted - len(self.accepted_at))
        for position in range(accepted):
            self.accepted_at[position] += 1

    def stats(self) -> DecodeStats:
        """Return the counts so far, without any time."""
        return DecodeStats(
            emitted=self.emitted,
            verify_steps=self.verify_steps,
            plain_steps=self.plain_steps,
            drafted=self.drafted,
            accepted=sum(self.accepted_at),
            accepted_at=tuple(self.accepted_at),
        )


def accepted_histogram(verify_steps: int, accepted_at: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of verify steps with exactly 0, 1, ... accepted drafts; they sum to V.

    A negative number shows inconsistent counts: a draft is accepted at most as often as the one before it.
    """
    return tuple(here - further for here, further in pairwise((verify_steps, *accepted_at, 0)))
