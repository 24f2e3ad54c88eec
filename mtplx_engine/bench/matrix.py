"""`mtplx bench`: benchmarks of all drafters and depths, in this process and in one with the BLAS of the mlx wheel."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine import backend
from mtplx_engine.bench import benchmark
from mtplx_engine.bench.methods import MlxLm, Ours
from mtplx_engine.bench.prompts import PROMPTS
from mtplx_engine.config import ChatMessage
from mtplx_engine.engine import Engine
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import PromptKind
from mtplx_engine.models import library
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mtplx_engine.bench.methods import Method
    from mtplx_engine.config import DraftCore, DrafterKind
    from mtplx_engine.ipc.protocol import ModelInfo
    from mtplx_engine.util.formatting import Report


# The MTP head, which matters most, shallow and deep; the others at one depth, so that a bench of all ends in minutes.
_DEPTHS: dict[DrafterKind, tuple[int, ...]] = {
    "mtp": (1, 3),
    "draft_model": (3,),
    "prompt_lookup": (3,),
    "mtp+prompt_lookup": (3,),
}
_STOCK_PROMPTS = 3  # the wheel's own BLAS is slow; a few prompts suffice
_STOCK_DEPTH = "3"


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """Arguments of `mtplx bench`.

    Attributes:
        draft_model: Folder or name of a draft model, which may be the same one; "" for none.
        temperatures: One table each.
        depths: Of every drafter; () for the defaults of each.
        drafters: The drafters; "stock" is the model's default.
    """

    model: str
    draft_model: str
    data_dir: Path
    prompts: int
    tokens: int
    temperatures: tuple[float, ...]
    depths: tuple[int, ...]
    drafters: tuple[DraftCore, ...]
    anyway: bool


def measure(plan: BenchmarkPlan, report: Report) -> dict[str, Any]:
    """Run the plan in this process, on the BLAS that `backend.prepare` chose; return the report, ready for JSON.

    Raises:
        EngineError: BAD_REQUEST, for the drafter "draft_model" without a draft model.
    """
    if "draft_model" in plan.drafters and not plan.draft_model:
        raise EngineError(
            ErrorKind.BAD_REQUEST,
            "No draft model is named; add --draft-model. The model itself will do to see that it works.",
        )
    load = os.getloadavg()[0]
    engine = Engine()
    info = engine.load(
        plan.model,
        plan.data_dir,
        lambda _fraction, _phase: None,
        threading.Event(),
        plan.draft_model,
        anyway=plan.anyway,
    )
    prompts = [
        benchmark.BenchmarkPrompt(prompt.id, prompt.kind, engine.encode((ChatMessage("user", prompt.text),)))
        for prompt in PROMPTS[: plan.prompts]
    ]
    base, others = MlxLm(engine), _ours(engine, info, plan)
    tables = {}
    for number, temperature in enumerate(plan.temperatures):
        paired = benchmark.PairedBenchmark(base, others, prompts, temperature, plan.tokens)
        for step in paired.run(threading.Event(), pause_s=benchmark.PAUSE_S):
            if isinstance(step, benchmark.BenchmarkRuns):
                tables[f"{temperature:g}"] = summarise(step, [base, *others])
            else:
                left = "" if step.left_s is None else f", {formatting.duration(step.left_s)} left"
                fraction = (number + step.fraction) / len(plan.temperatures)
                report(fraction, f"temperature {temperature:g}: {step.what}{left}")
    return {
        "model": info.name,
        "draft_model": _draft_model(plan),
        "backend": info.backend,
        "blas": backend.policy().blas,
        "machine": backend.machine(),
        "cores": os.cpu_count(),
        "load": load,
        "prompts": plan.prompts,
        "tokens": plan.tokens,
        "tables": tables,
    }


def summarise(runs: benchmark.BenchmarkRuns, methods: Sequence[Method]) -> dict[str, Any]:
    """Reduce the answers at one temperature, of all prompts and of each kind, against those of the first method."""
    of_kinds = {
        kind.value: benchmark.BenchmarkRuns(tuple(entry for entry in runs.entries if entry.run.kind == kind))
        for kind in PromptKind
    }
    return {
        "summary": [_summary(runs, methods[0], method) for method in methods],
        "kinds": {
            kind: [_summary(part, methods[0], method) for method in methods]
            for kind, part in of_kinds.items()
            if part.entries
        },
        "runs": [
            {"method": entry.method, "tokens": entry.tokens, **dataclasses.asdict(entry.run)} for entry in runs.entries
        ],
    }


def _summary(runs: benchmark.BenchmarkRuns, base: Method, method: Method) -> dict[str, Any]:
    """Return the results of one method as plain data; its ratios are the base's time over its own."""
    found = results.compared(method.depth, runs.pairs(base, method))
    return {
        "method": method.name,
        "decode_tps": found.decode_tps,
        "wall": None if found.wall is None else dataclasses.asdict(found.wall),
        "decode": None if found.decode is None else dataclasses.asdict(found.decode),
        "verify_steps": found.verify_steps,
        "tokens_per_verify": found.mean_acceptance_length,
        "accepted_at": found.acceptance,
        "identical": found.identical,
    }


def _ours(engine: Engine, info: ModelInfo, plan: BenchmarkPlan) -> list[Method]:
    """Return plain decoding, and every drafter at every depth; "stock" is nothing for a model without a drafter."""
    named = [info.drafter if core == "stock" else core for core in plan.drafters]
    kinds = [kind for kind in _DEPTHS if kind in named]
    drafting = [Ours(engine, kind, depth) for kind in kinds for depth in plan.depths or _DEPTHS[kind]]
    return [Ours(engine), *sorted(drafting, key=lambda method: method.name)]


def _draft_model(plan: BenchmarkPlan) -> str:
    if not plan.draft_model:
        return ""
    draft, target = (library.resolve_model(name, plan.data_dir).resolve() for name in (plan.draft_model, plan.model))
    if draft == target:
        return "the model itself, which shows that the machinery works and cannot be faster"
    return draft.name


def measure_stock(plan: BenchmarkPlan) -> dict[str, Any]:
    """Run a short bench in a process that keeps the BLAS of the mlx wheel, which is what plain pip users have.

    Raises EngineError INTERNAL when that process fails.
    """
    command = [sys.executable, "-m", "mtplx_engine.cli.main", "bench", "--json", "--stock-only"]
    command += ["--model", plan.model, "--data-dir", str(plan.data_dir), "--tokens", str(plan.tokens)]
    command += ["--anyway"] if plan.anyway else []
    command += ["--prompts", str(min(plan.prompts, _STOCK_PROMPTS)), "--temps", "0", "--depths", _STOCK_DEPTH]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(ErrorKind.INTERNAL, "The bench with the wheel's BLAS failed.", done.stderr[-2000:])
    report: dict[str, Any] = json.loads(done.stdout)
    return report
