"""A whole bench on a tiny model: every kind of prompt, every drafter, tokens per verify for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.bench.plan import Plan, measure
from mtplx_engine.bench.prompts import KINDS, PROMPTS
from mtplx_engine.bench.table import render
from tests.support import tiny_folder

if TYPE_CHECKING:
    from pathlib import Path


def test_any_few_prompts_are_of_all_kinds() -> None:
    assert {prompt.kind for prompt in PROMPTS[: len(KINDS)]} == set(KINDS)
    assert {sum(prompt.kind == kind for prompt in PROMPTS) for kind in KINDS} == {len(PROMPTS) // len(KINDS)}


def test_figures_are_given_by_kind_and_drafter(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path)
    plan = Plan(str(tmp_path), tmp_path / "data", 3, 16, (0.0,), (0, 2), ("prompt_lookup",))
    report = measure(plan, lambda _run: None)
    table = report["tables"]["0"]
    names = ["mlx-lm", "depth 0", "depth 2 prompt_lookup"]
    assert [summary["method"] for summary in table["summary"]] == names
    assert list(table["kinds"]) == list(KINDS)
    for summaries in (table["summary"], *table["kinds"].values()):
        assert [summary["method"] for summary in summaries] == names
        assert summaries[0]["wall"]["median"] == 1
    for kind in KINDS:
        assert f"{kind} prompts" in render(report)
