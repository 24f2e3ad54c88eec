"""Time saved is estimated only where plain decoding was measured, and a loss is a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.history import Drafted, Summary, TimeSaved, baselines, time_saved
from mtplx_engine.conditions import Conditions
from tests.support.measurements import PLAIN_S, SUBJECT, TOKENS, measurement

if TYPE_CHECKING:
    from mtplx_engine.measurement import Measurement

PLAIN = {("key", 1024): 20.0, ("key", 8192): 10.0, ("other", 1024): 50.0}


@pytest.mark.parametrize(
    ("drafted", "saved"),
    [
        ([Drafted("key", 1024, 3, 600, 20.0, 600)], TimeSaved(10.0, 3, 3)),
        ([Drafted("key", 1024, 3, 600, 45.0, 600)], TimeSaved(-15.0, 3, 3)),
        (
            [Drafted("key", 8192, 1, 600, 45.0, 600), Drafted("other", 1024, 2, 500, 12.0, 500)],
            TimeSaved(13.0, 3, 3),
        ),
        (
            [Drafted("key", 1024, 3, 600, 20.0, 600), Drafted("key", 32768, 4, 900, 1.0, 900)],
            TimeSaved(10.0, 3, 7),
        ),
        ([Drafted("key", None, 2, 600, 20.0, 600)], TimeSaved(None, 0, 2)),
        ([Drafted("", 1024, 2, 600, 20.0, 600)], TimeSaved(None, 0, 2)),
        ([], TimeSaved(None, 0, 0)),
        # 80 plain steps and 4 verify steps at 340 tok/s: the 2 drafts that were kept can have saved 0.1 s at most.
        ([Drafted("key", 1024, 1, 86, 0.25, 2)], TimeSaved(0.1, 1, 1)),
        ([Drafted("key", 1024, 1, 86, 0.25, 2), Drafted("key", 1024, 1, 60, 5.0, 9)], TimeSaved(-1.9, 2, 2)),
    ],
)
def test_only_what_has_a_baseline_counts(drafted: list[Drafted], saved: TimeSaved) -> None:
    found = time_saved(drafted, PLAIN)
    assert (found.covered, found.answers) == (saved.covered, saved.answers)
    assert found.seconds == (None if saved.seconds is None else pytest.approx(saved.seconds))


@given(
    st.lists(
        st.builds(
            Drafted,
            st.just("key"),
            st.just(1024),
            st.integers(1, 9),
            st.integers(0, 9999),
            st.floats(0.01, 1e4),
            st.integers(0, 9999),
        ),
        min_size=1,
    )
)
def test_estimates_add_up(drafted: list[Drafted]) -> None:
    whole = time_saved(drafted, PLAIN)
    parts = [time_saved([each], PLAIN) for each in drafted]
    assert whole.seconds == pytest.approx(sum(part.seconds or 0.0 for part in parts))
    assert whole.seconds <= sum(each.accepted for each in drafted) / PLAIN["key", 1024] + 1e-6
    assert whole.covered == whole.answers == sum(part.covered for part in parts)


def test_shares_of_counts_are_those_of_the_sums() -> None:
    summary = Summary(2, None, None, None, verify_steps=40, drafted=80, accepted=60)
    assert (summary.acceptance_rate, summary.mean_length) == (0.75, 2.5)


def sound(*ratios: float, **fields) -> Measurement:
    return measurement(*ratios, **{"cross_check": 1.0, **fields})


def test_baselines_are_the_plain_runs_of_each_context() -> None:
    speed = pytest.approx((TOKENS - 1) / PLAIN_S)
    found = baselines([sound(2.0, 2.0, 2.0), sound(0.5, 0.5, 0.5, context=4096), sound(2.0, context=99_999)])
    assert found == {(SUBJECT.key, 1024): speed, (SUBJECT.key, 8192): speed}
    took = [
        Drafted(SUBJECT.key, 1024, 1, 2 * (TOKENS - 1), PLAIN_S, TOKENS),
        Drafted("files that changed", 1024, 1, 99, 1.0, 50),
    ]
    assert time_saved(took, found) == TimeSaved(pytest.approx(PLAIN_S), 1, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"before": Conditions(low_power=True)},
        {"before": Conditions(load=9.2, cores=8)},
        {"after": Conditions(thermal="slowed to 80 %")},
        {"cross_check": 0.9},
        {"cross_check": 1.1},
        {"cross_check": None},
    ],
)
def test_what_was_measured_under_pressure_or_is_in_doubt_is_no_baseline(fields: dict[str, object]) -> None:
    doubtful = sound(2.0, 2.0, 2.0, **fields)
    assert baselines([doubtful]) == {}
    assert baselines([doubtful, sound(1.5, 1.5, 1.5)]) == baselines([sound(1.5, 1.5, 1.5)])
