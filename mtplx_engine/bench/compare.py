"""Runs the methods in alternation and reduces the runs to ratios with ranges."""

from __future__ import annotations

import statistics
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.bench.run import BASELINE, PLAIN
from mtplx_engine.bench.turns import turns
from mtplx_engine.measurement import Ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mtplx_engine.bench.run import Method, Run


@dataclass(frozen=True, slots=True)
class Summary:
    """What one method did at one temperature.

    Attributes:
        method: Its name.
        decode_tps: Median tokens per second after the first event.
        wall: Baseline wall time / this method's, prompt by prompt.
        decode: The same of the decode speeds.
        verify_steps: V over all prompts; steps without a draft are not among them.
        tokens_per_verify: 1 + A / V, None when nothing was verified.
        accepted_at: Share of verify steps in which draft i was accepted, one a position.
        identical: Prompts whose tokens equal the baseline's, of all; None when sampling.
    """

    method: str
    decode_tps: float
    wall: Ratio
    decode: Ratio
    verify_steps: int
    tokens_per_verify: float | None
    accepted_at: tuple[float, ...]
    identical: tuple[int, int] | None


def alternate(
    methods: Sequence[Method],
    prompts: Sequence[list[int]],
    temperature: float,
    tokens: int,
    report: Callable[[Run], None],
) -> list[Run]:
    """Run every method on every prompt, by turns; the warm-up is dropped."""
    runs = []
    never = threading.Event()
    for turn in turns(methods, len(prompts), tokens):
        run = turn.method.run(turn.prompt, prompts[turn.prompt], temperature, turn.tokens, never)
        if run is not None and not turn.warm_up:
            report(run)
            runs.append(run)
    return runs


def summarise(runs: Sequence[Run], *, greedy: bool) -> list[Summary]:
    """Reduce runs to one summary a method, against the baseline."""
    by_method: dict[str, dict[int, Run]] = {}
    for run in runs:
        by_method.setdefault(run.method, {})[run.prompt] = run
    base = by_method[BASELINE]
    return [_summary(name, mine, base, greedy=greedy) for name, mine in sorted(by_method.items(), key=_order)]


def _order(item: tuple[str, dict[int, Run]]) -> tuple[bool, bool, str]:
    """The baseline first, then plain decoding of ours, then each drafter with its depths."""
    name = item[0]
    return name != BASELINE, name != PLAIN, name


def _summary(name: str, mine: dict[int, Run], base: dict[int, Run], *, greedy: bool) -> Summary:
    pairs = [(base[prompt], run) for prompt, run in mine.items()]
    stats = [run.stats for run in mine.values() if run.stats is not None]
    steps = sum(s.verify_steps for s in stats)
    depth = max((len(s.accepted_at) for s in stats), default=0)
    at = tuple(sum(s.accepted_at[i] for s in stats if i < len(s.accepted_at)) / steps for i in range(depth))
    return Summary(
        method=name,
        decode_tps=statistics.median(run.decode_tps for run in mine.values()),
        wall=Ratio.of([b.wall_s / r.wall_s for b, r in pairs]),
        decode=Ratio.of([r.decode_tps / b.decode_tps for b, r in pairs]),
        verify_steps=steps,
        tokens_per_verify=1 + sum(s.accepted for s in stats) / steps if steps else None,
        accepted_at=at,
        identical=(sum(b.tokens == r.tokens for b, r in pairs), len(pairs)) if greedy else None,
    )
