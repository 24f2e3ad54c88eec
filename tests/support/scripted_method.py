"""A way of decoding whose true figures are known, on a clock that turns only when it decodes."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from mtplx_engine.answer import AnswerStats
from mtplx_engine.bench.methods import TimedAnswer
from mtplx_engine.decoding import Step

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence


class Clock:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class ScriptedMethod:
    """Decodes with cycles of a known length and known acceptance; counts with the engine's own tally.

    Args:
        name: Its name.
        clock: Turned by what it does.
        cycle_s: Seconds of a cycle.
        depth: Draft tokens of a cycle, 0 for plain decoding.
        accepted: Accepted drafts of the cycles, over and over.
        prefill_s: Seconds of a prefill.
        slower: How many times as long it takes on each prompt in turn.
        ends_at: Tokens after which the model ends its answer; None when only the limit does.
        at_each: Called before each cycle.
        peak: Bytes.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        *,
        cycle_s: float,
        depth: int = 0,
        accepted: Sequence[int] = (0,),
        prefill_s: float = 0.1,
        slower: Sequence[float] = (1.0,),
        ends_at: int | None = None,
        at_each: Callable[[], None] = lambda: None,
        peak: int = 1000,
    ) -> None:
        self.name = name
        self.title = {"depth 0": "plain decoding", "mlx-lm": "plain mlx-lm"}.get(name, f"depth {depth}")
        self.depth = depth
        self.asked: list[tuple[int, int]] = []
        self._clock = clock
        self._cycle_s = cycle_s
        self._accepted = accepted
        self._prefill_s = prefill_s
        self._slower = slower
        self._ends_at = ends_at
        self._at_each = at_each
        self._peak = peak

    def run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> TimedAnswer | None:
        self.asked.append((prompt, tokens))
        slower = self._slower[prompt % len(self._slower)]
        started = self._clock()
        tally = AnswerStats(len(ids), 0, prompt, str(self.depth), self._clock)
        tally.start_prefill()
        self._clock.now += self._prefill_s * slower
        limit = min(tokens, self._ends_at or tokens)
        emitted: list[int] = []
        for wanted in cycle(self._accepted):
            self._at_each()
            if cancelled.is_set():
                return None
            # As the engine does, it drafts no further than the limit, which it knows; the end it does not.
            drafted = min(self.depth, tokens - len(emitted) - 1)
            accepted = min(wanted, drafted)
            self._clock.now += self._cycle_s * slower
            block = range(len(emitted), len(emitted) + accepted + 1)
            kept = block[: limit - len(emitted)]
            tally.cycle(Step(tuple(block), drafted, accepted), len(kept))
            emitted += kept
            if len(emitted) == limit:
                break
        stats = tally.stats()
        wall_s = self._clock() - started
        return TimedAnswer(tuple(emitted), wall_s, stats, self._peak)
