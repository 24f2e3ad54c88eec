"""A measurement in words. Nothing is rounded across 1, and what is not known is not said."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QDateTime, QLocale

from app.chat.meters import percent
from app.dashboard import kind_words
from app.palette import Tone
from app.translate import marked, tr
from mtplx_engine import results, words
from mtplx_engine.conditions import Power, Pressure
from mtplx_engine.measurement import Doubt, Verdict, times

if TYPE_CHECKING:
    from mtplx_engine.conditions import Conditions
    from mtplx_engine.measurement import Measurement, Ratio
    from mtplx_engine.results import DepthResult, PlainResult, Results

_GAP = 0.1  # by which figures differ so much that it needs an explanation


@dataclass(frozen=True, slots=True)
class Headline:
    """What a measurement says first.

    Attributes:
        words: As in "1.62x faster".
        tone: How it is said.
        note: What it means in time, and for drafting.
    """

    words: str
    tone: Tone | None
    note: str


def headline(measurement: Measurement) -> Headline:
    """Return what a measurement says first, and for which chats it holds."""
    found = results.of(measurement)
    best = found.headline
    if best is None or best.wall is None:
        note = tr("No two answers were equally long, so their times cannot be compared. Measure again.")
        return Headline(tr("Nothing to compare"), None, note)
    ratio, verdict = best.wall, best.wall.verdict
    more = f"{_time_note(ratio)} {_where(measurement)}".strip()
    if verdict is Verdict.FASTER:
        return Headline(_faster(ratio.median), Tone.GOOD, more[0].upper() + more[1:])
    if verdict is Verdict.SLOWER:
        return Headline(_slower(ratio.median), Tone.BAD, _consequence(measurement, found).format(more=more))
    figures = tr("{times} ({low}–{high})").format(
        times=times(ratio.median), low=times(ratio.low)[:-1], high=times(ratio.high)
    )
    if verdict is Verdict.UNCLEAR:
        note = tr(
            "Some answers came faster and some slower {where}; drafting goes on by what it sees in each chat."
        )
        words_ = tr("No clear difference, {figures}").format(figures=figures)
        return Headline(words_, None, note.format(where=_where(measurement)))
    words_ = tr("Too few pairs, {figures}").format(figures=figures)
    return Headline(words_, None, tr("So few pairs say little. Measure again with more."))


_WHY_NOT_OFF = {
    Doubt.UNTRIED: marked("Other depths were not tried, so nothing is turned off: {more}."),
    Doubt.FEW_STEPS: marked("Too few steps were verified, so nothing is turned off: {more}."),
    Doubt.TEMPERATURE: marked("Chats have another temperature, so nothing is turned off: {more}."),
}


def _consequence(measurement: Measurement, found: Results) -> str:
    """Return what comes of drafting that is slower, with a place for how much."""
    if measurement.lifted:
        return tr("It drafts all the same, as you wanted: {more}.")
    if found.winner == 0:
        return tr("{more}; drafting is turned off there.")
    return tr(_WHY_NOT_OFF[found.doubt]) if found.slower and found.doubt else "{more}"


def _where(measurement: Measurement) -> str:
    """Return for which chats a measurement holds, as in "in chats up to 1k tokens (chat, code)"."""
    where, kinds = kind_words.chats(measurement.bucket), kind_words.kinds(measurement.kinds)
    return tr("{where} ({kinds})").format(where=where, kinds=kinds)


def _spread(ratio: Ratio) -> str:
    """Return a range and its size, as in "1.55–1.70x over 15 pairs"."""
    pattern = tr("{low}–{high} over {pairs} pairs")
    return pattern.format(low=times(ratio.low)[:-1], high=times(ratio.high), pairs=ratio.pairs)


def whole_request(best: DepthResult) -> str:
    """Return which ratio the headline is, and the one beside it."""
    if best.wall is None:
        return ""
    parts = [
        tr("Whole request at depth {depth}: {range}.").format(depth=best.depth, range=_spread(best.wall))
    ]
    if best.decode is not None:
        pattern = tr("Writing alone: {times} ({low}–{high}).")
        ratio = best.decode
        parts.append(
            pattern.format(times=times(ratio.median), low=times(ratio.low)[:-1], high=times(ratio.high)[:-1])
        )
    return " ".join(parts)


def per_step(best: DepthResult) -> str:
    """Return the mean acceptance length with its ceiling, as in "2.9 of 4 tokens per step"; "" when not known."""
    if best.mean_length is None:
        return ""
    pattern = tr("{length} of {ceiling} tokens per step")
    return pattern.format(length=f"{best.mean_length:.1f}", ceiling=best.ceiling)


def kept(best: DepthResult) -> str:
    """Return the acceptance rate with its sample, as in "71 % of 412 drafts kept"; "" when nothing was drafted."""
    if best.acceptance_rate is None:
        return ""
    share = percent(best.acceptance_rate)
    words_ = tr("{share} of {count} drafts kept").format(share=share, count=f"{best.drafted:,}")
    return f"{words_}, {_few_steps(best)}" if best.few else words_


def _few_steps(best: DepthResult) -> str:
    """Return how many steps were verified, when they are too few to go by."""
    return tr("only {count} steps, so this may change").format(count=best.verify_steps)


def cost(best: DepthResult) -> str:
    """Return what a step costs, as in "plain 7.5 ms, drafted 11.9 ms"; "" when not known."""
    if not best.step_s or not best.cycle_s:
        return ""
    pattern = tr("plain {plain}, drafted {drafted}")
    return pattern.format(plain=_milliseconds(best.step_s), drafted=_milliseconds(best.cycle_s))


def expected(best: DepthResult) -> str:
    """Return the speedup that the cost of a step makes expect beside the one of the same, writing alone."""
    if best.predicted is None:
        return ""
    if best.decode is None:
        return tr("expected {expected}").format(expected=times(best.predicted))
    pattern = tr("expected {expected}, measured {measured} in writing alone")
    return pattern.format(expected=times(best.predicted), measured=times(best.decode.median))


def explanation(best: DepthResult, measurement: Measurement) -> str:
    """Return one sentence on why the whole request gains what it does."""
    if best.predicted is None or best.wall is None or not best.step_s or not best.cycle_s:
        return ""
    writing = best.decode.median if best.decode else best.predicted
    if best.wall.median < writing * (1 - _GAP):
        reading = _reading_share(measurement)
        if reading is None:
            return tr(
                "The whole request gains less than the writing alone: reading the prompt takes as long."
            )
        sentence = tr(
            "The whole request gains less than the writing alone: reading the prompt, which takes {share} of a "
            "plain answer's time, is not made faster."
        )
        return sentence.format(share=percent(reading))
    if abs(writing / best.predicted - 1) > _GAP:
        return tr("The steps differ much from each other, so their medians say less about the whole.")
    length, price = best.mean_length or 1.0, best.cycle_s / best.step_s
    sentence = tr("A step gives {length} tokens on average, and takes as long as {price} plain ones.")
    return sentence.format(length=f"{length:.1f}", price=f"{price:.1f}")


def memory(best: DepthResult, plain: PlainResult) -> str:
    """Return the peak of memory with drafting and without; "" when it is not known."""
    if not best.peak_bytes or not plain.peak_bytes:
        return ""
    more = best.peak_bytes - plain.peak_bytes
    pattern = tr("{with_} with drafting, {without} without")
    with_, without = words.size(best.peak_bytes), words.size(plain.peak_bytes)
    told = pattern.format(with_=with_, without=without)
    is_seen = more > 0 and with_ != without
    return f"{told} ({tr('{size} more').format(size=words.size(more))})" if is_seen else told


def identical(best: DepthResult, measurement: Measurement) -> str:
    """Return whether the answers are those of plain decoding, or which was the first that is not."""
    if best.identical is None:
        pattern = tr("not compared at temperature {temperature}; the check of exactness below does that")
        return pattern.format(temperature=f"{measurement.temperature:g}")
    same, compared = best.identical
    told = tr("identical {same}/{compared}").format(same=same, compared=compared)
    if same == compared:
        return told
    first = next(run for run in measurement.runs if run.depth == best.depth and run.identical is False)
    return told + tr("; the first that differs: {prompt}").format(prompt=first.prompt)


def cross_check(measurement: Measurement) -> tuple[str, str]:
    """Return how our plain decoding compares with mlx-lm's when they differ by more than 5 %, and in which tone."""
    ratio = measurement.odd_cross_check
    if ratio is None:
        return "", "secondary"
    told = tr("MTPLX decodes plainly {times} as fast as mlx-lm does ({range}).").format(
        times=times(ratio.median), range=_spread(ratio)
    )
    if ratio.median > 1:
        return told, "secondary"
    return f"{told} {tr('Against that, drafting gains less than is said here.')}", "warning"


