"""A whole bench on a tiny model: every kind of prompt, every drafter, tokens per verify for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest

from mtplx_engine.bench.plan import Plan, measure
from mtplx_engine.bench.table import render
from mtplx_engine.config import DrafterKind
from mtplx_engine.errors import EngineError
from tests.support import tiny_folder

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.config import DraftCore


def plan(folder: Path, drafters: tuple[DraftCore, ...], draft_model: str = "", **more: Any) -> Plan:
    fields: dict[str, Any] = {
        "prompts": 3,
        "tokens": 16,
        "temperatures": (0.0,),
        "depths": (2,),
        "anyway": False,
        **more,
    }
    return Plan(model=str(folder), draft_model=draft_model, data_dir=folder, drafters=drafters, **fields)


def test_figures_are_given_for_every_drafter_and_kind(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path)
    report = measure(plan(tmp_path, get_args(DrafterKind), str(tmp_path)), lambda _run: None)
    table = report["tables"]["0"]
    names = ["mlx-lm", "depth 0", *(f"{kind} depth 2" for kind in sorted(get_args(DrafterKind)))]
    assert list(table["kinds"]) == ["chat", "code", "copy-edit"]
    for summaries in (table["summary"], *table["kinds"].values()):
        assert [summary["method"] for summary in summaries] == names
        assert summaries[0]["wall"]["median"] == 1
        by_name = {summary["method"]: summary for summary in summaries}
        assert by_name["draft_model depth 2"]["accepted_at"] == (1, 1)  # it drafts what it would say itself
        assert by_name["mtp depth 2"]["tokens_per_verify"] >= 1
    text = render(report)
    assert "draft model: the model itself" in text
    for kind in table["kinds"]:
        assert f"{kind} prompts" in text


def test_a_small_model_that_drafts_is_named(tmp_path: Path) -> None:
    for name, seed in (("large", 0), ("small", 1)):
        (tmp_path / name).mkdir()
        tiny_folder.write(tmp_path / name, seed=seed)
    wanted = plan(tmp_path / "large", ("draft_model",), str(tmp_path / "small"), prompts=1)
    report = measure(wanted, lambda _run: None)
    assert report["draft_model"] == "small"
    assert report["tables"]["0"]["summary"][2]["accepted_at"][0] < 1


def test_a_drafter_has_depths_that_suit_it(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path)
    wanted = plan(tmp_path, ("stock", "prompt_lookup"), prompts=1, depths=())
    report = measure(wanted, lambda _run: None)
    names = [summary["method"] for summary in report["tables"]["0"]["summary"]]
    assert names == ["mlx-lm", "depth 0", "mtp depth 1", "mtp depth 3", "prompt_lookup depth 3"]


def test_a_model_without_a_drafter_has_no_stock_one(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path, head=False)
    report = measure(plan(tmp_path, ("stock",), prompts=1), lambda _run: None)
    assert [summary["method"] for summary in report["tables"]["0"]["summary"]] == ["mlx-lm", "depth 0"]


def test_a_draft_model_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="add --draft-model"):
        measure(plan(tmp_path, ("mtp", "draft_model")), lambda _run: None)
