"""What was measured decides how deep answers are drafted, until it is measured again or forgotten."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import results
from mtplx_engine.config import AUTO_MAX_DEPTH
from mtplx_engine.depth_figures import MOST_OFFERED, Figures, expected_tokens
from mtplx_engine.depth_memory import DepthMemory
from mtplx_engine.depths import Depths, measured_figures
from mtplx_engine.engine import Engine
from mtplx_engine.measurements import Measurements
from mtplx_engine.protocol import DepthChosen, DepthReason
from tests.support import engine_runs, tiny_folder
from tests.support.measurements import KEY, SUBJECT, measurement

if TYPE_CHECKING:
    from pathlib import Path

SLOWER, FASTER, UNCLEAR = (0.6, 0.61, 0.62), (2.0, 2.1, 2.2), (0.9, 1.0, 1.1)


def keep(data: Path, *ratios: float, key: str = KEY, taken_ms: int = 1, **fields) -> None:
    subject = dataclasses.replace(SUBJECT, key=key, drafter=fields.pop("drafter", "mtp"))
    found = measurement(*ratios, subject=subject, **fields)
    Measurements(data).keep(dataclasses.replace(found, taken_ms=taken_ms))


def depths(data: Path) -> Depths:
    found = Depths(data, KEY)
    found.refresh()
    return found


def test_what_wins_is_where_auto_begins_with_what_was_measured(tmp_path: Path) -> None:
    keep(tmp_path, *FASTER)
    controller = depths(tmp_path).of("mtp")
    assert (controller.best, controller.choose(), controller.max_depth) == (3, 3, AUTO_MAX_DEPTH)
    measured = results.of(measurement(*FASTER))
    predicted = measured.at(3).predicted
    assert controller.speedup(3) == pytest.approx(predicted, rel=0.05)
    assert not depths(tmp_path).turned_off("mtp")


def test_a_winner_deeper_than_auto_looks_is_begun_with_all_the_same(tmp_path: Path) -> None:
    keep(tmp_path, *FASTER, depth=6, accepted_at=(9, 7, 6, 5, 5, 5))
    controller = depths(tmp_path).of("mtp")
    assert (controller.best, controller.max_depth) == (6, 6)


def test_slower_at_every_depth_turns_drafting_off_for_that_drafter_only(tmp_path: Path) -> None:
    keep(tmp_path, *SLOWER)
    found = depths(tmp_path)
    assert found.turned_off("mtp")
    assert not found.turned_off("draft_model")
    assert not found.turned_off(None)


@pytest.mark.parametrize("fields", [{"key": "other files"}, {"drafter": "draft_model"}])
def test_a_measurement_of_something_else_decides_nothing(tmp_path: Path, fields: dict[str, str]) -> None:
    keep(tmp_path, *SLOWER, **fields)
    assert not depths(tmp_path).turned_off("mtp")


def test_what_is_unclear_leaves_it_to_what_answers_have_shown(tmp_path: Path) -> None:
    seen = Figures(2, (0.01, None, 0.012), (5.0, 4.0), (6.0, 5.0))
    DepthMemory(tmp_path, KEY).remember("mtp", seen)
    keep(tmp_path, *UNCLEAR)
    found = depths(tmp_path)
    assert not found.turned_off("mtp")
    assert found.of("mtp").best == 2


def test_a_newer_measurement_and_a_drop_hold_from_the_next_look_on(tmp_path: Path) -> None:
    found = depths(tmp_path)
    first = found.of("mtp")
    found.refresh()
    assert found.of("mtp") is first
    keep(tmp_path, *SLOWER)
    assert not found.turned_off("mtp")
    found.refresh()
    assert found.turned_off("mtp")
    keep(tmp_path, *FASTER, taken_ms=2)
    found.refresh()
    assert not found.turned_off("mtp")
    tuned = found.of("mtp")
    assert tuned.best == 3
    Measurements(tmp_path).drop("other files")
    found.refresh()
    assert found.of("mtp") is tuned
    Measurements(tmp_path).drop(KEY)
    found.refresh()
    assert found.of("mtp").best == 0


def test_a_measurement_decides_for_answers_of_its_own_bucket(tmp_path: Path) -> None:
    keep(tmp_path, *FASTER, depth=2, accepted_at=(16, 12), context=1024)
    keep(tmp_path, *SLOWER, context=8192)
    found = depths(tmp_path)
    assert [found.turned_off("mtp", tokens) for tokens in (1, 1024, 1025, 8192, 8193)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert found.of("mtp", 500).best == 2
    assert found.of("mtp", 8000).best == 0
    assert found.of("mtp", 99_999) is found.of("mtp", 9000) is found.of("mtp", 500)  # it begins with what won


def test_what_was_lifted_is_drafted_again_and_is_no_start(tmp_path: Path) -> None:
    keep(tmp_path, *SLOWER)
    found = depths(tmp_path)
    [measured] = Measurements(tmp_path).all()
    Measurements(tmp_path).lift(measured)
    found.refresh()
    assert not found.turned_off("mtp")
    assert (found.of("mtp").best, found.of("mtp").max_depth) == (0, AUTO_MAX_DEPTH)


def test_measured_counts_become_conditional_acceptances_of_bounded_weight() -> None:
    many = results.of(measurement(*FASTER * 30, accepted_at=(16, 12, 9)))
    figures = measured_figures(many, 3)
    assert figures.best == 3
    assert figures.costs == (many.plain.step_s, None, None, many.at(3).cycle_s)
    chances = [kept / tried for kept, tried in zip(figures.accepted, figures.offered, strict=True)]
    assert chances == pytest.approx([16 / 23, 12 / 16, 9 / 12])
    assert expected_tokens(chances) == pytest.approx(many.at(3).mean_length)
    assert max(figures.offered) <= MOST_OFFERED
    few = measured_figures(results.of(measurement(2.0, accepted_at=(16, 0, 0))), 3)
    assert few.offered == (44, 16, 0)
    assert few.accepted == (16, 0, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("tuned")
    tiny_folder.write(folder)
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    engine = Engine()
    engine_runs.load(engine, folder)
    return engine


def answer(engine: Engine, **fields) -> tuple[DepthChosen, list[int], object]:
    """What is said of the depth first, the drafts of each cycle, and the figures."""
    fields = {"speculative_depth": "auto", "temperature": 0.0, "seed": None, **fields}
    events = engine_runs.run(engine, **fields)
    chosen = next(event for event in events if isinstance(event, DepthChosen))
    drafted = [event.drafted for event in events if hasattr(event, "drafted")]
    return chosen, drafted, events[-1].stats


def test_an_answer_obeys_what_was_measured_until_it_is_dropped(engine: Engine, folder: Path) -> None:
    key = engine.info.speed_key
    keep(folder, *SLOWER, key=key)
    chosen, drafted, stats = answer(engine, max_tokens=40)
    assert (chosen.depth, chosen.reason) == (0, DepthReason.TURNED_OFF)
    assert set(drafted) == {0}  # not even a look
    assert stats.drafter == ""
    keep(folder, *FASTER, key=key, taken_ms=2)
    chosen, drafted, stats = answer(engine)
    assert (chosen.depth, chosen.reason) == (3, DepthReason.FASTEST)
    assert drafted[0] == 3
    assert stats.drafter == "mtp"
    Measurements(folder).drop(key)
    keep(folder, *SLOWER, key=key, context=8192)
    chosen, _drafted, _stats = answer(engine, max_tokens=40)
    assert chosen.reason is not DepthReason.TURNED_OFF
    Measurements(folder).drop(key)
    chosen, _drafted, _stats = answer(engine)
    assert chosen.reason is not DepthReason.TURNED_OFF


def test_who_chooses_a_depth_or_a_seed_gets_it_whatever_was_measured(engine: Engine, folder: Path) -> None:
    keep(folder, *SLOWER, key=engine.info.speed_key, taken_ms=9)
    chosen, drafted, _stats = answer(engine, speculative_depth=2)
    assert (chosen.reason, drafted[0]) == (DepthReason.CHOSEN, 2)
    chosen, drafted, _stats = answer(engine, temperature=0.8, seed=3)
    assert (chosen.reason, drafted[0]) == (DepthReason.REPEATABLE, 1)


def test_drafting_that_is_turned_off_changes_no_token(engine: Engine, folder: Path) -> None:
    keep(folder, *SLOWER, key=engine.info.speed_key, taken_ms=10)
    off = engine_runs.tokens_of(engine_runs.run(engine, speculative_depth="auto", temperature=0.0))
    on = engine_runs.tokens_of(engine_runs.run(engine, speculative_depth=2, temperature=0.0))
    assert off == on
