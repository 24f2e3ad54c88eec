"""What is told of the depth: at the beginning, when it changes, and never that a look was taken."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.config import SamplerConfig
from mtplx_engine.depth import DepthController
from mtplx_engine.depth_choice import DepthChoice, DepthChooser
from mtplx_engine.depth_figures import Figures
from mtplx_engine.protocol import DepthReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        yield number, depth, chooser.news(DEEPEST)


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
def test_why(
    sampler: SamplerConfig,
    drafter: DrafterKind | None,
    turned_off: bool,  # noqa: FBT001
    depth: int,
    reason: DepthReason,
) -> None:
    chooser = _chooser(sampler, drafter, turned_off=turned_off)
    assert min(chooser.next(), DEEPEST) == depth
    assert chooser.news(DEEPEST) == DepthChoice(depth, reason, None)
    assert chooser.news(DEEPEST) is None


def test_what_is_fastest_is_told_once_it_is_known() -> None:
    """Every draft is accepted, and a cycle at depth k takes 1 + k / 4 of a plain step: 2.5 times as fast at depth 4."""
    chooser = _chooser()
    told = [chooser.news(DEEPEST)]
    looks = set()
    for _, depth, news in _run(chooser, 3000, lambda depth: 1 + depth / 4, lambda depth: depth):
        told += [news] if news else []
        if depth != told[-1].depth:
            looks.add(depth)
    assert told[0].reason is DepthReason.MEASURING
    assert (told[-1].depth, told[-1].reason) == (4, DepthReason.FASTEST)
    assert told[-1].expected == pytest.approx(2.5, rel=0.05)
    assert all(one.differs(other) for one, other in itertools.pairwise(told))
    assert looks >= {1, 2, 3}  # they ran, and were told of by what they changed only
    assert len(told) < 20


def test_drafts_that_are_never_accepted_park() -> None:
    chooser = _chooser()
    told = [chooser.news(DEEPEST)]
    depths = []
    for number, depth, news in _run(chooser, 2000, lambda depth: 1 + depth / 4, lambda depth: 0):
        told += [news] if news else []
        depths.append(depth)
        if news:
            assert number + 1 >= 16
    assert set(depths) > {0}
    assert {choice.depth for choice in told} == {0}
    assert [choice.reason for choice in told[:2]] == [DepthReason.MEASURING, DepthReason.PARKED]
    assert told[-1].reason is DepthReason.PARKED
    assert 0.7 < told[-1].expected < 0.9  # a cycle at depth 1 costs 1.25 plain steps and gives a token
    assert len(told) < 8


def test_it_is_told_once_a_round_at_most() -> None:
    """However wildly the figures jump."""
    controller = DepthController(DEEPEST)
    for _ in range(20):
        controller.record(0, 0, 1.0)
    chooser = _chooser(SamplerConfig(speculative_depth=1), controller=controller)
    rounds: list[int] = []
    cycles = _run(chooser, 400, lambda _: 1.0 + controller.rounds % 7, lambda _: controller.rounds % 2)
    for _, _, news in cycles:
        if news:
            rounds.append(controller.rounds)
    assert len(set(rounds)) == len(rounds) > 5


def test_a_chosen_depth_is_expected_to_be_what_was_measured() -> None:
    controller = DepthController(DEEPEST)
    for number in range(40):
        depth = number // 20
        controller.record(depth, depth, 1.0 + 0.25 * depth)
    news = _chooser(SamplerConfig(speculative_depth=1), controller=controller).news(DEEPEST)
    assert (news.depth, news.reason) == (1, DepthReason.CHOSEN)
    assert news.expected == pytest.approx(controller.rate(1) / controller.rate(0))
    beyond = _chooser(SamplerConfig(speculative_depth=8), controller=controller).news(8)
    assert beyond == DepthChoice(8, DepthReason.CHOSEN, None)


def test_a_pause_that_makes_good_what_was_lost_is_no_parking() -> None:
    """The best depth drafts and pauses: what it was expected to win it did not, so the matter is open."""
    controller = DepthController(1, Figures(best=1, costs=(1.0, 1.0), accepted=(100.0,), offered=(100.0,)))
    chooser = _chooser(controller=controller)
    assert chooser.news(1) == DepthChoice(1, DepthReason.FASTEST, pytest.approx(2.0, abs=0.02))
    controller.steady = 0
    controller.rounds += 1
    assert chooser.news(1) == DepthChoice(0, DepthReason.MEASURING, pytest.approx(2.0, abs=0.02))


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