_PRESSURES = {
    Pressure.LOW_POWER: marked("low-power mode"),
    Pressure.BATTERY: marked("on battery"),
    Pressure.HEAT: marked("heat: {word}"),
    Pressure.LOAD: marked("other programs at work"),
}


def pressure(measurement: Measurement) -> str:
    """Return what may have held the machine back, "" when nothing is known to."""
    heat = next((each.thermal for each in (measurement.before, measurement.after) if each.hot), "")
    found = ", ".join(tr(_PRESSURES[each]).format(word=heat) for each in measurement.pressure)
    return tr("Measured under pressure: {what}.").format(what=found) if found else ""


def conditions(measurement: Measurement) -> str:
    """Return power and load, before and after."""
    names = {Power.MAINS: tr("mains power"), Power.BATTERY: tr("battery"), Power.UNKNOWN: tr("power unknown")}
    before, after = measurement.before, measurement.after
    return f"{names[before.power]}, {_load(before, after)}"


def provenance(measurement: Measurement) -> tuple[str, ...]:
    """Return what was measured, and where, in two lines."""
    subject = measurement.subject
    what = [subject.model, subject.revision[:12], subject.quantization, _drafter(subject.drafter)]
    what += [
        kind_words.context(measurement.context),
        tr("{count} tokens each").format(count=measurement.tokens),
        tr("temperature {value}").format(value=f"{measurement.temperature:g}"),
    ]
    memory_ = tr("{size} memory").format(size=words.size(subject.memory)) if subject.memory else ""
    where = [subject.chip, memory_, subject.backend, subject.system, f"MTPLX {subject.version}"]
    return tuple(" · ".join(part for part in parts if part) for parts in (what, where))


