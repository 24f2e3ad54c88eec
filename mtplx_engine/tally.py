"""Counts an answer while it runs; the definitions are those of `stats.DecodeStats`."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from mtplx_engine.stats import CycleCounter

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtplx_engine.decoding import Step
    from mtplx_engine.stats import DecodeStats


class Tally:
    """Counters and clocks of one answer; the request starts when it is made.

    Args:
        prompt_tokens: Tokens of the prompt.
        cached_tokens: How many of them need no forward.
        seed: The seed in use.
        depth: The depth asked for, as text.
        clock: Seconds, monotonic.
        drafter: Who may draft, "" for nobody.
    """

    def __init__(
        self,
        prompt_tokens: int,
        cached_tokens: int,
        seed: int,
        depth: str,
        clock: Callable[[], float] = time.perf_counter,
        *,
        drafter: str = "",
    ) -> None:
        self._counter = CycleCounter()
        self._fixed = (prompt_tokens, cached_tokens, seed, depth)
        self._clock = clock
        self._drafter = drafter
        self._start = clock()
        self._prefill_start = self._start
        self._first_cycle: float | None = None
        self._first_event: float | None = None
        self._first_emitted = 0
        self._last_event: float | None = None
        self._first_text: float | None = None
        self._positions: list[int | None] = []  # of each token, where it was drafted; None when it was not

    @property
    def emitted(self) -> int:
        """Tokens told of so far."""
        return self._counter.emitted

    def now(self) -> float:
        """Return seconds since the request."""
        return self._clock() - self._start

    def start_prefill(self) -> None:
        """Mark the beginning of the first forward."""
        self._prefill_start = self._clock()

    def cycle(self, step: Step, kept: int) -> None:
        """Count a cycle of which the first `kept` tokens are emitted."""
        now = self._clock()
        credited = min(step.accepted, kept)
        self._counter.add(tokens=kept, drafted=step.drafted, accepted=credited)
        self._positions += [*range(credited), *[None] * (kept - credited)]
        if self._first_cycle is None:
            self._first_cycle = now
        if kept:  # a cycle of which nothing is emitted is no event
            self._last_event = now
            if self._first_event is None:
                self._first_event, self._first_emitted = now, self.emitted

    def text_shown(self) -> None:
        """Mark that text became visible."""
        if self._first_text is None:
            self._first_text = self._clock()

    def stats(self, cut: int = 0) -> DecodeStats:
        """Return the figures so far, without the newest `cut` tokens: those of a stop string."""
        counted = self._counter.stats()
        accepted_at = list(counted.accepted_at)
        for position in self._positions[len(self._positions) - cut :]:
            if position is not None:
                accepted_at[position] -= 1
        prompt_tokens, cached_tokens, seed, depth = self._fixed
        prefilled, first, last = self._first_cycle, self._first_event, self._last_event
        return dataclasses.replace(
            counted,
            prompt_tokens=prompt_tokens,
            cached_tokens=cached_tokens,
            emitted=counted.emitted - cut,
            accepted=sum(accepted_at),
            accepted_at=tuple(accepted_at),
            ttft_s=None if self._first_text is None else self._first_text - self._start,
            prefill_s=None if prefilled is None else prefilled - self._prefill_start,
            decode_s=None if first is None or last is None or last == first else last - first,
            decode_tokens=max(0, counted.emitted - cut - self._first_emitted),
            seed=seed,
            depth=depth,
            drafter=self._drafter if counted.drafted else "",
        )
