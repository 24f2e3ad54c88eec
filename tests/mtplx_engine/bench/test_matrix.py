"""A whole bench on a tiny model: every kind of prompt, every drafter, tokens per verify for each."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, get_args

import pytest

from mtplx_engine.bench.benchmark import BenchmarkRuns, Entry
from mtplx_engine.bench.matrix import BenchmarkPlan, measure, summarise
from mtplx_engine.bench.report import render_table
from mtplx_engine.config import DrafterKind
from mtplx_engine.errors import EngineError
from mtplx_engine.measure.measurement import MeasuredRun, PromptKind
from mtplx_engine.stats import DecodeStats
from tests.support import tiny_folder
from tests.support.scripted_method import Clock, ScriptedMethod

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.config import DraftCore


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtplx_engine.bench.benchmark.PAUSE_S", 0.0)


def plan(folder: Path, drafters: tuple[DraftCore, ...], draft_model: str = "", **more: Any) -> BenchmarkPlan:
    fields: dict[str, Any] = {
        "prompts": 3,
        "tokens": 16,
        "temperatures": (0.0,),
        "depths": (2,),
        "anyway": False,
        **more,
    }
    return BenchmarkPlan(model=str(folder), draft_model=draft_model, data_dir=folder, drafters=drafters, **fields)


def test_figures_are_given_for_every_drafter_and_kind(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path)
    report = measure(plan(tmp_path, get_args(DrafterKind), str(tmp_path)), lambda _fraction, _what: None)
    table = report["tables"]["0"]
    names = ["mlx-lm", "depth 0", *(f"{kind} depth 2" for kind in sorted(get_args(DrafterKind)))]
    assert list(table["kinds"]) == ["chat", "code", "copy-edit"]
    for summaries in (table["summary"], *table["kinds"].values()):
        assert [summary["method"] for summary in summaries] == names
        assert summaries[0]["wall"]["median"] == 1
        by_name = {summary["method"]: summary for summary in summaries}
        assert by_name["draft_model depth 2"]["accepted_at"] == (1, 1)  # it drafts what it would say itself
        assert by_name["mtp depth 2"]["tokens_per_verify"] >= 1
    text = render_table(report)
    assert "draft model: the model itself" in text
    for kind in table["kinds"]:
        assert f"{kind} prompts" in text


def test_the_runs_are_told_with_who_gave_them_and_their_tokens(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path)
    told: list[tuple[float, str]] = []
    wanted = plan(tmp_path, ("mtp",), prompts=1, temperatures=(0.0, 0.7))
    report = measure(wanted, lambda fraction, what: told.append((fraction, what)))
    for table in report["tables"].values():
        assert [run["method"] for run in table["runs"]] == ["mlx-lm", "depth 0", "mtp depth 2"]
        assert {len(run["tokens"]) for run in table["runs"]} == {16}
    assert [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)
    assert "temperature 0: warming up" in told[0][1]
    assert "temperature 0.7: " in told[-1][1]


def entry(
    method: ScriptedMethod, pair: int, seconds: float, stats: DecodeStats, *, identical: bool | None = None
) -> Entry:
    stats = dataclasses.replace(stats, emitted=10, decode_s=seconds / 2, decode_tokens=10)
    run = MeasuredRun(pair, "chat-1", PromptKind.CHAT, method.depth, seconds, stats, 0, identical)
    return Entry(method.name, (1,), run)


def test_a_summary_is_the_median_of_ratios_prompt_by_prompt() -> None:
    stats = DecodeStats(verify_steps=10, drafted=20, accepted=7, accepted_at=(5, 2))
    base = ScriptedMethod("mlx-lm", Clock(), cycle_s=1)
    ours = ScriptedMethod("mtp depth 2", Clock(), cycle_s=1, depth=2)
    entries = [entry(base, pair, seconds, DecodeStats()) for pair, seconds in enumerate((2.0, 3.0, 4.0))]
    entries += [entry(ours, pair, seconds, stats, identical=pair > 0) for pair, seconds in enumerate((1.0, 1.0, 8.0))]
    first, second = summarise(BenchmarkRuns(tuple(entries)), [base, ours])["summary"]
    assert (first["method"], second["method"]) == ("mlx-lm", "mtp depth 2")
    assert first["wall"] == {"median": 1.0, "low": 1.0, "high": 1.0, "pairs": 3}
    assert first["tokens_per_verify"] is first["identical"] is None
    assert second["wall"] == second["decode"] == {"median": 2.0, "low": 0.5, "high": 3.0, "pairs": 3}
    assert second["decode_tps"] == pytest.approx(20.0)
    assert second["verify_steps"] == 30
    assert second["tokens_per_verify"] == pytest.approx(1.7)
    assert second["accepted_at"] == pytest.approx((0.5, 0.2))
    assert second["identical"] == (2, 3)


def test_a_small_model_that_drafts_is_named(tmp_path: Path) -> None:
    for name, seed in (("large", 0), ("small", 1)):
        (tmp_path / name).mkdir()
        tiny_folder.write(tmp_path / name, seed=seed)
    wanted = plan(tmp_path / "large", ("draft_model",), str(tmp_path / "small"), prompts=1)
    report = measure(wanted, lambda _fraction, _what: None)
    assert report["draft_model"] == "small"
    assert report["tables"]["0"]["summary"][2]["accepted_at"][0] < 1


def test_a_drafter_has_depths_that_suit_it(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path)
    wanted = plan(tmp_path, ("stock", "prompt_lookup"), prompts=1, depths=())
    report = measure(wanted, lambda _fraction, _what: None)
    names = [summary["method"] for summary in report["tables"]["0"]["summary"]]
    assert names == ["mlx-lm", "depth 0", "mtp depth 1", "mtp depth 3", "prompt_lookup depth 3"]


def test_a_model_without_a_drafter_has_no_stock_one(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path, head=False)
    report = measure(plan(tmp_path, ("stock",), prompts=1), lambda _fraction, _what: None)
    assert [summary["method"] for summary in report["tables"]["0"]["summary"]] == ["mlx-lm", "depth 0"]


def test_a_draft_model_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="add --draft-model"):
        measure(plan(tmp_path, ("mtp", "draft_model")), lambda _fraction, _what: None)
