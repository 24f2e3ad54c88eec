"""A measurement as `mtplx tune` prints it. Nothing is rounded across 1, and what is not known is not said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine import results, words
from mtplx_engine.bench import sentences
from mtplx_engine.bench.table import per_verify, spread
from mtplx_engine.conditions import Power
from mtplx_engine.measurement import times
from mtplx_engine.words import NOTHING, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_engine.conditions import Conditions
    from mtplx_engine.measurement import Measurement, VerifyCurve
    from mtplx_engine.results import DepthResult, PlainResult, Results
    from mtplx_engine.words import Sentence

_HEADER = (
    f"{'':8}{'whole request':>22}  {'decoding':>8}  {'per verify':>11}  {'steps':>5}  "
    f"{'accepted at 1, 2, ...':24}{'same':>6}  verdict"
)
_NOTES = (
    "whole request, decoding: time of plain decoding / time with drafting, median (lowest..highest), rounded down",
    "per verify: tokens per verify step, of the most possible; steps: the verify steps behind it, (few) when under 50",
    "same: answers with the very tokens of plain decoding; above temperature 0 they are not compared",
)


def render(measurement: Measurement) -> str:
    """Lay out a measurement for a terminal."""
    found = results.of(measurement)
    parts = [
        _what(measurement),
        ["", *_headline(measurement, found.headline)],
        _lines(sentences.pressure(measurement)),
        ["", _plain(found.plain), "", _HEADER, *map(_row, found.depths)],
        _kinds(found.headline),
        _explanation(measurement, found),
        _curves(measurement.curves),
        _cross_check(measurement),
        ["", *_NOTES],
    ]
    return "\n".join(line for part in parts for line in part)


def _headline(measurement: Measurement, best: DepthResult | None) -> list[str]:
    """Return what a measurement says first, what it means, and how sure that is."""
    found = sentences.headline(measurement)
    note = str(found.note)
    whole = sentences.whole_request(best) if best else NOTHING
    return [str(found.said), note[0].upper() + note[1:], *_lines(whole)]


def _lines(said: Sentence) -> list[str]:
    return [str(said)] if said else []


def _what(measurement: Measurement) -> list[str]:
    subject = measurement.subject
    revision = f"revision {subject.revision[:12]}" if subject.revision else ""
    model = [subject.model, revision, subject.quantization, f"drafter {subject.drafter}"]
    machine = [
        subject.chip,
        words.size(subject.memory) if subject.memory else "",
        subject.backend,
        subject.system,
        f"MTPLX {subject.version}",
    ]
    pairs = len({run.pair for run in measurement.runs})
    task = [
        ", ".join(measurement.kinds),
        f"{pairs} pairs of {measurement.tokens} tokens",
        f"{measurement.context} tokens of context",
        f"temperature {measurement.temperature:g}",
    ]
    before, after = _conditions(measurement.before), _conditions(measurement.after)
    lines = [" · ".join(part for part in line if part) for line in (model, machine, task)]
    return [*lines, f"before: {before}; after: {after}"]


def _conditions(found: Conditions) -> str:
    load = "load unknown" if found.load is None else f"load {found.load:.1f}"
    power = "power unknown" if found.power is Power.UNKNOWN else str(found.power)
    saving = ["low-power mode"] if found.low_power else []
    return ", ".join([load, power, *saving, *([found.thermal] if found.thermal else [])])


def _plain(plain: PlainResult) -> str:
    parts = []
    if plain.decode_tps is not None and plain.step_s is not None:
        parts.append(f"{plain.decode_tps:.1f} tok/s, {_ms(plain.step_s)} a token")
    if plain.prefill_tps is not None:
        parts.append(f"prompts at {plain.prefill_tps:.0f} tok/s")
    parts.append(f"{words.size(plain.peak_bytes)} of memory at most")
    return f"plain decoding: {'; '.join(parts)}"


def _row(result: DepthResult) -> str:
    wall = spread(result.wall) if result.wall else ""
    decode = times(result.decode.median) if result.decode else ""
    length = per_verify(result.mean_length, result.ceiling, result.verify_steps)
    at = " ".join(f"{share:.3f}" for share in result.acceptance)
    same = f"{result.identical[0]}/{result.identical[1]}" if result.identical else ""
    return (
        f"depth {result.depth} {wall:>22}  {decode:>8}  {length:>11}  {result.verify_steps or '':>5}  "
        f"{at:24}{same:>6}  {result.verdict}"
    )


def _kinds(best: DepthResult | None) -> list[str]:
    if best is None or len(best.by_kind) < 2:
        return []
    rows = [f"  {kind:16}{spread(ratio):>22}  {ratio.verdict}" for kind, ratio in best.by_kind]
    return ["", f"depth {best.depth} by kind of prompt", *rows]


def _explanation(measurement: Measurement, found: Results) -> list[str]:
    best = found.headline
    if best is None:
        return []
    steps = joined((sentences.per_step(best), sentences.cost(best), sentences.expected(best)), "; ")
    peak = sentences.memory(best, found.plain)
    return [
        "",
        *([f"depth {best.depth}: {steps}"] if steps else []),
        *_lines(sentences.explanation(best, measurement)),
        *([f"memory at most: {peak}"] if peak else []),
    ]


def _curves(curves: tuple[VerifyCurve, ...]) -> list[str]:
    if not curves:
        return []
    widths = max(len(curve.seconds) for curve in curves)
    head = "".join(f"{width:>7}" for width in range(1, widths + 1))
    return [
        "",
        "what a forward over so many tokens costs, in forwards over one",
        f"{'context':>9}{head}{'one':>10}{'a draft':>10}",
        *_curve_rows(curves),
    ]


def _curve_rows(curves: tuple[VerifyCurve, ...]) -> Iterator[str]:
    for curve in curves:
        one = curve.seconds[0]
        costs = "".join(f"{seconds / one:7.2f}" for seconds in curve.seconds)
        draft = "" if curve.draft_s is None else _ms(curve.draft_s)
        yield f"{curve.context:9}{costs}{_ms(one):>10}{draft:>10}"


def _cross_check(measurement: Measurement) -> list[str]:
    told = _lines(sentences.cross_check(measurement))
    return ["", *told] if told else []


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"
