"""What is told of the depth: at the beginning, when it changes, and never that a look was taken."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.config import AUTO_MAX_DEPTH, SamplerConfig
from mtplx_engine.depth import MOST_OFFERED, DepthController, DepthEstimates, expected_tokens
from mtplx_engine.depth_policy import (
    NAME,
    DepthChoice,
    DepthChooser,
    DepthMemory,
    DepthPolicy,
    measured_estimates,
)
from mtplx_engine.engine import Engine
from mtplx_engine.ipc.protocol import DepthChosen, DepthReason
from mtplx_engine.measure import results
from mtplx_engine.measure.store import MeasurementStore
from tests.support import engine_runs, tiny_folder
from tests.support.measurements import KEY, SUBJECT, measurement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mtplx_engine.config import DrafterKind


AUTO = SamplerConfig(speculative_depth="auto")
DEEPEST = 4


def _chooser(
    sampler: SamplerConfig = AUTO,
    drafter: DrafterKind | None = "mtp",
    controller: DepthController | None = None,
    *,
    turned_off: bool = False,
) -> DepthChooser:
    return DepthChooser(sampler, drafter, controller or DepthController(DEEPEST), turned_off=turned_off)


def _run(
    chooser: DepthChooser, cycles: int, seconds: Callable[[int], float], accepted: Callable[[int], int]
) -> Iterator[tuple[int, int, DepthChoice | None]]:
    """Run cycles at the depths that are chosen; gives number and depth of each, and what is told after it."""
    for number in range(cycles):
        depth = chooser.next()
        chooser.record(depth, accepted(depth), seconds(depth))
        yield number, depth, chooser.changed(DEEPEST)


@pytest.mark.parametrize(
    ("sampler", "drafter", "turned_off", "depth", "reason"),
    [
        (AUTO, "mtp", False, 0, DepthReason.MEASURING),
        (AUTO, "mtp", True, 0, DepthReason.TURNED_OFF),
        (AUTO, None, False, 0, DepthReason.NO_DRAFTER),
        (AUTO, None, True, 0, DepthReason.NO_DRAFTER),
        (SamplerConfig(speculative_depth=3), "mtp", True, 3, DepthReason.CHOSEN),
        (SamplerConfig(speculative_depth=8), "mtp", False, DEEPEST, DepthReason.CHOSEN),
        (SamplerConfig(speculative_depth=0), None, False, 0, DepthReason.CHOSEN),
        (SamplerConfig(draft_core="off", speculative_depth=3), None, False, 0, DepthReason.CHOSEN),
        (SamplerConfig(speculative_depth=3), None, False, 0, DepthReason.NO_DRAFTER),
        (SamplerConfig(temperature=1.0, seed=1), "mtp", True, 1, DepthReason.REPEATABLE),
        (SamplerConfig(temperature=0.0, seed=1), "mtp", False, 0, DepthReason.MEASURING),
        (SamplerConfig(temperature=0.0, seed=1), "mtp", True, 0, DepthReason.TURNED_OFF),
    ],
)
def test_the_depth_and_its_reason(
    sampler: SamplerConfig,
    drafter: DrafterKind | None,
    turned_off: bool,  # noqa: FBT001
    depth: int,
    reason: DepthReason,
) -> None:
    chooser = _chooser(sampler, drafter, turned_off=turned_off)
    assert min(chooser.next(), DEEPEST) == depth
    assert chooser.changed(DEEPEST) == DepthChoice(depth, reason, None)
    assert chooser.changed(DEEPEST) is None


def test_the_fastest_depth_is_reported_once_it_is_known() -> None:
    """Every draft is accepted, and a cycle at depth k takes 1 + k / 4 of a plain step: 2.5 times as fast at depth 4."""
    chooser = _chooser()
    reported = [chooser.changed(DEEPEST)]
    looks = set()
    for _, depth, change in _run(chooser, 3000, lambda depth: 1 + depth / 4, lambda depth: depth):
        reported += [change] if change else []
        if depth != reported[-1].depth:
            looks.add(depth)
    assert reported[0].reason is DepthReason.MEASURING
    assert (reported[-1].depth, reported[-1].reason) == (4, DepthReason.FASTEST)
    assert reported[-1].expected == pytest.approx(2.5, rel=0.05)
    assert all(one.differs(other) for one, other in itertools.pairwise(reported))
    assert looks >= {1, 2, 3}  # they ran, and were reported of by what they changed only
    assert len(reported) < 20


def test_drafts_that_are_never_accepted_park() -> None:
    chooser = _chooser()
    reported = [chooser.changed(DEEPEST)]
    depths = []
    for number, depth, change in _run(chooser, 2000, lambda depth: 1 + depth / 4, lambda depth: 0):
        reported += [change] if change else []
        depths.append(depth)
        if change:
            assert number + 1 >= 16
    assert set(depths) > {0}
    assert {choice.depth for choice in reported} == {0}
    assert [choice.reason for choice in reported[:2]] == [DepthReason.MEASURING, DepthReason.PARKED]
    assert reported[-1].reason is DepthReason.PARKED
    assert 0.7 < reported[-1].expected < 0.9  # a cycle at depth 1 costs 1.25 plain steps and gives a token
    assert len(reported) < 8


def test_a_choice_is_reported_once_a_round_at_most() -> None:
    """However wildly the estimates jump."""
    controller = DepthController(DEEPEST)
    for _ in range(20):
        controller.record(0, 0, 1.0)
    chooser = _chooser(SamplerConfig(speculative_depth=1), controller=controller)
    rounds: list[int] = []
    cycles = _run(chooser, 400, lambda _: 1.0 + controller.rounds % 7, lambda _: controller.rounds % 2)
    for _, _, change in cycles:
        if change:
            rounds.append(controller.rounds)
    assert len(set(rounds)) == len(rounds) > 5


def test_a_chosen_depth_is_expected_to_be_what_was_measured() -> None:
    controller = DepthController(DEEPEST)
    for number in range(40):
        depth = number // 20
        controller.record(depth, depth, 1.0 + 0.25 * depth)
    change = _chooser(SamplerConfig(speculative_depth=1), controller=controller).changed(DEEPEST)
    assert (change.depth, change.reason) == (1, DepthReason.CHOSEN)
    assert change.expected == pytest.approx(controller.rate(1) / controller.rate(0))
    beyond = _chooser(SamplerConfig(speculative_depth=8), controller=controller).changed(8)
    assert beyond == DepthChoice(8, DepthReason.CHOSEN, None)


def test_a_pause_that_makes_good_what_was_lost_is_no_parking() -> None:
    """The best depth drafts and pauses: what it was expected to win it did not, so the matter is open."""
    controller = DepthController(1, DepthEstimates(best=1, costs=(1.0, 1.0), accepted=(100.0,), offered=(100.0,)))
    chooser = _chooser(controller=controller)
    assert chooser.changed(1) == DepthChoice(1, DepthReason.FASTEST, pytest.approx(2.0, abs=0.02))
    controller.steady = 0
    controller.rounds += 1
    assert chooser.changed(1) == DepthChoice(0, DepthReason.MEASURING, pytest.approx(2.0, abs=0.02))


def test_the_steady_depth_pauses_while_the_account_is_overdrawn() -> None:
    """Looks that lose all the time end in plain rounds, whatever the best depth is."""
    controller = DepthController(DEEPEST)
    seen = set()
    for number in range(3000):
        depth = controller.choose()
        seen.add((controller.steady, controller.best, depth))
        controller.record(depth, depth if number % 400 < 200 else 0, 1 + 0.3 * depth)
    assert all(steady in (0, best) for steady, best, _ in seen)
    assert {depth for steady, best, depth in seen if best and not steady} <= {0}


HERE = "files and machine"


def _measured(data: Path) -> None:
    memory = DepthMemory(data, HERE)
    controller = DepthController(4)
    for _ in range(300):
        depth = controller.choose()
        controller.record(depth, depth, 1.0 + 0.1 * depth)
    assert controller.best == 4
    memory.remember("mtp", controller.estimates())


def test_a_new_start_begins_with_the_depth_that_was_best(tmp_path: Path) -> None:
    _measured(tmp_path / "data")
    known = DepthMemory(tmp_path / "data", HERE).recall("mtp")
    assert DepthController(4, known).choose() == 4


@pytest.mark.parametrize(("key", "drafter"), [("others", "mtp"), (HERE, "prompt_lookup"), (f"{HERE} mtp", "")])
def test_another_model_machine_or_drafter_is_measured_anew(tmp_path: Path, key: str, drafter: str) -> None:
    _measured(tmp_path)
    assert DepthMemory(tmp_path, key).recall(drafter) is None


@pytest.mark.parametrize(
    "damage",
    [
        {"best": -1},
        {"best": "4"},
        {"costs": None},
        {"costs": [0.0]},
        {"costs": [float("nan")]},
        {"offered": [1]},
        {"accepted": ["x", 1, 1, 1]},
    ],
)
def test_damaged_estimates_are_none(tmp_path: Path, damage: dict[str, Any]) -> None:
    _measured(tmp_path)
    path = tmp_path / NAME
    body = json.loads(path.read_text())
    for entry in body["results"].values():
        entry.update(damage)
    path.write_text(json.dumps(body))
    assert DepthMemory(tmp_path, HERE).recall("mtp") is None


def test_the_engine_keeps_what_an_answer_showed(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    tiny_folder.write(folder)
    engine = Engine()
    engine_runs.load(engine, folder)
    engine_runs.run(engine, max_tokens=40, temperature=0.0, draft_core="prompt_lookup")
    entries = json.loads((folder / NAME).read_text())["results"]
    assert len(entries) == 1
    (estimates,) = entries.values()
    assert estimates["costs"][0] > 0
    engine_runs.run(engine, draft_core="off")
    engine_runs.run(engine, speculative_depth=3)
    assert json.loads((folder / NAME).read_text())["results"] == entries


SLOWER, FASTER, UNCLEAR = (0.6, 0.61, 0.62), (2.0, 2.1, 2.2), (0.9, 1.0, 1.1)


def keep(data: Path, *ratios: float, key: str = KEY, taken_ms: int = 1, **fields) -> None:
    subject = dataclasses.replace(SUBJECT, key=key, drafter=fields.pop("drafter", "mtp"))
    found = measurement(*ratios, subject=subject, **fields)
    MeasurementStore(data).keep(dataclasses.replace(found, taken_ms=taken_ms))


def depths(data: Path) -> DepthPolicy:
    found = DepthPolicy(data, KEY)
    found.refresh()
    return found


def test_what_wins_is_where_auto_begins_with_what_was_measured(tmp_path: Path) -> None:
    keep(tmp_path, *FASTER)
    controller = depths(tmp_path).of("mtp")
    assert (controller.best, controller.choose(), controller.max_depth) == (3, 3, AUTO_MAX_DEPTH)
    measured = results.results_of(measurement(*FASTER))
    predicted = measured.at(3).predicted
    assert controller.speedup(3) == pytest.approx(predicted, rel=0.05)
    assert not depths(tmp_path).turned_off("mtp")


def test_a_winner_deeper_than_auto_explores_is_started_from(tmp_path: Path) -> None:
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


def test_an_unclear_measurement_leaves_the_stored_estimates(tmp_path: Path) -> None:
    seen = DepthEstimates(2, (0.01, None, 0.012), (5.0, 4.0), (6.0, 5.0))
    DepthMemory(tmp_path, KEY).remember("mtp", seen)
    keep(tmp_path, *UNCLEAR)
    found = depths(tmp_path)
    assert not found.turned_off("mtp")
    assert found.of("mtp").best == 2


def test_a_newer_measurement_and_a_deletion_hold_from_the_next_refresh(tmp_path: Path) -> None:
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
    MeasurementStore(tmp_path).drop("other files")
    found.refresh()
    assert found.of("mtp") is tuned
    MeasurementStore(tmp_path).drop(KEY)
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
    [measured] = MeasurementStore(tmp_path).all()
    MeasurementStore(tmp_path).lift(measured)
    found.refresh()
    assert not found.turned_off("mtp")
    assert (found.of("mtp").best, found.of("mtp").max_depth) == (0, AUTO_MAX_DEPTH)


def test_measured_counts_become_conditional_acceptances_of_bounded_weight() -> None:
    many = results.results_of(measurement(*FASTER * 30, accepted_at=(16, 12, 9)))
    estimates = measured_estimates(many, 3)
    assert estimates.best == 3
    assert estimates.costs == (many.plain.step_s, None, None, many.at(3).cycle_s)
    chances = [kept / tried for kept, tried in zip(estimates.accepted, estimates.offered, strict=True)]
    assert chances == pytest.approx([16 / 23, 12 / 16, 9 / 12])
    assert expected_tokens(chances) == pytest.approx(many.at(3).mean_acceptance_length)
    assert max(estimates.offered) <= MOST_OFFERED
    few = measured_estimates(results.results_of(measurement(2.0, accepted_at=(16, 0, 0))), 3)
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
    """What is said of the depth first, the drafts of each cycle, and the estimates."""
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
    MeasurementStore(folder).drop(key)
    keep(folder, *SLOWER, key=key, context=8192)
    chosen, _drafted, _stats = answer(engine, max_tokens=40)
    assert chosen.reason is not DepthReason.TURNED_OFF
    MeasurementStore(folder).drop(key)
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