def day(measurement: Measurement) -> str:
    """Return when it was taken, as in "29 Nov 2026"."""
    when = QDateTime.fromMSecsSinceEpoch(measurement.taken_ms)
    return QLocale().toString(when.date(), "d MMM yyyy")


def _milliseconds(seconds: float) -> str:
    """Return a time of a step."""
    return tr("{time} ms").format(time=f"{seconds * 1000:.3g}")


def _faster(ratio: float) -> str:
    """Say a gain; one that is not seen in two decimals would read as none."""
    if times(ratio) == times(1.0):
        return tr("Less than 1 % faster")
    return tr("{times} faster").format(times=times(ratio))


def _slower(ratio: float) -> str:
    return tr("{times}: slower").format(times=times(ratio))


def _time_note(ratio: Ratio) -> str:
    """Return the ratio as a share of time, cut so that it never looks better than it is."""
    share = (1 / ratio.median - 1) * 100
    if share > 0:
        return tr("{share} % more waiting").format(share=math.ceil(share - 1e-9))
    less = math.floor(-share + 1e-9)
    return tr("{share} % less waiting").format(share=less) if less else ""


def _reading_share(measurement: Measurement) -> float | None:
    """Return how much of the time of plain answers goes by before their first word, 0..1."""
    shares = [
        run.stats.ttft_s / run.wall_s
        for run in measurement.runs
        if not run.depth and run.stats.ttft_s and run.wall_s
    ]
    return statistics.median(shares) if shares else None


def _load(before: Conditions, after: Conditions) -> str:
    if before.load is None or after.load is None:
        return tr("load unknown")
    return tr("load {before} before, {after} after").format(
        before=f"{before.load:.1f}", after=f"{after.load:.1f}"
    )


def _drafter(drafter: str) -> str:
    return tr("drafts for itself (MTP)") if drafter == "mtp" else drafter
