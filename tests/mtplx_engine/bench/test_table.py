"""What the bench prints of scripted runs: each drafter by kind of prompt, and no word more than they bear out."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mtplx_engine.bench.benchmark import BenchmarkRuns, Entry
from mtplx_engine.bench.matrix import summarise
from mtplx_engine.bench.report import render_table
from mtplx_engine.measure.measurement import MeasuredRun, PromptKind
from mtplx_engine.stats import DecodeStats
from tests.support.scripted_method import Clock, ScriptedMethod

STATS = DecodeStats(verify_steps=20, drafted=60, accepted=12, accepted_at=(8, 3, 1))


def summaries(seconds: tuple[float, ...], stats: DecodeStats = STATS) -> list[dict[str, Any]]:
    """Of mlx-lm, which takes a second for each prompt, and of a drafter."""
    base, ours = (
        ScriptedMethod("mlx-lm", Clock(), cycle_s=1),
        ScriptedMethod("mtp depth 3", Clock(), cycle_s=1, depth=3),
    )
    entries = [
        Entry(method.name, (1, 2), run(at, method.depth, s, counted))
        for method, times, counted in ((base, (1.0,) * len(seconds), DecodeStats()), (ours, seconds, stats))
        for at, s in enumerate(times)
    ]
    return summarise(BenchmarkRuns(tuple(entries)), [base, ours])["summary"]


def run(pair: int, depth: int, seconds: float, stats: DecodeStats) -> MeasuredRun:
    stats = dataclasses.replace(stats, emitted=48, decode_s=seconds, decode_tokens=47)
    return MeasuredRun(
        pair, "chat-1", PromptKind.CHAT, depth, seconds, stats, 0, identical=True if depth else None
    )


def report(whole: list[dict[str, Any]], **kinds: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "model": "M",
        "draft_model": "",
        "backend": "CPU",
        "machine": "Linux",
        "cores": 2,
        "load": 0.25,
        "prompts": 9,
        "tokens": 48,
        "tables": {"0": {"summary": whole, "kinds": kinds}},
    }


def row(text: str, heading: str = "temperature 0") -> str:
    """Return the drafter's row under a heading."""
    below = text[text.index(heading) :].splitlines()
    return next(line for line in below if line.startswith("mtp depth 3"))


def test_a_row_says_what_was_measured() -> None:
    line = row(render_table(report(summaries((0.8, 0.5, 0.4)))))
    assert " ".join(line.split()) == (
        "mtp depth 3 94.0 2.00x (1.25..2.50) 2.00x 1.600 of 4 60 0.400 0.150 0.050 3/3 faster"
    )


def test_each_kind_has_its_own_verdict_if_it_has_three_prompts() -> None:
    text = render_table(
        report(
            summaries((0.8,) * 9),
            chat=summaries((1.1, 1.2, 1.3)),
            code=summaries((0.9, 1.0, 1.1)),
            copy=summaries((0.2, 0.2)),
        )
    )
    verdicts = ["chat prompts", "code prompts", "copy prompts"]
    assert row(text).endswith("  faster")
    assert [
        row(text, heading).partition("2/2" if "copy" in heading else "3/3")[2].strip() for heading in verdicts
    ] == [
        "slower",
        "no clear difference",
        "too few pairs",
    ]


def test_figures_of_few_verify_steps_are_put_in_doubt() -> None:
    few = dataclasses.replace(STATS, verify_steps=16)
    assert "1.750 of 4" in row(render_table(report(summaries((1.0,) * 4, few))))
    assert "(1.750 of 4)" in row(render_table(report(summaries((1.0,) * 3, few))))


def test_a_drafter_that_found_nothing_to_draft_has_no_figures_instead_of_zeros() -> None:
    line = row(render_table(report(summaries((1.0, 1.0, 1.0), DecodeStats(plain_steps=48)))))
    assert " ".join(line.split()) == "mtp depth 3 47.0 1.00x (1.00..1.00) 1.00x 3/3 no clear difference"


def test_conditions_and_the_draft_model_are_told() -> None:
    both = {**report(summaries((0.5, 0.5, 0.5))), "draft_model": "the model itself"}
    text = render_table({**both, "stock": both})
    assert "load before: 0.2 on 2 cores" in text
    assert "draft model: the model itself" in text
    assert text.count("temperature 0, CPU") == 2
    assert "as the wheel comes: 2.00x (two processes)" in text


@pytest.mark.parametrize(
    ("own", "wheel", "said"),
    [
        ((0.5,) * 3, (1.0,) * 3, True),
        ((2.0,) * 3, (1.0,) * 3, True),
        ((0.5,), (1.0,) * 3, False),
        ((0.5,) * 3, (1.0,), False),
        ((0.5, 0.9, 1.1), (1.0,) * 3, False),
    ],
)
def test_two_processes_are_compared_where_prompts_bear_it_out(
    own: tuple[float, ...], wheel: tuple[float, ...], *, said: bool
) -> None:
    text = render_table({**report(summaries(own)), "stock": report(summaries(wheel))})
    assert ("our fastest against mlx-lm as the wheel comes" in text) is said
