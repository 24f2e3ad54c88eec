"""The sentences about measurements and exactness reports, as data: the command prints them, the window translates them.

No ratio is rounded across 1, and unknown numbers are left out. Imports no mlx.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS, Doubt, PromptKind, SpeedVerdict, times
from mtplx_engine.measure.results import CHANCE, ODD, Exactness, judge_exactness
from mtplx_engine.util.formatting import NOTHING, Sentence, joined, percent, sentence, size
from mtplx_engine.util.system import Power, Pressure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.measure.measurement import ExactnessReport, Measurement, Ratio
    from mtplx_engine.measure.results import DepthResult, PlainResult, Results
    from mtplx_engine.util.system import SystemState


_GAP = 0.1  # difference of two ratios that needs an explanation


# ---------------------------------------------------------------- kinds and contexts

_KINDS = {
    PromptKind.CHAT: sentence("Chat"),
    PromptKind.CODE: sentence("Code"),
    PromptKind.MATHS: sentence("Maths"),
    PromptKind.LANGUAGE: sentence("Another language"),
    PromptKind.COPY: sentence("Copy-edit"),
}
_AMONG_OTHERS = {
    PromptKind.CHAT: sentence("chat"),
    PromptKind.CODE: sentence("code"),
    PromptKind.MATHS: sentence("maths"),
    PromptKind.LANGUAGE: sentence("another language"),
    PromptKind.COPY: sentence("copy-edit"),
}


def kind(value: PromptKind) -> Sentence:
    return _KINDS[value]


def kinds(values: Sequence[PromptKind]) -> Sentence:
    """Return the names of several kinds of prompts, as in "chat, code"."""
    if set(values) == set(PromptKind):
        return sentence("all kinds")
    return joined(_AMONG_OTHERS[each] for each in values)


def context(tokens: int) -> Sentence:
    """Return a context length, as in "up to 8k" for a bucket and "300 tokens" for others."""
    if tokens in CONTEXT_BUCKETS:
        return sentence("up to {count}k", count=tokens // 1024)
    return sentence("{count} tokens", count=f"{tokens:,}")


def chats(bucket: int | None) -> Sentence:
    """Return the chats of a bucket of context lengths, as in "in chats up to 8k tokens"."""
    if bucket is None:
        return sentence("in chats longer than {count}k tokens", count=CONTEXT_BUCKETS[-1] // 1024)
    return sentence("in chats up to {count}k tokens", count=bucket // 1024)


# ---------------------------------------------------------------- the verdict of a measurement


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict of a measurement: `said` as in "1.62x faster", and the verdict of the ratio in it.

    `note` is the effect on time and on drafting; it may begin with a small letter.
    """

    said: Sentence
    verdict: SpeedVerdict
    note: Sentence


def headline(measurement: Measurement) -> Headline:
    """Return the verdict of a measurement, and for which chats it holds."""
    found = results.results_of(measurement)
    best = found.headline
    if best is None or best.wall is None:
        note = sentence("No two answers were equally long, so their times cannot be compared. Measure again.")
        return Headline(sentence("Nothing to compare"), SpeedVerdict.TOO_FEW, note)
    ratio, verdict = best.wall, best.wall.verdict
    more = joined((_time_note(ratio), _where(measurement)), " ")
    if verdict is SpeedVerdict.FASTER:
        return Headline(_faster(ratio.median), verdict, more)
    if verdict is SpeedVerdict.SLOWER:
        return Headline(
            sentence("{times}: slower", times=times(ratio.median)),
            verdict,
            _consequence(measurement, found, more),
        )
    figures = sentence("{times} ({low}–{high})", times=times(ratio.median), **_range(ratio))
    if verdict is SpeedVerdict.UNCLEAR:
        note = sentence(
            "Some answers came faster and some slower {where}; drafting goes on by what it sees in each chat.",
            where=_where(measurement),
        )
        return Headline(sentence("No clear difference, {figures}", figures=figures), verdict, note)
    note = sentence("So few pairs say little. Measure again with more.")
    return Headline(sentence("Too few pairs, {figures}", figures=figures), verdict, note)


