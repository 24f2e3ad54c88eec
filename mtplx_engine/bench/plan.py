"""A bench run as data: what is compared, in this process and in one with the BLAS of the mlx wheel."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine import backend
from mtplx_engine.bench.compare import alternate, summarise
from mtplx_engine.bench.methods import MlxLm, Ours
from mtplx_engine.bench.prompts import KINDS, PROMPTS
from mtplx_engine.config import ChatMessage
from mtplx_engine.engine import Engine
from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.bench.run import Method, Run
    from mtplx_engine.config import DraftCore

_STOCK_PROMPTS = 4  # the wheel's own BLAS is slow; a few prompts show what it is like
_STOCK_DEPTHS = ("0", "1", "3")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run: the model, how many prompts and tokens, which temperatures, depths and drafters."""

    model: str
    data_dir: Path
    prompts: int
    tokens: int
    temperatures: tuple[float, ...]
    depths: tuple[int, ...]
    drafters: tuple[DraftCore, ...]


def measure(plan: Plan, report: Callable[[Run], None]) -> dict[str, Any]:
    """Run the plan in this process, on the BLAS that `backend.prepare` chose.

    Args:
        plan: What to run.
        report: Told of each run as it ends.

    Returns:
        The report as plain data, ready for JSON.
    """
    engine = Engine()
    info = engine.load(plan.model, plan.data_dir, lambda _fraction, _phase: None, threading.Event())
    chosen = PROMPTS[: plan.prompts]
    prompts = [engine.encode((ChatMessage("user", prompt.text),)) for prompt in chosen]
    methods = _methods(engine, plan)
    tables = {}
    for temperature in plan.temperatures:
        runs = alternate(methods, prompts, temperature, plan.tokens, report)
        tables[f"{temperature:g}"] = {
            "summary": [dataclasses.asdict(s) for s in summarise(runs, greedy=temperature == 0)],
            "kinds": {
                kind: [dataclasses.asdict(s) for s in summarise(group, greedy=temperature == 0)]
                for kind in KINDS
                if (group := [run for run in runs if chosen[run.prompt].kind == kind])
            },
            "runs": [dataclasses.asdict(r) for r in runs],
        }
    return {
        "model": info.name,
        "backend": info.backend,
        "blas": backend.policy().blas,
        "machine": backend.machine(),
        "prompts": plan.prompts,
        "tokens": plan.tokens,
        "tables": tables,
    }


def _methods(engine: Engine, plan: Plan) -> list[Method]:
    """Return mlx-lm and ours; depth 0 is the same with any drafter."""
    ours: list[Method] = [Ours(engine, 0, "off")] if 0 in plan.depths else []
    deep = [depth for depth in plan.depths if depth]
    ours += [Ours(engine, depth, drafter) for drafter in plan.drafters for depth in deep]
    return [MlxLm(engine), *ours]


def measure_stock(plan: Plan) -> dict[str, Any]:
    """Run a short bench in a process that keeps the BLAS of the mlx wheel, which is what plain pip users have.

    Raises:
        EngineError: INTERNAL, when that process fails.
    """
    command = [sys.executable, "-m", "mtplx_engine.cli.main", "bench", "--json", "--stock-only"]
    command += ["--model", plan.model, "--data-dir", str(plan.data_dir), "--tokens", str(plan.tokens)]
    command += [
        "--prompts",
        str(min(plan.prompts, _STOCK_PROMPTS)),
        "--temps",
        "0",
        "--depths",
        *_STOCK_DEPTHS,
        "--drafters",
        *plan.drafters,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(ErrorKind.INTERNAL, "The bench with the wheel's BLAS failed.", done.stderr[-2000:])
    report: dict[str, Any] = json.loads(done.stdout)
    return report
