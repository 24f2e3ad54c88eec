"""The live figures in words: what is not known is a dash, and never a zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.chat.meters import MEASURING
from app.dashboard.charts.unit import Unit, share_words
from app.dashboard.live_figures import LiveState
from app.translate import tr
from mtplx_engine.conditions import Power
from mtplx_engine.measurement import FEW_STEPS
from mtplx_engine.words import size

if TYPE_CHECKING:
    from app.dashboard.live_figures import LiveReading
    from mtplx_engine.conditions import Conditions
    from mtplx_engine.stats import DecodeStats

UNKNOWN = "–"
_MINUTE_S, _HOUR_S = 60, 3600


@dataclass(frozen=True, slots=True)
class TileWords:
    """A figure and what it is.

    Attributes:
        value: The figure, "–" for none.
        caption: What it is, and of how much.
        few: Whether too little is behind it to go by.
    """

    value: str
    caption: str
    few: bool = False


def state_words(reading: LiveReading, model: str) -> str:
    """Return what the figures are of."""
    if reading.state is LiveState.NO_DATA:
        return tr("No answer yet. Ask something in a chat, and its figures show here.")
    if reading.state is LiveState.LIVE:
        return prompt_words(reading) or (
            tr("{model} is answering").format(model=model) if model else tr("Answering")
        )
    ago = _ago(reading.ended_s or 0.0)
    words = tr("Last answer, {ago}") if reading.state is LiveState.LAST else tr("An earlier answer, {ago}")
    return words.format(ago=ago)


def prompt_words(reading: LiveReading) -> str:
    """Return how far the prompt is read, "" when it is not being read."""
    prompt = reading.prompt
    if prompt is None:
        return ""
    words = tr("Reading {done} of {total} tokens").format(done=f"{prompt.done:,}", total=f"{prompt.total:,}")
    if prompt.left_s is None:
        return words
    return tr("{what}, about {seconds} s left").format(what=words, seconds=max(1, round(prompt.left_s)))


def speed_tile(reading: LiveReading) -> TileWords:
    """Return the speed."""
    is_live = reading.state is LiveState.LIVE
    caption = tr("over the last seconds") if is_live else tr("on average")
    if reading.speed is not None:
        return TileWords(Unit.SPEED.words(reading.speed), caption)
    if is_live and reading.stats.emitted:
        return TileWords(tr(MEASURING), tr("speed"), few=True)
    return TileWords(UNKNOWN, tr("speed"), few=True)


def length_tile(stats: DecodeStats) -> TileWords:
    """Return the tokens per verify step, and how many they can be: one more than are drafted in a step."""
    length = stats.mean_acceptance_length
    if length is None:
        return TileWords(UNKNOWN, tr("tokens per step"), few=True)
    caption = tr("of {ceiling} at most, {sample}").format(
        ceiling=f"{1 + stats.drafted / stats.verify_steps:.1f}", sample=_steps(stats)
    )
    return TileWords(Unit.PER_STEP.words(length), caption, _is_few(stats))


def steps_heading(stats: DecodeStats) -> str:
    """Return what is said above the numbers of drafts that the steps accepted, and how many steps there were."""
    if not stats.verify_steps:
        return tr("Drafts accepted in a step")
    return tr("Drafts accepted in a step, of {steps}").format(steps=_steps(stats))


def acceptance_tile(stats: DecodeStats) -> TileWords:
    """Return the acceptance rate and its sample."""
    rate = stats.acceptance_rate
    if rate is None:
        return TileWords(UNKNOWN, tr("accepted"), few=True)
    words = tr("accepted, {kept} of {drafted} drafted")
    caption = words.format(kept=f"{stats.accepted:,}", drafted=f"{stats.drafted:,}")
    return TileWords(share_words(rate), caption, _is_few(stats))


def memory_words(footprint: int | None) -> str:
    """Return how much memory the engine has."""
    return UNKNOWN if footprint is None else size(footprint)


def power_words(conditions: Conditions | None) -> str:
    """Return where the power comes from, and what slows the machine down; None before it was looked at."""
    if conditions is None:
        return UNKNOWN
    names = {Power.MAINS: tr("mains"), Power.BATTERY: tr("battery"), Power.UNKNOWN: UNKNOWN}
    parts = [names[conditions.power]]
    if conditions.low_power:
        parts.append(tr("low-power mode"))
    if conditions.thermal not in ("", "nominal"):
        parts.append(conditions.thermal)
    return ", ".join(parts)


def _is_few(stats: DecodeStats) -> bool:
    return stats.verify_steps < FEW_STEPS


def _steps(stats: DecodeStats) -> str:
    words = tr("only {count} steps") if _is_few(stats) else tr("{count} steps")
    return words.format(count=f"{stats.verify_steps:,}")


def _ago(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return tr("just now")
    if seconds < _HOUR_S:
        minutes = int(seconds // _MINUTE_S)
        return tr("1 minute ago") if minutes == 1 else tr("{count} minutes ago").format(count=minutes)
    hours = int(seconds // _HOUR_S)
    return tr("1 hour ago") if hours == 1 else tr("{count} hours ago").format(count=hours)
