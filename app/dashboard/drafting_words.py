"""What is said of drafting where a measurement turned it off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QDateTime, QLocale

from app.translate import tr
from mtplx_engine import results

if TYPE_CHECKING:
    from mtplx_engine.measurement import Measurement


def turned_off(measurement: Measurement | None) -> str:
    """Return why drafting is off, as in "off here: slower (measured 29 Nov)"; "" when it is not."""
    if measurement is None or results.of(measurement).winner != 0:
        return ""
    day = QDateTime.fromMSecsSinceEpoch(measurement.taken_ms).date()
    return tr("off here: slower (measured {day})").format(day=QLocale().toString(day, "d MMM"))
