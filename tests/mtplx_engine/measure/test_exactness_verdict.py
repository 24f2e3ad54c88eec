"""The one word for a check of exactness."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mtplx_engine.measure.results import Exactness, judge_exactness
from tests.support.measurements import report

SAME = replace(report(), distance=0.0, logit_distance=0.0)


def test_identical_means_bit_for_bit() -> None:
    assert judge_exactness(SAME) is Exactness.IDENTICAL
    # Logits may differ where the law, after its own rounding, does not.
    assert judge_exactness(replace(SAME, logit_distance=1e-6)) is Exactness.ROUNDING


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"distance": 0.002, "first_choices": 30},
        {"greedy_same": 6, "greedy_ties": 2},
        {"p_value": 1e-2},
    ],
)
def test_rounding_is_no_fault(changes: dict[str, float]) -> None:
    assert judge_exactness(replace(report(), **changes)) is Exactness.ROUNDING


@pytest.mark.parametrize(
    "changes",
    [
        {"distance": 0.0021},
        {"greedy_same": 7},
        {"greedy_same": 6, "greedy_ties": 1},
        {"p_value": 0.9e-6},
        {"p_value": 0.0},
    ],
)
def test_more_than_rounding_and_chance_is_a_fault(changes: dict[str, float]) -> None:
    for sound in (SAME, report()):
        assert judge_exactness(replace(sound, **changes)) is Exactness.DIFFERENT


@pytest.mark.parametrize(
    ("p_value", "word"), [(None, Exactness.TOO_FEW), (0.9e-2, Exactness.ODD), (1.1e-6, Exactness.ODD)]
)
def test_draws_that_are_too_few_or_odd_are_no_good_news(p_value: float | None, word: Exactness) -> None:
    for sound in (SAME, report()):
        assert judge_exactness(replace(sound, p_value=p_value)) is word
        assert judge_exactness(replace(sound, p_value=p_value, greedy_same=7)) is Exactness.DIFFERENT
