"""Measurements reduced to ratios, ranges and verdicts, and the verdict of an exactness report."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mtplx_engine.config import SamplerConfig
from mtplx_engine.measure.measurement import FEW_STEPS, Doubt, Ratio, SpeedVerdict
from mtplx_engine.stats import acceptance_rate, accepted_histogram, mean_acceptance_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mtplx_engine.measure.measurement import ExactnessReport, MeasuredRun, Measurement, PromptKind

    Pair = tuple[MeasuredRun, MeasuredRun]


_SHORTEST_S, _LONGEST_S = 1e-9, 1e9


@dataclass(frozen=True, slots=True)
class PlainResult:
    """Plain decoding, reduced.

    Attributes:
        decode_tps: Median tokens per second after the first event.
        prefill_tps: Uncached prompt tokens per second of prefill, over all runs.
        wall_s: Median seconds of an answer.
        step_s: t_plain, median seconds of a forward.
        peak_bytes: Peak memory of mlx.
    """

    runs: int
    decode_tps: float | None
    prefill_tps: float | None
    wall_s: float
    step_s: float | None
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class DepthResult:
    """Drafting at one depth against plain decoding, pair by pair; other speeds and times as in `PlainResult`.

    Attributes:
        wall: Wall time of plain decoding / wall time with drafting, over the pairs of equally long answers; None
            without such a pair.
        decode: Ratio of decode speeds; None where no pair has both.
        by_kind: `wall` by kind of prompt, without kinds that have none.
        verify_steps: V, over all answers.
        drafted: D, draft tokens verified.
        accepted: A, draft tokens accepted and emitted.
        accepted_at: Accepted at position 1..k; sums to A.
        step_s: t_plain of the same pairs, median seconds of a plain forward.
        cycle_s: t_cycle, median seconds of a cycle: drafting, verifying and rolling back.
        identical: Answers with the tokens of plain decoding, and of how many; None when sampling.
    """

    depth: int
    wall: Ratio | None
    decode: Ratio | None
    by_kind: tuple[tuple[PromptKind, Ratio], ...]
    decode_tps: float | None
    verify_steps: int
    drafted: int
    accepted: int
    accepted_at: tuple[int, ...]
    wall_s: float
    step_s: float | None
    cycle_s: float | None
    peak_bytes: int
    identical: tuple[int, int] | None

    @property
    def verdict(self) -> SpeedVerdict:
        return self.wall.verdict if self.wall else SpeedVerdict.TOO_FEW

    @property
    def ceiling(self) -> int:
        """The most tokens of a verify step, k + 1."""
        return self.depth + 1

    @property
    def acceptance(self) -> tuple[float, ...]:
        """Acceptance by position: the share of verify steps that accepted draft 1, 2, ...; () without verify steps."""
        return tuple(count / self.verify_steps for count in self.accepted_at) if self.verify_steps else ()

    @property
    def acceptance_rate(self) -> float | None:
        return acceptance_rate(self.accepted, self.drafted)

    @property
    def mean_acceptance_length(self) -> float | None:
        """At most `ceiling`."""
        return mean_acceptance_length(self.accepted, self.verify_steps)

    @property
    def histogram(self) -> tuple[int, ...]:
        """The verify steps with 0..k drafts accepted; sums to V."""
        return accepted_histogram(self.verify_steps, self.accepted_at)

    @property
    def few(self) -> bool:
        """Whether the verify steps are too few for rates to go by."""
        return self.verify_steps < FEW_STEPS

    @property
    def predicted(self) -> float | None:
        """The speedup that counts and times of cycles predict: mean length x t_plain / t_cycle."""
        if self.mean_acceptance_length is None or not self.step_s or not self.cycle_s:
            return None
        return self.mean_acceptance_length * self.step_s / self.cycle_s


@dataclass(frozen=True, slots=True)
class Results:
    """A whole measurement, reduced; `depths` the shallowest first.

    `doubt` is why "slower" does not suffice to turn drafting off, None when it does.
    """

    plain: PlainResult
    depths: tuple[DepthResult, ...]
    doubt: Doubt | None

    @property
    def slower(self) -> bool:
        """Whether drafting is slower at every measured depth."""
        return bool(self.depths) and all(result.verdict is SpeedVerdict.SLOWER for result in self.depths)

    @property
    def winner(self) -> int | None:
        """The depth to draft at; 0 to turn drafting off, None when unclear."""
        faster = [result for result in self.depths if result.verdict is SpeedVerdict.FASTER]
        if faster:
            return _fastest(faster).depth
        return 0 if self.slower and self.doubt is None else None

    @property
    def headline(self) -> DepthResult | None:
        """The winning depth, else the one with the best median wall ratio."""
        return self.at(self.winner) if self.winner else _fastest(self.depths) if self.depths else None

    def at(self, depth: int) -> DepthResult:
        """Return the result of a depth; raises KeyError if it was not measured."""
        return {result.depth: result for result in self.depths}[depth]


def results_of(measurement: Measurement) -> Results:
    """Reduce a measurement that has a plain run in each pair.

    Raises:
        ValueError: A pair has none, the counts of a run contradict each other, or its times are impossible.
    """
    plain = {run.pair: run for run in measurement.runs if not run.depth}
    if not plain or any(run.pair not in plain for run in measurement.runs):
        raise ValueError("a pair without plain decoding")
    if not all(_adds_up(run) and _took_time(run) for run in measurement.runs):
        raise ValueError("counts that do not add up, or times that cannot be")
    depths = [
        compared(depth, [(plain[run.pair], run) for run in measurement.runs if run.depth == depth])
        for depth in measurement.depths
    ]
    return Results(_plain_result(list(plain.values())), tuple(depths), _doubt(measurement, depths))


def compared(depth: int, pairs: Sequence[Pair]) -> DepthResult:
    """Reduce pairs of a baseline and a run at `depth`, one for each prompt, at least one."""
    runs = [run for _, run in pairs]
    kinds = dict.fromkeys(run.kind for run in runs)
    of_kinds = [(kind, _ratio([pair for pair in pairs if pair[1].kind == kind], _wall)) for kind in kinds]
    same = [run.identical for run in runs if run.identical is not None]
    return DepthResult(
        depth=depth,
        wall=_ratio(pairs, _wall),
        decode=decode_ratio(pairs),
        by_kind=tuple((kind, ratio) for kind, ratio in of_kinds if ratio is not None),
        decode_tps=_median(run.stats.decode_tps for run in runs),
        verify_steps=sum(run.stats.verify_steps for run in runs),
        drafted=sum(run.stats.drafted for run in runs),
        accepted=sum(run.stats.accepted for run in runs),
        accepted_at=_add_up([run.stats.accepted_at for run in runs], depth),
        wall_s=statistics.median(run.wall_s for run in runs),
        step_s=_median(_step_s(plain) for plain, _ in pairs),
        cycle_s=_median(_cycle_s(run) for run in runs),
        peak_bytes=max(run.peak_bytes for run in runs),
        identical=(sum(same), len(same)) if same else None,
    )


def decode_ratio(pairs: Iterable[Pair]) -> Ratio | None:
    """Return the ratio of decode speeds, the run's over the baseline's; None where no pair has both."""
    return _ratio(pairs, _decode)


def turns_off(measurement: Measurement) -> bool:
    """Whether a measurement turns drafting off for answers of its bucket."""
    return not measurement.lifted and results_of(measurement).winner == 0


def _doubt(measurement: Measurement, depths: Iterable[DepthResult]) -> Doubt | None:
    if not set(measurement.auto_depths) <= set(measurement.depths):
        return Doubt.UNTRIED
    if any(result.few for result in depths if result.depth in measurement.auto_depths):
        return Doubt.FEW_STEPS
    usual = (0.0, SamplerConfig().temperature)
    return None if measurement.temperature in usual else Doubt.TEMPERATURE


def _adds_up(run: MeasuredRun) -> bool:
    stats = run.stats  # a draft is accepted at most as often as the one before it
    ordered = min(accepted_histogram(stats.verify_steps, stats.accepted_at)) >= 0
    return ordered and sum(stats.accepted_at) == stats.accepted and len(stats.accepted_at) <= run.depth


def _took_time(run: MeasuredRun) -> bool:
    times = (run.wall_s, run.stats.decode_s, run.stats.prefill_s)
    return all(_SHORTEST_S < seconds < _LONGEST_S for seconds in times if seconds is not None)


def _plain_result(runs: Sequence[MeasuredRun]) -> PlainResult:
    fresh = sum(run.stats.prompt_tokens - run.stats.cached_tokens for run in runs)
    prefill_s = sum(run.stats.prefill_s or 0.0 for run in runs)
    return PlainResult(
        runs=len(runs),
        decode_tps=_median(run.stats.decode_tps for run in runs),
        prefill_tps=fresh / prefill_s if prefill_s else None,
        wall_s=statistics.median(run.wall_s for run in runs),
        step_s=_median(_step_s(run) for run in runs),
        peak_bytes=max(run.peak_bytes for run in runs),
    )


def _add_up(accepted_at: Sequence[tuple[int, ...]], depth: int) -> tuple[int, ...]:
    # Runs with shallower drafts have fewer positions.
    return tuple(sum(counts[at] for counts in accepted_at if at < len(counts)) for at in range(depth))


def _ratio(
    pairs: Iterable[Pair],
    value: Callable[[MeasuredRun, MeasuredRun], float | None],
) -> Ratio | None:
    values = [found for plain, run in pairs if (found := value(plain, run)) is not None]
    return Ratio.of(values) if values else None


def _wall(plain: MeasuredRun, run: MeasuredRun) -> float | None:
    # Times of answers of different length would say nothing about speed.
    comparable = plain.stats.emitted == run.stats.emitted and plain.wall_s > 0 and run.wall_s > 0
    return plain.wall_s / run.wall_s if comparable else None


def _decode(plain: MeasuredRun, run: MeasuredRun) -> float | None:
    ours, theirs = run.stats.decode_tps, plain.stats.decode_tps
    return ours / theirs if ours and theirs else None


def _step_s(run: MeasuredRun) -> float | None:
    speed = run.stats.decode_tps
    return 1 / speed if speed else None


def _cycle_s(run: MeasuredRun) -> float | None:
    stats = run.stats
    cycles = stats.verify_steps + stats.plain_steps - 1  # decode_s starts at the end of the first one
    return stats.decode_s / cycles if stats.decode_s and cycles > 0 else None


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _fastest(results: Iterable[DepthResult]) -> DepthResult:
    return max(results, key=lambda result: (result.wall.median if result.wall else 0.0, -result.depth))


CHANCE = 1e-6
"""A p-value below it is a fault; at most two checks of a correct engine in a million report one falsely."""

ODD = 1e-2
"""A p-value below it makes the check sample more tokens; the result is `Exactness.ODD` if it stays below."""


class Exactness(StrEnum):
    """Whether drafting changes the output of a model."""

    IDENTICAL = "identical"  # bit for bit in all that was compared
    ROUNDING = "same within rounding"  # the rows of wider products differ in their last bits
    TOO_FEW = "too few draws to tell"  # and nothing else differs
    ODD = "odd draws"  # odder than a check in a hundred by chance, and not so odd that it must be a fault
    DIFFERENT = "different"  # by more than rounding and chance explain: a fault


def judge_exactness(report: ExactnessReport) -> Exactness:
    """Return the verdict of a report.

    Greedy answers may diverge only at a tie, where two tokens are equally probable within rounding.
    """
    diverged = report.greedy_prefixes - report.greedy_same - report.greedy_ties
    unlikely = report.p_value is not None and report.p_value < CHANCE
    if diverged or unlikely or report.distance > report.allowed:
        return Exactness.DIFFERENT
    if report.p_value is None:
        return Exactness.TOO_FEW
    if report.p_value < ODD:
        return Exactness.ODD
    return Exactness.ROUNDING if report.logit_distance or report.greedy_ties else Exactness.IDENTICAL
