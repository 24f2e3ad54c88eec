"""The store of measurements in the data folder."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import Measurement
from mtplx_engine.util.files import JsonStore, build

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


NAME = "measurements.json"
FORMAT = 1
_MOST_BYTES = 8 << 20  # a large one, with hundreds of runs, is 300 kB


class MeasurementStore:
    """The newest measurement of each model, machine and context; damaged or contradictory entries are skipped.

    The newest is the one that was stored last: a clock may have been wrong.
    """

    def __init__(self, data: Path) -> None:
        self._entries = JsonStore(data / NAME, FORMAT, _MOST_BYTES)

    def all(self) -> tuple[Measurement, ...]:
        """Return all measurements, the newest first."""
        parsed = (_parse(key, entry) for key, entry in self._entries.all().items())
        return tuple(reversed([*filter(None, parsed)]))

    def latest(self, key: str) -> Measurement | None:
        """Return the newest measurement with a `ModelInfo.speed_key`, of any context."""
        return next((found for found in self.all() if found.subject.key == key), None)

    def keep(self, measurement: Measurement) -> None:
        """Store a measurement, replacing that of the same key and context; it is lost where nothing can be written."""
        self._entries.put(_key(measurement), dataclasses.asdict(measurement))

    def lift(self, measurement: Measurement) -> None:
        """Let the model draft although this measurement found it slower, until it is measured again."""
        if measurement in self.all():
            self.keep(dataclasses.replace(measurement, lifted=True))

    def drop(self, key: str) -> None:
        for entry in self._entries.all():
            if entry.rpartition(" ")[0] == key:
                self._entries.drop(entry)

    def stamp(self) -> tuple[int, ...]:
        """Return a value that changes with the stored file, whichever process wrote it."""
        return self._entries.stamp()


def deciding(found: Iterable[Measurement], key: str) -> dict[int | None, Measurement]:
    """Return the measurement that decides for each bucket of context lengths, from `found`, the newest first."""
    newest: dict[int | None, Measurement] = {}
    for each in found:
        if each.subject.key == key:
            newest.setdefault(each.bucket, each)
    return newest


def bans(found: Iterable[Measurement], key: str) -> tuple[Measurement, ...]:
    """Return the measurements that turn drafting off, each for answers of its bucket, the newest first."""
    return tuple(each for each in deciding(found, key).values() if results.turns_off(each))


def _key(measurement: Measurement) -> str:
    return f"{measurement.subject.key} {measurement.context}"


def _parse(key: str, entry: Any) -> Measurement | None:
    try:
        found: Measurement = build(Measurement, entry)
        results.results_of(found)
    except (ValueError, TypeError, RecursionError, ZeroDivisionError, OverflowError, EngineError):
        return None
    return found if _key(found) == key else None
