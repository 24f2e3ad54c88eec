"""A bench run as data: what is compared, in this process and in one with the BLAS of the mlx wheel."""

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


# The head, which is the product, shallow and deep; the others at one depth, so that a bench of all ends in minutes.
_DEPTHS: dict[DrafterKind, tuple[int, ...]] = {
    "mtp": (1, 3),
    "draft_model": (3,),
    "prompt_lookup": (3,),
    "mtp+prompt_lookup": (3,),
}
_STOCK_PROMPTS = 3  # the wheel's own BLAS is slow; a few prompts show what it is like
_STOCK_DEPTH = "3"


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """What is run.

    Attributes:
        model: Folder or name.
        draft_model: Of a model that drafts for it, which may be the same one; "" for none.
        data_dir: Where installed models are.
        prompts: How many prompts.
        tokens: Of each answer.
        temperatures: One table each.
        depths: Of every drafter; () for those that suit each.
        drafters: Who drafts; "stock" is the model's default.
        anyway: Load the model even when it will not fit into memory.
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
    """Run the plan in this process, on the BLAS that `backend.prepare` chose.

    Args:
        plan: What to run.
        report: Told how far it is.

    Returns:
        The report as plain data, ready for JSON.

    Raises:
        EngineError: BAD_REQUEST, when a draft model shall draft but none is named.
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
    questions = [
        benchmark.BenchmarkPrompt(prompt.id, prompt.kind, engine.encode((ChatMessage("user", prompt.text),)))
        for prompt in PROMPTS[: plan.prompts]
    ]
    base, others = MlxLm(engine), _ours(engine, info, plan)
    tables = {}
    for number, temperature in enumerate(plan.temperatures):
        held = benchmark.PairedBenchmark(base, others, questions, temperature, plan.tokens)
        for step in held.hold(threading.Event(), pause_s=benchmark.PAUSE_S):
            if isinstance(step, benchmark.BenchmarkRuns):
                tables[f"{temperature:g}"] = summarise(step, [base, *others])
            else:
                left = "" if step.left_s is None else f", {formatting.duration(step.left_s)} left"
                fraction = (number + step.fraction) / len(plan.temperatures)
                report(fraction, f"temperature {temperature:g}: {step.what}{left}")
    return {
        "model": info.name,
        "draft_model": _who_drafts(plan),
        "backend": info.backend,
        "blas": backend.policy().blas,
        "machine": backend.machine(),
        "cores": os.cpu_count(),
        "load": load,
        "prompts": plan.prompts,
        "tokens": plan.tokens,
        "tables": tables,
    }


def summarise(outcome: benchmark.BenchmarkRuns, methods: Sequence[Method]) -> dict[str, Any]:
    """Reduce the answers at one temperature, of all prompts and of each kind, against those of the first method."""
    kinds = {entry.run.kind for entry in outcome.entries}
    of_kinds = {kind: _of_kind(outcome, kind) for kind in PromptKind if kind in kinds}
    return {
        "summary": [_summary(outcome, methods[0], method) for method in methods],
        "kinds": {
            kind.value: [_summary(part, methods[0], method) for method in methods]
            for kind, part in of_kinds.items()
        },
        "runs": [
            {"method": entry.method, "tokens": entry.tokens, **dataclasses.asdict(entry.run)}
            for entry in outcome.entries
        ],
    }


def _of_kind(outcome: benchmark.BenchmarkRuns, kind: PromptKind) -> benchmark.BenchmarkRuns:
    return benchmark.BenchmarkRuns(tuple(entry for entry in outcome.entries if entry.run.kind == kind))


def _summary(outcome: benchmark.BenchmarkRuns, base: Method, method: Method) -> dict[str, Any]:
    """Return what one method did, as plain data; its ratios are those of the base's time to its own."""
    found = results.compared(method.depth, outcome.pairs(base, method))
    return {
        "method": method.name,
        "decode_tps": found.decode_tps,
        "wall": None if found.wall is None else dataclasses.asdict(found.wall),
        "decode": None if found.decode is None else dataclasses.asdict(found.decode),
        "verify_steps": found.verify_steps,
        "tokens_per_verify": found.mean_length,
        "accepted_at": found.acceptance,
        "identical": found.identical,
    }


def _ours(engine: Engine, info: ModelInfo, plan: BenchmarkPlan) -> list[Method]:
    """Return plain decoding and every drafter at every depth; a model without a drafter has no stock one."""
    named = [info.drafter if core == "stock" else core for core in plan.drafters]
    kinds = [kind for kind in _DEPTHS if kind in named]
    drafting = [Ours(engine, kind, depth) for kind in kinds for depth in plan.depths or _DEPTHS[kind]]
    return [Ours(engine), *sorted(drafting, key=lambda method: method.name)]


def _who_drafts(plan: BenchmarkPlan) -> str:
    """Return the draft model in words, "" without one."""
    if not plan.draft_model:
        return ""
    draft, target = (
        library.resolve_model(name, plan.data_dir).resolve() for name in (plan.draft_model, plan.model)
    )
    if draft == target:
        return "the model itself, which shows that the machinery works and cannot be faster"
    return draft.name


def measure_stock(plan: BenchmarkPlan) -> dict[str, Any]:
    """Run a short bench in a process that keeps the BLAS of the mlx wheel, which is what plain pip users have.

    Raises:
        EngineError: INTERNAL, when that process fails.
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