_WHY_NOT_OFF = {
    Doubt.UNTRIED: sentence("Other depths were not tried, so nothing is turned off: {more}."),
    Doubt.FEW_STEPS: sentence("Too few steps were verified, so nothing is turned off: {more}."),
    Doubt.TEMPERATURE: sentence("Chats have another temperature, so nothing is turned off: {more}."),
}


def _consequence(measurement: Measurement, found: Results, more: Sentence) -> Sentence:
    """Return the note on drafting that is slower: whether it is turned off, and why not."""
    if measurement.lifted:
        return sentence("It drafts all the same, as you wanted: {more}.", more=more)
    if found.winner == 0:
        return sentence("{more}; drafting is turned off there.", more=more)
    return _WHY_NOT_OFF[found.doubt].filled(more=more) if found.slower and found.doubt else more


def _where(measurement: Measurement) -> Sentence:
    return sentence("{where} ({kinds})", where=chats(measurement.bucket), kinds=kinds(measurement.kinds))


def _faster(ratio: float) -> Sentence:
    if times(ratio) == times(1.0):  # which would read as no gain
        return sentence("Less than 1 % faster")
    return sentence("{times} faster", times=times(ratio))


def _time_note(ratio: Ratio) -> Sentence:
    """Return the change of the time in percent, rounded so that it never looks better than it is."""
    share = (1 / ratio.median - 1) * 100
    if share > 0:
        return sentence("{share} % more waiting", share=math.ceil(share - 1e-9))
    less = math.floor(-share + 1e-9)
    return sentence("{share} % less waiting", share=less) if less else NOTHING


def turned_off(bans: Sequence[Measurement], day: str) -> Sentence:
    """Return where and why drafting is off, as in "off in chats up to 1k tokens: slower here (measured 29 Nov)".

    `bans` are the measurements that turn it off, the newest, of the date `day`, first; none gives no sentence.
    """
    if not bans:
        return NOTHING
    where = joined(chats(each.bucket) for each in reversed(bans))
    return sentence("off {where}: slower here (measured {day})", where=where, day=day)


# ---------------------------------------------------------------- the best depth


def whole_request(best: DepthResult) -> Sentence:
    if best.wall is None:
        return NOTHING
    whole = sentence("Whole request at depth {depth}: {range}.", depth=best.depth, range=_spread(best.wall))
    if best.decode is None:
        return whole
    low, high = times(best.decode.low)[:-1], times(best.decode.high)[:-1]
    alone = sentence("Writing alone: {times} ({low}–{high}).", times=times(best.decode.median), low=low, high=high)
    return joined((whole, alone), " ")


def _spread(ratio: Ratio) -> Sentence:
    return sentence("{low}–{high} over {pairs} pairs", pairs=ratio.pairs, **_range(ratio))


def _range(ratio: Ratio) -> dict[str, str]:
    return {"low": times(ratio.low)[:-1], "high": times(ratio.high)}


def per_step(best: DepthResult) -> Sentence:
    """Return the mean acceptance length with its ceiling, as in "2.9 of 4 tokens per step"."""
    if best.mean_acceptance_length is None:
        return NOTHING
    return sentence(
        "{length} of {ceiling} tokens per step", length=f"{best.mean_acceptance_length:.1f}", ceiling=best.ceiling
    )


def kept(best: DepthResult) -> Sentence:
    """Return the acceptance rate with its sample, as in "71 % of 412 drafts kept"."""
    if best.acceptance_rate is None:
        return NOTHING
    told = sentence("{share} of {count} drafts kept", share=percent(best.acceptance_rate), count=f"{best.drafted:,}")
    if not best.few:
        return told
    return joined((told, sentence("only {count} steps, so this may change", count=best.verify_steps)))


def cost(best: DepthResult) -> Sentence:
    """Return the cost of a step, as in "plain 7.5 ms, drafted 11.9 ms"."""
    if not best.step_s or not best.cycle_s:
        return NOTHING
    return sentence(
        "plain {plain}, drafted {drafted}",
        plain=_milliseconds(best.step_s),
        drafted=_milliseconds(best.cycle_s),
    )


