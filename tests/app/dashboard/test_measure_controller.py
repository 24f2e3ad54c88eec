"""The kept measurements as the window sees them: read and lifted without waiting."""

from __future__ import annotations

import dataclasses

import pytest

from app.dashboard.measure_controller import SpeedRecords
from mtplx_engine.measure.store import NAME, MeasurementStore
from tests.support.measurements import KEY, SUBJECT, measurement

FOUND = measurement(1.5, 1.6, 1.7)
OTHER = measurement(0.6, 0.6, 0.6, subject=dataclasses.replace(SUBJECT, key="another"))


@pytest.fixture
def records(qapp, tmp_path):
    made = SpeedRecords(tmp_path)
    yield made
    made.close()


def refresh(records, qtbot):
    with qtbot.waitSignal(records.changed):
        records.refresh()


def test_what_is_kept_is_found(records, qtbot, tmp_path):
    MeasurementStore(tmp_path).keep(FOUND)
    assert records.all is None
    refresh(records, qtbot)
    assert records.all == (FOUND,)
    assert records.bans(KEY) == records.bans("another") == ()


def test_what_is_lifted_stays_and_turns_nothing_off(records, qtbot, tmp_path):
    for each in (FOUND, OTHER):
        MeasurementStore(tmp_path).keep(each)
    refresh(records, qtbot)
    assert records.bans("another") == (OTHER,)
    with qtbot.waitSignal(records.changed):
        records.lift((OTHER,))
    lifted = dataclasses.replace(OTHER, lifted=True)
    assert set(records.all) == set(MeasurementStore(tmp_path).all()) == {FOUND, lifted}
    assert records.bans("another") == ()


@pytest.mark.parametrize("content", [b"", b"{", b'{"format": 1, "results": {"x 1024": 5}}', b"\xff" * 99])
def test_a_damaged_file_is_an_empty_one(records, qtbot, tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    refresh(records, qtbot)
    assert records.all == ()


def test_a_new_measurement_takes_the_place_of_the_old_one_at_once(records, qtbot, tmp_path):
    for each in (FOUND, OTHER):
        MeasurementStore(tmp_path).keep(each)
    refresh(records, qtbot)
    newer, longer = measurement(2.0, 2.0, 2.0), measurement(1.0, 1.0, 1.0, context=8192)
    records.note(newer)
    records.note(longer)
    assert records.all == (longer, newer, OTHER)
