"""Many requests, few signals, and the last one is never lost."""

from __future__ import annotations

import pytest

from app.widgets import throttle as throttle_module
from app.widgets.throttle import Throttle


@pytest.fixture
def throttle(qapp):
    throttle = Throttle(20)
    throttle.sent = []
    throttle.due.connect(lambda: throttle.sent.append(1))
    yield throttle
    throttle.deleteLater()


def test_the_first_request_is_sent_at_once(throttle):
    throttle.request()
    assert len(throttle.sent) == 1


def test_requests_within_an_interval_become_one(throttle, qtbot):
    for _ in range(50):
        throttle.request()
    assert len(throttle.sent) == 1
    qtbot.waitUntil(lambda: len(throttle.sent) == 2)
    qtbot.waitUntil(lambda: not throttle._timer.isActive())
    assert len(throttle.sent) == 2


def test_without_requests_nothing_is_sent(throttle, qtbot):
    throttle.request()
    qtbot.waitUntil(lambda: not throttle._timer.isActive())
    throttle.request()
    assert len(throttle.sent) == 2


def test_a_cancelled_request_is_forgotten(throttle, qtbot):
    throttle.request()
    throttle.request()
    throttle.cancel()
    throttle.request()
    assert len(throttle.sent) == 2
    qtbot.waitUntil(lambda: not throttle._timer.isActive())
    assert len(throttle.sent) == 2


def test_what_costs_much_is_asked_for_rarely(throttle, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(throttle_module.time, "monotonic", lambda: now[0])

    def work():
        now[0] += 0.1

    throttle.due.connect(work)
    throttle.request()
    assert throttle._timer.interval() == 400


def test_a_request_made_while_one_is_served_waits(throttle):
    throttle.due.connect(throttle.request)
    throttle.request()
    assert len(throttle.sent) == 1
    throttle.cancel()