def expected(best: DepthResult) -> Sentence:
    """Return the predicted decode ratio beside the measured one."""
    if best.predicted is None:
        return NOTHING
    if best.decode is None:
        return sentence("expected {expected}", expected=times(best.predicted))
    return sentence(
        "expected {expected}, measured {measured} in writing alone",
        expected=times(best.predicted),
        measured=times(best.decode.median),
    )


def explanation(best: DepthResult, measurement: Measurement) -> Sentence:
    if best.predicted is None or best.wall is None or not best.step_s or not best.cycle_s:
        return NOTHING
    writing = best.decode.median if best.decode else best.predicted
    if best.wall.median < writing * (1 - _GAP):
        reading = _reading_share(measurement)
        if reading is None:
            return sentence("The whole request gains less than the writing alone: reading the prompt takes as long.")
        return sentence(
            "The whole request gains less than the writing alone: reading the prompt, which takes {share} of a "
            "plain answer's time, is not made faster.",
            share=percent(reading),
        )
    if abs(writing / best.predicted - 1) > _GAP:
        return sentence("The steps differ much from each other, so their medians say less about the whole.")
    return sentence(
        "A step gives {length} tokens on average, and takes as long as {price} plain ones.",
        length=f"{best.mean_acceptance_length or 1.0:.1f}",
        price=f"{best.cycle_s / best.step_s:.1f}",
    )


def memory(best: DepthResult, plain: PlainResult) -> Sentence:
    if not best.peak_bytes or not plain.peak_bytes:
        return NOTHING
    more = best.peak_bytes - plain.peak_bytes
    with_, without = size(best.peak_bytes), size(plain.peak_bytes)
    told = sentence("{with_} with drafting, {without} without", with_=with_, without=without)
    if more <= 0 or with_ == without:
        return told
    return Sentence("{told} ({more})", (("told", told), ("more", sentence("{size} more", size=size(more)))))


def identical(best: DepthResult, measurement: Measurement) -> Sentence:
    """Return how many answers are those of plain decoding, and the first that is not."""
    if best.identical is None:
        return sentence(
            "not compared at temperature {temperature}; the check of exactness below does that",
            temperature=f"{measurement.temperature:g}",
        )
    same, compared = best.identical
    told = sentence("identical {same}/{compared}", same=same, compared=compared)
    if same == compared:
        return told
    first = next(run for run in measurement.runs if run.depth == best.depth and run.identical is False)
    return joined((told, sentence("; the first that differs: {prompt}", prompt=first.prompt)), "")


# ---------------------------------------------------------------- conditions


def cross_check(measurement: Measurement) -> Sentence:
    """Return how our plain decoding compares with mlx-lm's when they differ by more than 5 %."""
    ratio = measurement.odd_cross_check
    if ratio is None:
        return NOTHING
    told = sentence(
        "MTPLX decodes plainly {times} as fast as mlx-lm does ({range}).",
        times=times(ratio.median),
        range=_spread(ratio),
    )
    if ratio.median > 1:
        return told
    return joined((told, sentence("Against that, drafting gains less than is said here.")), " ")


_PRESSURES = {
    Pressure.LOW_POWER: sentence("low-power mode"),
    Pressure.BATTERY: sentence("on battery"),
    Pressure.HEAT: sentence("heat: {word}"),
    Pressure.LOAD: sentence("other programs at work"),
}


def pressure(measurement: Measurement) -> Sentence:
    """Return what may have slowed the machine down, as far as it is known."""
    heat = next((each.thermal for each in (measurement.before, measurement.after) if each.hot), "")
    found = joined(_PRESSURES[each].filled(word=heat) for each in measurement.pressure)
    return sentence("Measured under pressure: {what}.", what=found) if found else NOTHING


_POWERS = {
    Power.MAINS: sentence("mains power"),
    Power.BATTERY: sentence("battery"),
    Power.UNKNOWN: sentence("power unknown"),
}


def conditions(measurement: Measurement) -> Sentence:
    return joined((_POWERS[measurement.before.power], _load(measurement.before, measurement.after)))


