"""Measurements kept on disk, newest first."""

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
    """The newest measurement of each model, machine and context; what is damaged or contradicts itself is not there.

    The newest is the one that was kept last: a clock may have been wrong.

    Args:
        data: The data folder; it may not exist yet.
    """

    def __init__(self, data: Path) -> None:
        self._kept = JsonStore(data / NAME, FORMAT, _MOST_BYTES)

    def all(self) -> tuple[Measurement, ...]:
        """Return all of them, the newest first."""
        parsed = (_parse(key, entry) for key, entry in self._kept.all().items())
        return tuple(reversed([*filter(None, parsed)]))

    def latest(self, key: str) -> Measurement | None:
        """Return the newest one under a `ModelInfo.speed_key`, whatever its context."""
        return next((found for found in self.all() if found.subject.key == key), None)

    def keep(self, measurement: Measurement) -> None:
        """Keep one, in the place of that of the same key and context; where nothing can be written it is lost."""
        self._kept.put(_key(measurement), dataclasses.asdict(measurement))

    def lift(self, measurement: Measurement) -> None:
        """Let the model draft although this measurement found it slower, until it is measured again."""
        if measurement in self.all():
            self.keep(dataclasses.replace(measurement, lifted=True))

    def drop(self, key: str) -> None:
        """Forget everything under a `ModelInfo.speed_key`."""
        for kept in self._kept.all():
            if kept.rpartition(" ")[0] == key:
                self._kept.drop(kept)

    def stamp(self) -> tuple[int, ...]:
        """Return what changes whenever any of them does, whichever process did it."""
        return self._kept.stamp()


def deciding(found: Iterable[Measurement], key: str) -> dict[int | None, Measurement]:
    """Return what decides for the answers of each bucket of context.

    Args:
        found: Measurements, the newest first.
        key: A `ModelInfo.speed_key`.
    """
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
