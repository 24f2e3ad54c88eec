"""The Now tab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.chat.metrics import MEASURING, depth_words
from app.dashboard.charts.axis import Unit, share_words
from app.dashboard.charts.bars import AcceptedHistogram, PositionBars
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.lines import SpeedStrip
from app.dashboard.live_stats import LiveState
from app.i18n import tr
from app.stylesheet import restyle
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_XS
from app.widgets.cards import Section
from app.widgets.labels import ElidedLabel
from app.widgets.throttle import Throttle
from mtplx_engine.measure.measurement import FEW_STEPS
from mtplx_engine.util.formatting import size
from mtplx_engine.util.system import Power

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QShowEvent

    from app.dashboard.live_stats import LiveFeed, LiveReading
    from app.dashboard.records import PowerWatch
    from app.theme import Theme
    from mtplx_engine.stats import DecodeStats
    from mtplx_engine.util.system import SystemState


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


def power_words(conditions: SystemState | None) -> str:
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


_VALUE_PX = 24
_INTERVAL_MS = 250
_AGEING_MS = 1_000  # the strip moves on, and the last answer grows old


class LivePanel(QWidget):
    """Follows the feed while it is on the screen. Nothing in it moves as figures come and go.

    Attributes:
        state: What the figures are of.
        drafting: How deep is drafted, and why.
        memory: The engine's memory.
        supply: What the machine runs on.
        tiles: The three large figures: speed, tokens per step, acceptance.
        strip: The speed over the last minute.
        positions: Acceptance by position.
        steps: How many draft tokens the verify steps accepted.
    """

    def __init__(
        self, theme: Theme, feed: LiveFeed, power: PowerWatch, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._feed = feed
        self._power = power
        self.state, self.drafting = _line(theme, CODE_PX, self), _line(theme, CODE_PX, self)
        self.memory, self.supply = _line(theme, CODE_PX, self), _line(theme, CODE_PX, self)
        self.tiles = tuple(_Tile(theme, self) for _ in range(3))
        self.strip = Chart(theme, tr("Speed over the last minute"), SpeedStrip((None,)), self)
        self.positions = Chart(theme, tr("Acceptance by position"), PositionBars((), 0), self)
        self.steps = Chart(theme, tr("Drafts accepted in a step"), AcceptedHistogram(()), self)
        self._steps = Section(theme, self.steps.accessibleName())
        self._throttle = Throttle(_INTERVAL_MS, self)
        self._throttle.due.connect(self._refresh)
        self._ageing = QTimer(self, interval=_AGEING_MS)
        self._ageing.timeout.connect(self._throttle.request)
        feed.changed.connect(self._request)
        power.changed.connect(self._request)
        self._lay_out(theme)
        self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        """Begin to follow."""
        super().showEvent(event)
        self._ageing.start()
        self._power.want(on=True)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop: nobody looks."""
        super().hideEvent(event)
        self._ageing.stop()
        self._throttle.cancel()
        self._power.want(on=False)

    def _request(self) -> None:
        if self.isVisible():
            self._throttle.request()

    def _refresh(self) -> None:
        reading = self._feed.reading()
        _say(self.state, state_words(reading, self._feed.model))
        _say(self.drafting, UNKNOWN if reading.depth is None else depth_words(reading.depth))
        _say(self.memory, memory_words(reading.footprint))
        _say(self.supply, power_words(self._power.conditions))
        stats = reading.stats
        is_stale = reading.state is LiveState.STALE
        words = (
            speed_tile(reading),
            length_tile(stats),
            acceptance_tile(stats),
        )
        for tile, shown in zip(self.tiles, words, strict=True):
            tile.show_words(shown, quiet=is_stale or shown.few)
        self.strip.show_figures(SpeedStrip(reading.speeds))
        self.positions.show_figures(PositionBars(stats.accepted_at, stats.verify_steps))
        self.steps.show_figures(AcceptedHistogram.of(stats.accepted_at, stats.verify_steps))
        heading = steps_heading(stats)
        if self._steps.heading.text() != heading:
            self._steps.heading.setText(heading)

    def _lay_out(self, theme: Theme) -> None:
        tiles = QHBoxLayout()
        tiles.setSpacing(SPACE_L)
        for tile in self.tiles:
            tiles.addWidget(tile, 1)
        facts = QGridLayout()
        facts.setHorizontalSpacing(SPACE_L)
        facts.setVerticalSpacing(SPACE_XS)
        facts.setColumnStretch(1, 1)
        named = (
            (tr("Drafting"), self.drafting),
            (tr("Memory of the engine"), self.memory),
            (tr("Power"), self.supply),
        )
        for row, (name, line) in enumerate(named):
            label = QLabel(name, self)
            label.setFont(theme.font(CODE_PX))
            label.setProperty("tone", "secondary")
            line.setAccessibleName(name)
            facts.addWidget(label, row, 0)
            facts.addWidget(line, row, 1)
        minute, positions = (
            Section(theme, self.strip.accessibleName()),
            Section(theme, self.positions.accessibleName()),
        )
        minute.add(self.strip)
        positions.add(self.positions)
        self._steps.add(self.steps)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_M)
        column.addWidget(self.state)
        column.addLayout(tiles)
        column.addSpacing(SPACE_M)
        column.addLayout(facts)
        column.addSpacing(SPACE_M)
        column.addWidget(minute)
        column.addWidget(positions)
        column.addSpacing(SPACE_M)
        column.addWidget(self._steps)
        column.addStretch(1)


class _Tile(QWidget):
    """A large figure above what it is."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.value = _line(theme, _VALUE_PX, self)
        font = theme.figures_font(_VALUE_PX)
        font.setWeight(QFont.Weight.DemiBold)
        self.value.setFont(font)
        self.caption = _line(theme, SMALL_PX, self)
        self.caption.setProperty("tone", "secondary")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_XS)
        column.addWidget(self.value)
        column.addWidget(self.caption)

    def show_words(self, words: TileWords, *, quiet: bool) -> None:
        """Show a figure, quieter where little or nothing is behind it."""
        tone = "tertiary" if quiet else ""
        if self.value.property("tone") != tone:
            self.value.setProperty("tone", tone)
            restyle(self.value)
        _say(self.value, words.value)
        _say(self.caption, words.caption)
        self.value.setAccessibleName(words.caption)


def _line(theme: Theme, pixels: int, parent: QWidget) -> ElidedLabel:
    """Return a line at the left that never asks for more room when its words grow."""
    line = ElidedLabel(parent)
    line.setFont(theme.figures_font(pixels))
    line.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    return line


def _say(line: ElidedLabel, words: str) -> None:
    """Change words only when they are other ones: each change is a new layout."""
    if line.text() != words:
        line.setText(words)