def provenance(measurement: Measurement) -> tuple[Sentence, Sentence]:
    """Return a line on the model and the task, and one on the machine."""
    subject = measurement.subject
    task: list[str | Sentence] = [subject.model, subject.revision[:12], subject.quantization]
    task += [
        sentence("drafts for itself (MTP)") if subject.drafter == "mtp" else subject.drafter,
        context(measurement.context),
        sentence("{count} tokens each", count=measurement.tokens),
        sentence("temperature {value}", value=f"{measurement.temperature:g}"),
    ]
    memory_ = sentence("{size} memory", size=size(subject.memory)) if subject.memory else NOTHING
    machine = (subject.chip, memory_, subject.backend, subject.system, f"MTPLX {subject.version}")
    return joined(task, " · "), joined(machine, " · ")


def _milliseconds(seconds: float) -> Sentence:
    return sentence("{time} ms", time=f"{seconds * 1000:.3g}")


def _reading_share(measurement: Measurement) -> float | None:
    """Return the median share of TTFT in the time of plain answers, 0..1; None when unknown."""
    shares = [
        run.stats.ttft_s / run.wall_s for run in measurement.runs if not run.depth and run.stats.ttft_s and run.wall_s
    ]
    return statistics.median(shares) if shares else None


def _load(before: SystemState, after: SystemState) -> Sentence:
    if before.load is None or after.load is None:
        return sentence("load unknown")
    return sentence("load {before} before, {after} after", before=f"{before.load:.1f}", after=f"{after.load:.1f}")


# ---------------------------------------------------------------- a check of exactness

_EXACTNESS = {
    Exactness.IDENTICAL: sentence("Drafted and plain decoding were the same in every bit."),
    Exactness.ROUNDING: sentence(
        "The same within rounding: only where two words are equally likely may it take the other one."
    ),
    Exactness.TOO_FEW: sentence("Nothing differed, but too few words were drawn at random to tell."),
    Exactness.ODD: sentence(
        "Nothing differed, but the words drawn at random were odder than chance makes them in 99 of 100."
    ),
    Exactness.DIFFERENT: sentence("Drafting changes what this model says here, which is a fault."),
}


def exactness(report: ExactnessReport) -> Sentence:
    return _EXACTNESS[judge_exactness(report)]


def compared(report: ExactnessReport) -> tuple[tuple[Sentence, Sentence], ...]:
    chances = sentence(
        "{distance} apart at most, of 1; rounding explains {allowed}; {places} places after {prefixes} beginnings",
        distance=_small(report.distance),
        allowed=_small(report.allowed),
        places=report.rows,
        prefixes=report.prefixes,
    )
    first = sentence("the same at {same} of {places} places", same=report.first_choices, places=report.rows)
    return (
        (sentence("Chances of the next word"), chances),
        (sentence("Likeliest next word"), first),
        (sentence("Answers at temperature 0"), _greedy(report)),
        (sentence("Words drawn at random"), _drawn(report)),
    )


def limits(report: ExactnessReport) -> Sentence:
    shows = sentence("It can show that drafting goes wrong with this model on this computer")
    if report.p_value is not None:
        shows = sentence(
            "{more}, where that changes about {share} of the words drawn at random or more",
            more=shows,
            share=f"{report.visible:.0%}",
        )
    return sentence(
        "{more}. It cannot show that no other text would differ: that the method is exact is proven by mathematics, "
        "and tested on models small enough to count everything.",
        more=shows,
    )


def _greedy(report: ExactnessReport) -> Sentence:
    told = sentence("{same} of {all} word for word the same", same=report.greedy_same, all=report.greedy_prefixes)
    if not report.greedy_ties:
        return told
    ties = sentence(", {ties} parted where two words were equally likely", ties=report.greedy_ties)
    return joined((told, ties), "")


def _drawn(report: ExactnessReport) -> Sentence:
    if report.p_value is None:
        return sentence("too few to tell")
    if report.p_value >= ODD:
        share = sentence("{percent} of checks", percent=f"{report.p_value:.0%}")
    else:
        many = 100 if report.p_value >= CHANCE else 1_000_000
        share = sentence("fewer than one of {many} checks", many=f"{many:,}")
    count = f"{sum(report.tokens_at):,}"
    return sentence("{count}; chance alone makes them as odd as that in {share}", count=count, share=share)


def _small(value: float) -> str:
    # A value that is not 0 never looks like it.
    return "0" if value == 0 else f"{value:.1g}" if value < 0.01 else f"{value:.2f}"
