"""The depth controller on scripted machines and heads: costs, acceptance, noise and changes are all seeded."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass

import pytest

from mtplx_engine.depth import DepthController


@dataclass(frozen=True, slots=True)
class World:
    """A machine and a head.

    Attributes:
        cost: Seconds of a cycle at depth 0, 1, ...
        accepted: Conditional acceptance at position 1, 2, ...
    """

    cost: tuple[float, ...]
    accepted: tuple[float, ...]

    def rate(self, depth: int) -> float:
        """Tokens per second at a depth."""
        tokens = reach = 1.0
        for chance in self.accepted[:depth]:
            reach *= chance
            tokens += reach
        return tokens / self.cost[depth]

    @property
    def best(self) -> int:
        return max(range(len(self.cost)), key=self.rate)


WORLDS = {
    "verifying costs almost nothing": World((1, 1.1, 1.2, 1.3, 1.4), (0.85, 0.8, 0.75, 0.7)),
    "every row costs as much as a step": World((1, 1.95, 2.95, 3.9, 4.8), (0.4, 0.42, 0.41, 0.4)),
    "the head is useless": World((1, 1.5, 2, 2.5, 3), (0.05, 0.05, 0.05, 0.05)),
    "one step pays": World((1, 1.05, 1.9, 2.4, 3), (0.6, 0.6, 0.5, 0.5)),
    "two steps are best, a little": World((1, 1.25, 1.5, 1.75, 2), (0.65, 0.6, 0.5, 0.4)),
    "one width is fast": World((1, 1.3, 1.6, 1.1, 1.9), (0.5, 0.5, 0.5, 0.3)),
    "all depths are alike": World((1, 1.05, 1.1, 1.15, 1.2), (0.3, 0.2, 0.1, 0.1)),
}


class Run:
    """Lets a controller decode in a world.

    Args:
        seed: Of everything random.
        spikes: How often a cycle takes 20 times as long, for reasons of its own.
        max_depth: Of the controller.
    """

    def __init__(self, seed: int, *, spikes: float = 0.01, max_depth: int = 4) -> None:
        self.controller = DepthController(max_depth)
        self._random = random.Random(seed)
        self._spikes = spikes

    def decode(self, world: World, cycles: int) -> float:
        """Decode so many cycles; returns tokens per second as a share of what the best fixed depth gives."""
        tokens = seconds = 0.0
        for _ in range(cycles):
            depth = self.controller.choose()
            accepted = 0
            while accepted < depth and self._random.random() < world.accepted[accepted]:
                accepted += 1
            spike = 20 if self._random.random() < self._spikes else 1
            measured = world.cost[depth] * self._random.lognormvariate(0, 0.1)
            self.controller.record(depth, accepted, measured * spike)
            tokens += accepted + 1
            seconds += world.cost[depth]
        return tokens / seconds / world.rate(world.best)


@pytest.mark.parametrize("name", WORLDS)
def test_it_is_never_far_below_the_best_fixed_depth(name: str) -> None:
    shares = [Run(seed).decode(WORLDS[name], 2000) for seed in range(30)]
    assert min(shares) > 0.85
    assert statistics.median(shares) > 0.94


@pytest.mark.parametrize("name", ["every row costs as much as a step", "the head is useless"])
def test_it_parks_at_0_when_drafting_does_not_pay(name: str) -> None:
    for seed in range(10):
        run = Run(seed)
        run.decode(WORLDS[name], 300)
        assert run.controller.best == 0
        last = [run.controller.choose() for _ in range(300) if run.decode(WORLDS[name], 1)]
        assert last.count(0) > 270


def test_the_measuring_at_the_start_is_short() -> None:
    run = Run(0, spikes=0)
    tried = [run.controller.choose() for _ in range(40) if run.decode(WORLDS["the head is useless"], 1)]
    assert tried.count(0) > 25
    assert max(tried) <= 2  # deeper drafts cannot pay, so they are not tried


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("every row costs as much as a step", "verifying costs almost nothing"),
        ("verifying costs almost nothing", "every row costs as much as a step"),
        ("one step pays", "verifying costs almost nothing"),
        ("verifying costs almost nothing", "the head is useless"),
    ],
)
def test_it_notices_when_things_change(before: str, after: str) -> None:
    shares = []
    for seed in range(15):
        run = Run(seed)
        run.decode(WORLDS[before], 1000)
        run.decode(WORLDS[after], 1000)
        shares.append(run.decode(WORLDS[after], 1000))
    assert min(shares) > 0.85
    assert statistics.median(shares) > 0.94


@pytest.mark.parametrize("late", range(1, 13))
def test_a_single_long_wait_changes_nothing_for_good(late: int) -> None:
    world = WORLDS["verifying costs almost nothing"]
    run = Run(1, spikes=0)
    run.decode(world, late)
    run.controller.record(run.controller.choose(), 0, 1000.0)
    assert run.decode(world, 2000) > 0.9


def test_without_a_drafter_there_is_only_depth_0() -> None:
    controller = DepthController(0)
    for _ in range(100):
        assert controller.choose() == 0
        controller.record(0, 0, 1.0)


def test_a_request_may_go_deeper_than_the_controller_looks() -> None:
    controller = DepthController(2)
    for _ in range(50):
        controller.record(6, 6, 1.0)
    assert controller.expected_tokens(2) > 2.9
    assert controller.choose() == 0  # nothing that it may choose was measured


def test_expected_tokens_and_rate_are_what_was_seen() -> None:
    controller = DepthController(2)
    for _ in range(400):
        controller.record(2, 0, 2.0)
        controller.record(2, 2, 2.0)
    assert controller.expected_tokens(0) == 1
    assert controller.expected_tokens(1) == pytest.approx(1.5, abs=0.02)
    assert controller.expected_tokens(2) == pytest.approx(2.0, abs=0.03)
    assert controller.rate(2) == pytest.approx(1.0, abs=0.02)
    assert controller.rate(1) == 0  # its cost is unknown
