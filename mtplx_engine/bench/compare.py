"""Runs the methods in alternation and reduces the runs to ratios with ranges."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.bench.run import BASELINE, PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mtplx_engine.bench.run import Method, Run


_LEAST_PROMPTS = 3  # fewer pairs show no range


@dataclass(frozen=True, slots=True)
class Ratio:
    """A speed ratio over prompts: above 1 is faster than the baseline.

    Attributes:
        median: Of one value a prompt.
        low: The smallest of them.
        high: The largest.
        prompts: How many they are.
    """

    median: float
    low: float
    high: float
    prompts: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Ratio:
        """Reduce one value a prompt."""
        return cls(statistics.median(values), min(values), max(values), len(values))

    @property
    def verdict(self) -> str:
        """The ratio in words; a range that holds 1 says nothing either way."""
        if self.prompts < _LEAST_PROMPTS:
            return "too few prompts"
        if self.low > 1:
            return "faster"
        return "slower" if self.high < 1 else "no clear difference"


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
    """Run every method on every prompt, the order turning by one each time; a first round is dropped as warm-up."""
    for method in methods:
        method.run(0, prompts[0], temperature, min(tokens, 16))
    runs = []
    for index, ids in enumerate(prompts):
        shift = index % len(methods)
        for method in (*methods[shift:], *methods[:shift]):
            run = method.run(index, ids, temperature, tokens)
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
        decode_tps=statistics.median(_tps(run) for run in mine.values()),
        wall=Ratio.of([b.wall_s / r.wall_s for b, r in pairs]),
        decode=Ratio.of([_tps(r) / _tps(b) for b, r in pairs]),
        verify_steps=steps,
        tokens_per_verify=1 + sum(s.accepted for s in stats) / steps if steps else None,
        accepted_at=at,
        identical=(sum(b.tokens == r.tokens for b, r in pairs), len(pairs)) if greedy else None,
    )


def _tps(run: Run) -> float:
    return run.decode_tokens / run.decode_s
