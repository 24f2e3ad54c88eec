"""Results of measurements and checks as translated text with a tone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QDateTime, QLocale

from app.i18n import said, tr
from app.palette import Tone
from mtplx_engine.measure import sentences
from mtplx_engine.measure.measurement import SpeedVerdict
from mtplx_engine.measure.results import Exactness, judge_exactness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QDate

    from mtplx_engine.measure.measurement import ExactnessReport, Measurement


_TONES = {SpeedVerdict.FASTER: Tone.GOOD, SpeedVerdict.SLOWER: Tone.BAD}
_EXACTNESS_TONES = {
    Exactness.IDENTICAL: Tone.GOOD,
    Exactness.ROUNDING: Tone.GOOD,
    Exactness.TOO_FEW: Tone.DOUBT,
    Exactness.ODD: Tone.DOUBT,
    Exactness.DIFFERENT: Tone.BAD,
}


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict of a measurement, as in "1.62x faster", its tone (None: the usual one), and a note on the effect."""

    text: str
    tone: Tone | None
    note: str


def headline(measurement: Measurement) -> Headline:
    """Return the verdict of a measurement, and for which chats it holds."""
    found = sentences.headline(measurement)
    note = said(found.note)
    return Headline(said(found.said), _TONES.get(found.verdict), note[0].upper() + note[1:])


def cross_check(measurement: Measurement) -> tuple[str, str]:
    """Return how our plain decoding compares with mlx-lm's when they differ by more than 5 %, and its tone."""
    ratio = measurement.odd_cross_check
    tone = "warning" if ratio is not None and ratio.median <= 1 else "secondary"
    return said(sentences.cross_check(measurement)), tone


def exactness(report: ExactnessReport) -> tuple[str, Tone]:
    return said(sentences.exactness(report)), _EXACTNESS_TONES[judge_exactness(report)]


def advice(report: ExactnessReport) -> str:
    """Return the advice on a difference or a doubt, "" without one."""
    found = judge_exactness(report)
    if found is Exactness.ODD:
        return tr("Check again. If it comes out odd again, send us what “mtplx doctor” prints.")
    if found is not Exactness.DIFFERENT:
        return ""
    return tr("Turn drafting off, and send us what “mtplx doctor” prints.")


def turned_off(bans: Sequence[Measurement]) -> str:
    """Return where and why drafting is off, "" without measurements that turn it off (the newest first)."""
    day_ = QLocale().toString(_date(bans[0]), "d MMM") if bans else ""
    return said(sentences.turned_off(bans, day_))


def day(measurement: Measurement) -> str:
    """Return the date of a measurement, as in "29 Nov 2026"."""
    return QLocale().toString(_date(measurement), "d MMM yyyy")


def _date(measurement: Measurement) -> QDate:
    return QDateTime.fromMSecsSinceEpoch(measurement.taken_ms).date()
