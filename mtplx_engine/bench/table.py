"""A bench report laid out for a terminal."""

from __future__ import annotations

from typing import Any

from mtplx_engine.bench.compare import Ratio
from mtplx_engine.bench.run import BASELINE

_HEADER = (
    f"{'':25}{'tok/s':>7}  {'wall vs mlx-lm':>22}  {'decode':>6}  {'per verify':>10}  "
    f"{'accepted at 1, 2, ...':24}{'same':>6}  verdict"
)


def render(report: dict[str, Any]) -> str:
    """Lay out what `plan.measure` returned, with the report of the wheel's BLAS under "stock" if there is one."""
    lines = [
        f"{report['model']} on {report['machine']}; {report['prompts']} prompts x {report['tokens']} tokens"
    ]
    lines += _tables(report)
    stock = report.get("stock")
    if stock:
        lines += _tables(stock)
    if stock and "0" in report["tables"]:
        ours = max(s["decode_tps"] for s in report["tables"]["0"]["summary"] if s["method"] != BASELINE)
        plain = next(s["decode_tps"] for s in stock["tables"]["0"]["summary"] if s["method"] == BASELINE)
        lines += ["", f"our fastest against mlx-lm as the wheel comes: {ours / plain:.2f}x (two processes)"]
    return "\n".join(lines)


def _tables(report: dict[str, Any]) -> list[str]:
    lines = []
    for temperature, table in report["tables"].items():
        lines += ["", f"temperature {temperature}, {report['backend']}", _HEADER]
        lines += [_row(summary) for summary in table["summary"]]
        for kind, summaries in table["kinds"].items():
            lines += [f"  {kind} prompts", *(_row(summary) for summary in summaries)]
    return lines


def _row(s: dict[str, Any]) -> str:
    wall, tau, same = Ratio(**s["wall"]), s["tokens_per_verify"], s["identical"]
    spread = f"{wall.median:.2f}x ({wall.low:.2f}..{wall.high:.2f})"
    verdict = "" if s["method"] == BASELINE else f"  {wall.verdict}"
    at = " ".join(f"{share:.3f}" for share in s["accepted_at"])
    return (
        f"{s['method']:25}{s['decode_tps']:7.1f}  {spread:>22}  {s['decode']['median']:5.2f}x  "
        f"{f'{tau:.3f}' if tau else '':>10}  {at:24}{f'{same[0]}/{same[1]}' if same else '':>6}{verdict}"
    )
