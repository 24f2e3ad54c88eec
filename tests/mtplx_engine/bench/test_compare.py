"""Runs become ratios of the baseline's time to theirs; the figures here are worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine.bench.compare import alternate, summarise
from mtplx_engine.bench.run import Run
from mtplx_engine.measurement import Ratio
from mtplx_engine.stats import DecodeStats

if TYPE_CHECKING:
    import threading


class Scripted:
    """A method that takes `seconds` for a prompt, one value a prompt."""

    def __init__(self, name: str, seconds: tuple[float, ...], stats: DecodeStats | None = None) -> None:
        self.name = name
        self.calls: list[tuple[int, int]] = []
        self._seconds = seconds
        self._stats = stats

    def run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> Run:
        self.calls.append((prompt, tokens))
        seconds = self._seconds[prompt]
        return Run(self.name, prompt, tuple(ids), seconds, seconds / 2, tokens, self._stats, 0)


PROMPTS = [[1], [2], [3]]


def test_each_round_begins_with_another_method_and_a_short_warm_up_is_dropped() -> None:
    methods = [Scripted(name, (1.0, 1.0, 1.0)) for name in ("a", "b", "c")]
    heard: list[tuple[int, str]] = []
    runs = alternate(methods, PROMPTS, 0.0, 64, lambda run: heard.append((run.prompt, run.method)))
    assert heard == [(run.prompt, run.method) for run in runs]
    assert "".join(method for _, method in heard) == "abcbcacab"
    assert [prompt for prompt, _ in heard] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for method in methods:
        assert method.calls == [(0, 16), (0, 64), (1, 64), (2, 64)]


def test_a_summary_is_the_median_of_ratios_prompt_by_prompt() -> None:
    stats = DecodeStats(verify_steps=10, drafted=20, accepted=7, accepted_at=(5, 2))
    methods = [Scripted("mlx-lm", (2.0, 3.0, 4.0)), Scripted("mtp depth 2", (1.0, 1.0, 8.0), stats)]
    runs = alternate(methods, PROMPTS, 0.0, 10, lambda _run: None)
    base, ours = summarise(runs, greedy=True)
    assert (base.method, ours.method) == ("mlx-lm", "mtp depth 2")
    assert base.wall == Ratio(1.0, 1.0, 1.0, 3)
    assert base.tokens_per_verify is None
    assert ours.wall == Ratio(2.0, 0.5, 3.0, 3)
    assert ours.decode == Ratio(2.0, 0.5, 3.0, 3)
    assert ours.decode_tps == pytest.approx(20.0)
    assert ours.verify_steps == 30
    assert ours.tokens_per_verify == pytest.approx(1.7)
    assert ours.accepted_at == pytest.approx((0.5, 0.2))
    assert ours.identical == (3, 3)


def test_different_tokens_are_counted_and_sampling_is_not_compared() -> None:
    methods = [Scripted("mlx-lm", (1.0, 1.0, 1.0)), Scripted("depth 0", (1.0, 1.0, 1.0))]
    runs = alternate(methods, PROMPTS, 0.0, 10, lambda _run: None)
    odd = [run if run.prompt else Run(run.method, 0, (9, len(run.method)), 1, 1, 1, None, 0) for run in runs]
    assert summarise(odd, greedy=True)[1].identical == (2, 3)
    assert summarise(odd, greedy=False)[1].identical is None


def test_the_baseline_comes_first_then_plain_decoding_then_each_drafter_with_its_depths() -> None:
    names = [
        "mlx-lm",
        "depth 0",
        "draft_model depth 3",
        "mtp depth 1",
        "mtp depth 3",
        "prompt_lookup depth 3",
    ]
    methods = [Scripted(name, (1.0, 1.0, 1.0)) for name in reversed(names)]
    runs = alternate(methods, PROMPTS, 0.0, 10, lambda _run: None)
    assert [summary.method for summary in summarise(runs, greedy=True)] == names
