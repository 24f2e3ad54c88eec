"""Text reports: a measurement as `mtplx tune` prints it, and the tables of `mtplx bench`.

No ratio is rounded across 1, and unknown numbers are left out.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from mtplx_engine.measure import results, sentences
from mtplx_engine.measure.measurement import FEW_STEPS, Ratio, SpeedVerdict, times
from mtplx_engine.util import formatting
from mtplx_engine.util.formatting import NOTHING, joined
from mtplx_engine.util.system import Power

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.measure.measurement import Measurement, VerifyCurve
    from mtplx_engine.measure.results import DepthResult, PlainResult, Results
    from mtplx_engine.util.formatting import Sentence
    from mtplx_engine.util.system import SystemState


_BASE = "mlx-lm"  # the method that all others are compared with
_COLUMNS = f"{'per verify':>11}  {'steps':>5}  {'accepted at 1, 2, ...':24}{'same':>6}  verdict"
_COLUMNS_NOTE = (
    "per verify: tokens per verify step, of the most possible; steps: the verify steps behind it, (few) when under 50"
)
_TABLE_HEADER = f"{'':27}{'tok/s':>7}  {'wall vs mlx-lm':>22}  {'decode':>6}  {_COLUMNS}"
_TABLE_NOTES = (
    "wall, decode: mlx-lm's time / this one's, median (lowest..highest) over prompts, rounded down",
    _COLUMNS_NOTE,
    "same: prompts with mlx-lm's tokens; above temperature 0 texts differ by chance; tests hold their distribution",
)


def render_table(report: dict[str, Any]) -> str:
    """Return the text of a report by `matrix.measure`, with that of the wheel's BLAS under "stock" if it is there."""
    lines = [
        f"{report['model']} on {report['machine']}; {report['prompts']} prompts x {report['tokens']} tokens",
        f"load before: {report['load']:.1f} on {report['cores']} cores",
    ]
    if report["draft_model"]:
        lines.append(f"draft model: {report['draft_model']}")
    for temperature, table in report["tables"].items():
        lines += _whole(report["backend"], temperature, table)
        for kind, summaries in table["kinds"].items():
            lines += [f"  {kind} prompts", *(_table_row(summary) for summary in summaries)]
    stock = report.get("stock")
    if stock:
        lines += _whole(stock["backend"], "0", stock["tables"]["0"])  # too few prompts to part them by kind
    lines += ["", *_TABLE_NOTES]
    if stock and "0" in report["tables"]:
        lines += _against_wheel(report["tables"]["0"]["summary"], stock["tables"]["0"]["summary"])
    return "\n".join(lines)


def _spread(ratio: Ratio | None) -> str:
    """Return a ratio with its range, as in "1.62x (1.55..1.70)"; "" for none."""
    if ratio is None:
        return ""
    return f"{times(ratio.median)} ({times(ratio.low)[:-1]}..{times(ratio.high)[:-1]})"


def _cells(length: float | None, steps: int, accepted_at: Sequence[float], identical: tuple[int, int] | None) -> str:
    """Return the cells of `_COLUMNS` but the verdict; unknown numbers are left empty."""
    text = "" if length is None else f"{length:.3f} of {1 + len(accepted_at)}"
    if text and steps < FEW_STEPS:
        text = f"({text})"
    at = " ".join(f"{share:.3f}" for share in accepted_at)
    same = f"{identical[0]}/{identical[1]}" if identical else ""
    return f"{text:>11}  {steps or '':>5}  {at:24}{same:>6}"


