"""`mtplx bench`: how fast drafting is here, against plain mlx-lm on the same weights in the same run."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import get_args

from mtplx_engine import backend, paths
from mtplx_engine.bench.prompts import PROMPTS
from mtplx_engine.cli.options import add_anyway, add_draft_model, positive
from mtplx_engine.cli.output import Console
from mtplx_engine.config import MAX_DEPTH, DrafterKind
from mtplx_engine.ipc.protocol import LEAST_TOKENS
from mtplx_engine.util.formatting import ProgressLine

_USUAL_PROMPTS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that no other command has."""
    add_draft_model(parser)
    add_anyway(parser, "measure it even when it will not fit into memory")
    parser.add_argument(
        "--prompts",
        metavar="N",
        type=_prompts,
        default=_USUAL_PROMPTS,
        help=f"how many prompts, at most {len(PROMPTS)} (default: {_USUAL_PROMPTS})",
    )
    parser.add_argument(
        "--tokens", metavar="N", type=_tokens, default=48, help="tokens of each answer (default: 48)"
    )
    parser.add_argument(
        "--depths",
        metavar="N",
        type=int,
        choices=range(1, MAX_DEPTH + 1),
        nargs="+",
        default=[],
        help=f"draft depths to compare, up to {MAX_DEPTH} (default: 1 and 3 for the model's own head, 3 for others)",
    )
    parser.add_argument(
        "--drafters",
        metavar="NAME",
        choices=("stock", *get_args(DrafterKind)),
        nargs="+",
        default=["stock"],
        help=f"who drafts: stock (the model's default, which is the default here), {', '.join(get_args(DrafterKind))}",
    )
    parser.add_argument(
        "--temps", metavar="T", type=float, nargs="+", default=[0.0, 0.7], help="temperatures"
    )
    parser.add_argument("--stock-only", action="store_true", help="only the BLAS that the mlx wheel carries")


def run(args: argparse.Namespace, model: str) -> int:
    """Run the bench on a model, by name or folder, and print it; returns the exit code."""
    backend.prepare(openblas=not args.stock_only)
    from mtplx_engine.bench.matrix import BenchmarkPlan, measure, measure_stock
    from mtplx_engine.bench.report import render_table

    plan = BenchmarkPlan(
        model=model,
        draft_model=args.draft_model,
        data_dir=paths.data_dir(args.data_dir),
        prompts=args.prompts,
        tokens=args.tokens,
        temperatures=tuple(args.temps),
        depths=tuple(args.depths),
        drafters=tuple(args.drafters),
        anyway=args.anyway,
    )
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        report = measure(plan, line)
        if report["blas"] == "openblas":
            line(1.0, "now with the BLAS of the mlx wheel, in a process of its own")
            report["stock"] = measure_stock(plan)
    console = Console(sys.stdout)
    if args.json:
        console.json(report)
    else:
        console.text(render_table(report))
    return 0


def _prompts(text: str) -> int:
    if (number := positive(text)) <= len(PROMPTS):
        return number
    raise argparse.ArgumentTypeError(f"there are {len(PROMPTS)} prompts, not {number}")


def _tokens(text: str) -> int:
    if (number := positive(text)) >= LEAST_TOKENS:
        return number
    raise argparse.ArgumentTypeError(
        f"{number} tokens are too few to measure a speed; take {LEAST_TOKENS} or more"
    )
