"""A bench report laid out for a terminal."""

from __future__ import annotations

import dataclasses
from typing import Any

from mtplx_engine.measurement import FEW_STEPS, Ratio, Verdict, times

_BASE = "mlx-lm"  # the method that all others are compared with
_HEADER = (
    f"{'':27}{'tok/s':>7}  {'wall vs mlx-lm':>22}  {'decode':>6}  {'per verify':>11}  {'steps':>5}  "
    f"{'accepted at 1, 2, ...':24}{'same':>6}  verdict"
)
_NOTES = (
    "wall, decode: mlx-lm's time / this one's, median (lowest..highest) over prompts, rounded down",
    "per verify: tokens per verify step, of the most possible; steps: the verify steps behind it, (few) when under 50",
    "same: prompts with mlx-lm's very tokens; above temperature 0 texts differ by chance, and tests hold their law",
)


def render(report: dict[str, Any]) -> str:
    """Lay out what `plan.measure` returned, with the report of the wheel's BLAS under "stock" if there is one."""
    lines = [
        f"{report['model']} on {report['machine']}; {report['prompts']} prompts x {report['tokens']} tokens",
        f"load before: {report['load']:.1f} on {report['cores']} cores",
    ]
    if report["draft_model"]:
        lines.append(f"draft model: {report['draft_model']}")
    for temperature, table in report["tables"].items():
        lines += _whole(report["backend"], temperature, table)
        for kind, summaries in table["kinds"].items():
            lines += [f"  {kind} prompts", *(_row(summary) for summary in summaries)]
    stock = report.get("stock")
    if stock:
        lines += _whole(stock["backend"], "0", stock["tables"]["0"])  # too few prompts to part them by kind
    lines += ["", *_NOTES]
    if stock and "0" in report["tables"]:
        lines += _against_wheel(report["tables"]["0"]["summary"], stock["tables"]["0"]["summary"])
    return "\n".join(lines)


def spread(ratio: Ratio) -> str:
    """Return a ratio with its range, as in "1.62x (1.55..1.70)"."""
    return f"{times(ratio.median)} ({times(ratio.low)[:-1]}..{times(ratio.high)[:-1]})"


def per_verify(length: float | None, ceiling: int, steps: int) -> str:
    """Return a mean acceptance length of the most possible, in brackets where few steps bear it out."""
    if length is None:
        return ""
    text = f"{length:.3f} of {ceiling}"
    return f"({text})" if steps < FEW_STEPS else text


def _against_wheel(own: list[dict[str, Any]], wheel: list[dict[str, Any]]) -> list[str]:
    """Compare two processes in a line, which is left out when few prompts or a wide range bear nothing out."""
    ours = max((s for s in own if s["method"] != _BASE), key=lambda s: s["decode_tps"] or 0.0)
    plain = next(s for s in wheel if s["method"] == _BASE)
    if not (ours["wall"] and plain["wall"] and ours["decode_tps"] and plain["decode_tps"]):
        return []
    least = min(ours["wall"]["pairs"], plain["wall"]["pairs"])
    verdict = dataclasses.replace(Ratio(**ours["wall"]), pairs=least).verdict
    if verdict not in (Verdict.FASTER, Verdict.SLOWER):
        return []
    ratio = times(ours["decode_tps"] / plain["decode_tps"])
    return ["", f"our fastest against mlx-lm as the wheel comes: {ratio} (two processes)"]


def _whole(backend: str, temperature: str, table: dict[str, Any]) -> list[str]:
    """Lay out the rows over all prompts."""
    heading = f"temperature {temperature}, {backend}"
    return ["", heading, _HEADER, *(_row(summary) for summary in table["summary"])]


def _row(s: dict[str, Any]) -> str:
    """Lay out what one method did; what is not known is left empty."""
    wall, same = Ratio(**s["wall"]) if s["wall"] else None, s["identical"]
    verdict = "" if s["method"] == _BASE else f"  {wall.verdict if wall else Verdict.TOO_FEW}"
    at = " ".join(f"{share:.3f}" for share in s["accepted_at"])
    length = per_verify(s["tokens_per_verify"], 1 + len(s["accepted_at"]), s["verify_steps"])
    speed = f"{s['decode_tps']:.1f}" if s["decode_tps"] else ""
    decode = times(s["decode"]["median"]) if s["decode"] else ""
    return (
        f"{s['method']:27}{speed:>7}  {spread(wall) if wall else '':>22}  {decode:>6}  "
        f"{length:>11}  {s['verify_steps'] or '':>5}  {at:24}"
        f"{f'{same[0]}/{same[1]}' if same else '':>6}{verdict}"
    )