def _against_wheel(own: list[dict[str, Any]], wheel: list[dict[str, Any]]) -> list[str]:
    """Compare two processes in a line, left out for few prompts or a range that includes 1."""
    ours = max((s for s in own if s["method"] != _BASE), key=lambda s: s["decode_tps"] or 0.0)
    plain = next(s for s in wheel if s["method"] == _BASE)
    if not (ours["wall"] and plain["wall"] and ours["decode_tps"] and plain["decode_tps"]):
        return []
    least = min(ours["wall"]["pairs"], plain["wall"]["pairs"])
    verdict = dataclasses.replace(Ratio(**ours["wall"]), pairs=least).verdict
    if verdict not in (SpeedVerdict.FASTER, SpeedVerdict.SLOWER):
        return []
    ratio = times(ours["decode_tps"] / plain["decode_tps"])
    return ["", f"our fastest against mlx-lm as the wheel comes: {ratio} (two processes)"]


def _whole(backend: str, temperature: str, table: dict[str, Any]) -> list[str]:
    heading = f"temperature {temperature}, {backend}"
    return ["", heading, _TABLE_HEADER, *(_table_row(summary) for summary in table["summary"])]


def _table_row(s: dict[str, Any]) -> str:
    wall = Ratio(**s["wall"]) if s["wall"] else None
    verdict = "" if s["method"] == _BASE else f"  {wall.verdict if wall else SpeedVerdict.TOO_FEW}"
    speed = f"{s['decode_tps']:.1f}" if s["decode_tps"] else ""
    decode = times(s["decode"]["median"]) if s["decode"] else ""
    cells = _cells(s["tokens_per_verify"], s["verify_steps"], s["accepted_at"], s["identical"])
    return f"{s['method']:27}{speed:>7}  {_spread(wall):>22}  {decode:>6}  {cells}{verdict}"


_HEADER = f"{'':8}{'whole request':>22}  {'decoding':>8}  {_COLUMNS}"
_NOTES = (
    "whole request, decoding: time of plain decoding / time with drafting, median (lowest..highest), rounded down",
    _COLUMNS_NOTE,
    "same: answers with the very tokens of plain decoding; above temperature 0 they are not compared",
)


def render_report(measurement: Measurement) -> str:
    """Return the text of a measurement, for a terminal."""
    found = results.results_of(measurement)
    parts = [
        _subject(measurement),
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
    found = sentences.headline(measurement)
    note = str(found.note)
    whole = sentences.whole_request(best) if best else NOTHING
    return [str(found.said), note[0].upper() + note[1:], *_lines(whole)]


def _lines(said: Sentence) -> list[str]:
    return [str(said)] if said else []


def _subject(measurement: Measurement) -> list[str]:
    subject = measurement.subject
    revision = f"revision {subject.revision[:12]}" if subject.revision else ""
    model = [subject.model, revision, subject.quantization, f"drafter {subject.drafter}"]
    machine = [
        subject.chip,
        formatting.size(subject.memory) if subject.memory else "",
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


def _conditions(found: SystemState) -> str:
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
    parts.append(f"{formatting.size(plain.peak_bytes)} of memory at most")
    return f"plain decoding: {'; '.join(parts)}"


def _row(result: DepthResult) -> str:
    decode = times(result.decode.median) if result.decode else ""
    cells = _cells(result.mean_acceptance_length, result.verify_steps, result.acceptance, result.identical)
    return f"depth {result.depth} {_spread(result.wall):>22}  {decode:>8}  {cells}  {result.verdict}"


def _kinds(best: DepthResult | None) -> list[str]:
    if best is None or len(best.by_kind) < 2:
        return []
    rows = [f"  {kind:16}{_spread(ratio):>22}  {ratio.verdict}" for kind, ratio in best.by_kind]
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
    lines = [
        "",
        "what a forward over so many tokens costs, in forwards over one",
        f"{'context':>9}{head}{'one':>10}{'a draft':>10}",
    ]
    for curve in curves:
        one = curve.seconds[0]
        costs = "".join(f"{seconds / one:7.2f}" for seconds in curve.seconds)
        draft = "" if curve.draft_s is None else _ms(curve.draft_s)
        lines.append(f"{curve.context:9}{costs}{_ms(one):>10}{draft:>10}")
    return lines


def _cross_check(measurement: Measurement) -> list[str]:
    lines = _lines(sentences.cross_check(measurement))
    return ["", *lines] if lines else []


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"
