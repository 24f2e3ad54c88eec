"""Measurements whose true figures are known: what each run took, and what was accepted, is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.measure.measurement import (
    BenchmarkSubject,
    ExactnessReport,
    MeasuredRun,
    Measurement,
    PromptKind,
    Ratio,
    VerifyCurve,
)
from mtplx_engine.stats import DecodeStats
from mtplx_engine.util.system import Power, SystemState

if TYPE_CHECKING:
    from collections.abc import Sequence


KEY = "files-and-machine"
SUBJECT = BenchmarkSubject(
    key=KEY,
    model="Toy",
    revision="",
    quantization="float32",
    drafter="mtp",
    backend="CPU, float32, OpenBLAS",
    chip="Test Chip",
    memory=16_000_000_000,
    system="TestOS 1",
    version="0.1.0",
)
CALM = SystemState(load=0.4, power=Power.MAINS, low_power=False, thermal="nominal")
TOKENS = 61
PLAIN_S = 0.5  # seconds of 60 tokens after the first
PREFILL_S = 0.1
_MB = 1_000_000


def run(
    pair: int,
    depth: int,
    *,
    decode_s: float,
    kind: PromptKind = PromptKind.CHAT,
    accepted_at: Sequence[int] = (),
    identical: bool | None = None,
    peak: int = 400 * _MB,
) -> MeasuredRun:
    """Return a run of 61 tokens; with drafting, every token that was not accepted cost a verify step."""
    accepted = sum(accepted_at)
    steps = TOKENS - 1 - accepted
    stats = DecodeStats(
        prompt_tokens=100,
        emitted=TOKENS,
        verify_steps=steps if depth else 0,
        plain_steps=0 if depth else TOKENS - 1,
        drafted=steps * depth,
        accepted=accepted,
        accepted_at=tuple(accepted_at),
        ttft_s=PREFILL_S,
        prefill_s=PREFILL_S,
        decode_s=decode_s,
        decode_tokens=TOKENS - 1,
        depth=str(depth),
        drafter="mtp" if depth else "",
    )
    wall = PREFILL_S + decode_s
    return MeasuredRun(pair, f"{kind.value}-{pair}", kind, depth, wall, stats, peak, identical)


def measurement(
    *ratios: float,
    depth: int = 3,
    kinds: Sequence[PromptKind] = (PromptKind.CHAT,),
    accepted_at: Sequence[int] = (16, 12, 9),
    differing: int = 0,
    cross_check: float | None = None,
    subject: BenchmarkSubject = SUBJECT,
    context: int = 1024,
    before: SystemState = CALM,
    after: SystemState = CALM,
    auto_depths: Sequence[int] | None = None,
    lifted: bool = False,
) -> Measurement:
    """Return a measurement in which drafting took `1 / ratio` of the wall time of plain decoding, one pair each.

    Nothing but its one depth is to be chosen among, unless `auto_depths` says otherwise.
    """
    runs: list[MeasuredRun] = []
    for pair, ratio in enumerate(ratios):
        kind = kinds[pair % len(kinds)]
        drafted_s = (PREFILL_S + PLAIN_S) / ratio - PREFILL_S
        same = pair >= differing
        runs += [
            run(pair, 0, decode_s=PLAIN_S, kind=kind),
            run(
                pair,
                depth,
                decode_s=drafted_s,
                kind=kind,
                accepted_at=accepted_at,
                identical=same,
                peak=430 * _MB,
            ),
        ]
    curve = tuple(0.0075 * (1 + 0.11 * extra) for extra in range(8))
    return Measurement(
        subject=subject,
        taken_ms=1_795_910_400_000,  # 29 Nov 2026
        kinds=tuple(kinds),
        context=context,
        tokens=TOKENS,
        temperature=0.0,
        runs=tuple(runs),
        curves=(VerifyCurve(256, curve, 0.0011), VerifyCurve(4096, tuple(s * 1.3 for s in curve), 0.0011)),
        cross_check=None if cross_check is None else Ratio(cross_check, cross_check, cross_check, 3),
        before=before,
        after=after,
        auto_depths=(depth,) if auto_depths is None else tuple(auto_depths),
        lifted=lifted,
    )


def report(
    *, distance: float = 3e-7, greedy_same: int = 8, greedy_ties: int = 0, p_value: float | None = 0.4
) -> ExactnessReport:
    """Return a check of exactness over 8 prefixes."""
    return ExactnessReport(
        subject=SUBJECT,
        taken_ms=1_795_910_400_000,
        depth=3,
        prefixes=8,
        rows=32,
        distance=distance,
        allowed=0.002,
        logit_distance=distance * 30,
        first_choices=32,
        greedy_prefixes=8,
        greedy_same=greedy_same,
        greedy_ties=greedy_ties,
        samples=2000,
        tokens_at=(1800, 1000, 500, 700),
        p_value=p_value,
    )
