"""Measurements outlive a start, and a damaged file is an empty one."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.measure.store import NAME, MeasurementStore, bans, deciding
from tests.support.measurements import KEY, SUBJECT, measurement

if TYPE_CHECKING:
    from pathlib import Path


OTHER = dataclasses.replace(SUBJECT, key="other files")


def at(taken_ms: int, **fields):
    return dataclasses.replace(measurement(1.5, 1.6, 1.7, **fields), taken_ms=taken_ms)


def test_what_is_kept_comes_back_the_newest_first_whatever_the_clock_said(tmp_path: Path) -> None:
    older, newer, other = at(9, context=8192), at(1), at(2, subject=OTHER)
    for each in (older, newer, other):
        MeasurementStore(tmp_path).keep(each)
    store = MeasurementStore(tmp_path)
    assert store.all() == (other, newer, older)
    assert store.latest(KEY) == newer
    assert store.latest(OTHER.key) == other
    assert store.latest("unknown") is None


def test_a_newer_one_of_the_same_context_takes_the_place(tmp_path: Path) -> None:
    store = MeasurementStore(tmp_path)
    store.keep(at(1))
    store.keep(at(2))
    assert [found.taken_ms for found in store.all()] == [2]


def test_drop_forgets_every_context_of_one_key(tmp_path: Path) -> None:
    store = MeasurementStore(tmp_path)
    for each in (at(1), at(2, context=8192), at(3, subject=OTHER)):
        store.keep(each)
    store.drop(KEY)
    assert [found.subject for found in store.all()] == [OTHER]


SLOW, FAST = (0.6, 0.61, 0.62), (2.0, 2.1, 2.2)


def test_each_bucket_is_decided_by_what_was_kept_last_in_it(tmp_path: Path) -> None:
    store = MeasurementStore(tmp_path)
    kept = [measurement(*SLOW), measurement(*SLOW, context=8192), measurement(*FAST, context=500)]
    for each in (*kept, measurement(*SLOW, subject=OTHER), measurement(*SLOW, context=40_000)):
        store.keep(each)
    assert {bucket: each.context for bucket, each in deciding(store.all(), KEY).items()} == {
        None: 40_000,
        1024: 500,
        8192: 8192,
    }
    assert [each.context for each in bans(store.all(), KEY)] == [40_000, 8192]


def test_what_is_lifted_bans_no_more_and_keeps_its_figures_until_it_is_measured_again(tmp_path: Path) -> None:
    store = MeasurementStore(tmp_path)
    slower, longer = measurement(*SLOW), measurement(*SLOW, context=8192)
    for each in (slower, longer):
        store.keep(each)
    store.lift(slower)
    assert bans(store.all(), KEY) == (longer,)
    assert {each.runs for each in store.all()} == {slower.runs, longer.runs}
    again = dataclasses.replace(slower, taken_ms=slower.taken_ms + 1)
    store.keep(again)
    assert bans(store.all(), KEY) == (again, longer)
    store.lift(slower)  # it is not there any more
    assert bans(store.all(), KEY) == (again, longer)


def test_a_measurement_of_before_there_were_liftings_is_read(tmp_path: Path) -> None:
    MeasurementStore(tmp_path).keep(at(1))
    body = json.loads((tmp_path / NAME).read_text())
    for entry in body["results"].values():
        del entry["lifted"], entry["auto_depths"], entry["before"]["cores"], entry["after"]["cores"]
    (tmp_path / NAME).write_text(json.dumps(body))
    [found] = MeasurementStore(tmp_path).all()
    assert found.auto_depths == (1, 2, 3, 4)
    assert not found.lifted


def test_the_stamp_changes_with_the_file_whoever_writes_it(tmp_path: Path) -> None:
    store = MeasurementStore(tmp_path)
    stamps = {store.stamp()}
    for change in (
        lambda: MeasurementStore(tmp_path).keep(at(1)),
        lambda: MeasurementStore(tmp_path).drop(KEY),
    ):
        change()
        stamps.add(store.stamp())
    assert len(stamps) == 3
    assert store.stamp() == store.stamp()


def test_nothing_is_there_before_anything_is_kept(tmp_path: Path) -> None:
    assert MeasurementStore(tmp_path / "not there").all() == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("taken_ms",), "yesterday"),
        (("runs", 0, "wall_s"), None),
        (("runs", 0, "wall_s"), 1e999),
        (("runs", 1, "stats", "accepted"), 10_000),
        (("runs", 1, "stats", "emitted"), -3.5),
        (("runs", 0, "kind"), "gossip"),
        (("runs",), []),
        (("runs",), {}),
        (("subject",), None),
        (("subject", "key"), "files of somebody else"),
        (("context",), 77),
        (("extra",), 1),
        ((), []),
        ((), 7),
    ],
)
def test_a_damaged_entry_is_not_there_and_the_others_are(
    tmp_path: Path, path: tuple[str | int, ...], value: object
) -> None:
    store = MeasurementStore(tmp_path)
    store.keep(at(1))
    store.keep(at(2, subject=OTHER))
    body = json.loads((tmp_path / NAME).read_text())
    place, names = body["results"], (f"{KEY} 1024", *path)
    for name in names[:-1]:
        place = place[name]
    place[names[-1]] = value
    (tmp_path / NAME).write_text(json.dumps(body))
    assert [found.subject for found in store.all()] == [OTHER]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"format": 9, "results": {}}', b"[" * 90_000])
def test_a_damaged_file_is_an_empty_one_and_takes_new_ones(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    store = MeasurementStore(tmp_path)
    assert store.all() == ()
    store.keep(at(1))
    assert store.latest(KEY) == at(1)


def test_the_oldest_go_before_the_file_gets_too_long_to_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtplx_engine.measure.store._MOST_BYTES", 20_000)
    store = MeasurementStore(tmp_path)
    for taken in range(1, 10):
        store.keep(at(taken, context=taken))
    kept = [found.taken_ms for found in store.all()]
    assert 1 < len(kept) < 9
    assert kept == list(range(9, 9 - len(kept), -1))


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = MeasurementStore(tmp_path / "file")
    store.keep(at(1))
    assert store.all() == ()
