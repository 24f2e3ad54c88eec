"""Patience, by a clock that makes nobody wait: how long, told to whom, and where it ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.hub.errors import CancelToken, HubError, HubErrorKind
from mtplx_engine.hub.retries import Retries, waiting
from mtplx_engine.hub.transfer_stats import Speed, TransferStats


class Steps:
    """Fails as told, by a clock that only waits turn."""

    def __init__(self, *outcomes: HubError | int, monkeypatch: pytest.MonkeyPatch) -> None:
        self._outcomes = list(outcomes)
        self.done = 0
        self.waits: list[float] = []
        self.now = 0.0
        monkeypatch.setattr("mtplx_engine.hub.retries.time.monotonic", lambda: self.now)
        monkeypatch.setattr(CancelToken, "wait", lambda _, seconds: self._wait(seconds))

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def __call__(self) -> str:
        outcome = self._outcomes.pop(0) if self._outcomes else 0
        if isinstance(outcome, int):
            self.done += outcome
            if not outcome:
                return "there"
            raise failure()
        raise outcome

    def run(self, retries: Retries) -> str:
        return retries.patiently(self, CancelToken(), lambda: self.done)


def failure(wait_s: float | None = None) -> HubError:
    return HubError(HubErrorKind.UNREACHABLE, "The hub sleeps. Try again.", wait_s=wait_s)


def test_waits_grow_and_are_told_with_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = TransferStats()
    told: list[bool] = []

    def tell(wait: object) -> None:
        told.append(wait is not None)

    steps = Steps(*[failure()] * 6, monkeypatch=monkeypatch)
    assert steps.run(Retries(first_s=8, longest_s=60, tell=tell)) == "there"
    for wait, longest in zip(steps.waits, (8, 16, 32, 60, 60, 60), strict=True):
        assert longest / 2 <= wait <= longest
    assert told == [True, False] * 6
    assert tally.waiting is None


def test_new_bytes_make_it_patient_again(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(*[5] * 20, monkeypatch=monkeypatch)
    assert steps.run(Retries(limit=2, patience_s=1.5)) == "there"
    assert all(wait <= 1 for wait in steps.waits)
    with pytest.raises(HubError):
        Steps(*[failure()] * 2, monkeypatch=monkeypatch).run(Retries(limit=2))


def test_a_wait_that_is_too_long_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(failure(), failure(wait_s=61), monkeypatch=monkeypatch)
    with pytest.raises(HubError) as raised:
        steps.run(Retries(hold_s=60))
    assert (raised.value.wait_s, len(steps.waits)) == (61, 1)


def test_after_its_patience_no_try_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(*[failure(wait_s=4)] * 9, monkeypatch=monkeypatch)
    with pytest.raises(HubError):
        steps.run(Retries(limit=9, patience_s=10))
    assert steps.waits == [4, 4, 4]


def test_a_wait_in_words() -> None:
    now = waiting(failure(), 0.0).until
    assert waiting(failure(), 8.0).in_words(now).startswith("The hub sleeps, trying again in 8 s")
    assert " trying again at " in waiting(failure(), 300.0).in_words(now)
    assert waiting(failure(wait_s=300.0), 300.0).in_words(now) == "The hub sleeps"


@given(st.lists(st.tuples(st.sampled_from(["find", "receive", "lose"]), st.integers(1, 1000))))
def test_only_what_comes_over_the_network_is_speed(events: list[tuple[str, int]]) -> None:
    tally, speed = TransferStats(), Speed()
    came = 0
    speed.note(0.0, tally.fetched)
    for kind, count in events:
        tally.find(count) if kind == "find" else tally.receive(count if kind == "receive" else -count)
        came += count if kind == "receive" else 0
    speed.note(4.0, tally.fetched)
    assert speed.bytes_s == came / 4
    assert tally.done == sum(-count if kind == "lose" else count for kind, count in events)
    assert speed.seconds_left(100) == (400 / came if came else None)


def test_bytes_that_come_end_what_is_said_of_a_wait() -> None:
    tally = TransferStats()
    tally.wait(waiting(failure(), 8.0))
    tally.find(5)
    tally.receive(-5)
    assert tally.waiting is not None
    tally.receive(1)
    assert tally.waiting is None
