"""Time saved is estimated only where plain decoding was measured, and a loss is a loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dashboard.history import Drafted, Summary, TimeSaved, baselines, time_saved
from tests.support.measurements import PLAIN_S, SUBJECT, TOKENS, measurement

PLAIN = {("key", 1024): 20.0, ("key", 8192): 10.0, ("other", 1024): 50.0}


@pytest.mark.parametrize(
    ("drafted", "saved"),
    [
        ([Drafted("key", 1024, 3, 600, 20.0)], TimeSaved(10.0, 3, 3)),
        ([Drafted("key", 1024, 3, 600, 45.0)], TimeSaved(-15.0, 3, 3)),
        ([Drafted("key", 8192, 1, 600, 45.0), Drafted("other", 1024, 2, 500, 12.0)], TimeSaved(13.0, 3, 3)),
        ([Drafted("key", 1024, 3, 600, 20.0), Drafted("key", 32768, 4, 900, 1.0)], TimeSaved(10.0, 3, 7)),
        ([Drafted("key", None, 2, 600, 20.0)], TimeSaved(None, 0, 2)),
        ([Drafted("", 1024, 2, 600, 20.0)], TimeSaved(None, 0, 2)),
        ([], TimeSaved(None, 0, 0)),
    ],
)
def test_only_what_has_a_baseline_counts(drafted: list[Drafted], saved: TimeSaved) -> None:
    assert time_saved(drafted, PLAIN) == saved


@given(
    st.lists(
        st.builds(
            Drafted,
            st.just("key"),
            st.just(1024),
            st.integers(1, 9),
            st.integers(0, 9999),
            st.floats(0.01, 1e4),
        ),
        min_size=1,
    )
)
def test_estimates_add_up(drafted: list[Drafted]) -> None:
    whole = time_saved(drafted, PLAIN)
    parts = [time_saved([each], PLAIN) for each in drafted]
    assert whole.seconds == pytest.approx(sum(part.seconds or 0.0 for part in parts))
    assert whole.covered == whole.answers == sum(part.covered for part in parts)


def test_shares_of_counts_are_those_of_the_sums() -> None:
    summary = Summary(2, None, None, None, verify_steps=40, drafted=80, accepted=60)
    assert (summary.acceptance_rate, summary.mean_length) == (0.75, 2.5)


def test_baselines_are_the_plain_runs_of_each_context() -> None:
    speed = (TOKENS - 1) / PLAIN_S
    found = baselines([measurement(2.0, 2.0, 2.0), measurement(0.5, 0.5, 0.5, context=8192)])
    assert found == {(SUBJECT.key, 1024): pytest.approx(speed), (SUBJECT.key, 8192): pytest.approx(speed)}
    took = [
        Drafted(SUBJECT.key, 1024, 1, 2 * (TOKENS - 1), PLAIN_S),
        Drafted("files that changed", 1024, 1, 99, 1.0),
    ]
    assert time_saved(took, found) == TimeSaved(pytest.approx(PLAIN_S), 1, 2)
