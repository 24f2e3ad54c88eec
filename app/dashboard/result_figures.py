"""The figures of a measurement as charts show them."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from app.dashboard.charts.cost_curves import CostCurves
from app.dashboard.charts.position_bars import PositionBars
from app.dashboard.charts.range_bars import RangeBar, RangeBars
from app.dashboard.charts.unit import Unit
from app.translate import said, tr
from mtplx_engine.bench import sentences

if TYPE_CHECKING:
    from mtplx_engine.measurement import Measurement
    from mtplx_engine.results import DepthResult

_FEWEST_KINDS = 2
_MOST_CURVES = 2


def speeds(measurement: Measurement) -> RangeBars:
    """Return tokens per second of plain decoding and of each depth, while writing."""
    bars = []
    for depth in (0, *measurement.depths):
        runs = [run.stats.decode_tps for run in measurement.runs if run.depth == depth]
        known = [speed for speed in runs if speed is not None]
        if known:
            label = tr("depth {depth}").format(depth=depth) if depth else tr("plain")
            bars.append(
                RangeBar(
                    label, statistics.median(known), min(known), max(known), len(known), drafted=depth > 0
                )
            )
    return RangeBars(tuple(bars))


def kinds(best: DepthResult) -> RangeBars:
    """Return the whole requests' ratios by kind of prompts; none when there is but one kind."""
    bars = tuple(RangeBar.of(said(sentences.kind(kind)), ratio) for kind, ratio in best.by_kind)
    return RangeBars(bars if len(bars) >= _FEWEST_KINDS else (), Unit.TIMES)


def positions(best: DepthResult) -> PositionBars:
    """Return acceptance by position."""
    return PositionBars(best.accepted_at, best.verify_steps)


def costs(measurement: Measurement, best: DepthResult) -> CostCurves:
    """Return what verifying costs at the first and the last context length that was tried, and what it may cost."""
    curves = measurement.curves
    shown = curves if len(curves) <= _MOST_CURVES else (curves[0], curves[-1])
    return CostCurves.of(shown, best.accepted_at, best.verify_steps)
