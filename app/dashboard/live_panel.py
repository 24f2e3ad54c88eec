"""The Now page: the speed and the drafting of the answer being generated, in numbers and charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.chat.metrics import MEASURING, depth_text
from app.dashboard.charts.axis import Unit, share_text
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

    from app.dashboard.live_stats import LiveFeed, LiveReading, PowerWatch
    from app.theme import Theme
    from mtplx_engine.stats import DecodeStats
    from mtplx_engine.util.system import SystemState


UNKNOWN = "–"
_MINUTE_S, _HOUR_S = 60, 3600


@dataclass(frozen=True, slots=True)
class TileText:
    """A number with its unit ("–" for none), its caption, and whether its sample is too `few` to go by."""

    value: str
    caption: str
    few: bool = False


def state_text(reading: LiveReading, model: str) -> str:
    """Return which answer the statistics are of."""
    if reading.state is LiveState.NO_DATA:
        return tr("No answer yet. Ask something in a chat, and its figures show here.")
    if reading.state is LiveState.LIVE:
        return prompt_text(reading) or (tr("{model} is answering").format(model=model) if model else tr("Answering"))
    ago = _ago(reading.ended_s or 0.0)
    pattern = tr("Last answer, {ago}") if reading.state is LiveState.LAST else tr("An earlier answer, {ago}")
    return pattern.format(ago=ago)


def prompt_text(reading: LiveReading) -> str:
    """Return the progress of the prefill, "" before and after."""
    prompt = reading.prompt
    if prompt is None:
        return ""
    text = tr("Reading {done} of {total} tokens").format(done=f"{prompt.done:,}", total=f"{prompt.total:,}")
    if prompt.left_s is None:
        return text
    return tr("{what}, about {seconds} s left").format(what=text, seconds=max(1, round(prompt.left_s)))


def speed_tile(reading: LiveReading) -> TileText:
    is_live = reading.state is LiveState.LIVE
    caption = tr("over the last seconds") if is_live else tr("on average")
    if reading.speed is not None:
        return TileText(Unit.SPEED.text(reading.speed), caption)
    if is_live and reading.stats.emitted:
        return TileText(tr(MEASURING), tr("speed"), few=True)
    return TileText(UNKNOWN, tr("speed"), few=True)


def length_tile(stats: DecodeStats) -> TileText:
    """Return the mean acceptance length with its ceiling: one more than the drafts of a step."""
    length = stats.mean_acceptance_length
    if length is None:
        return TileText(UNKNOWN, tr("tokens per step"), few=True)
    caption = tr("of {ceiling} at most, {sample}").format(
        ceiling=f"{1 + stats.drafted / stats.verify_steps:.1f}", sample=_steps(stats)
    )
    return TileText(Unit.PER_STEP.text(length), caption, _is_few(stats))


def steps_heading(stats: DecodeStats) -> str:
    """Return the heading of the histogram, with the number of verify steps."""
    if not stats.verify_steps:
        return tr("Drafts accepted in a step")
    return tr("Drafts accepted in a step, of {steps}").format(steps=_steps(stats))


def acceptance_tile(stats: DecodeStats) -> TileText:
    rate = stats.acceptance_rate
    if rate is None:
        return TileText(UNKNOWN, tr("accepted"), few=True)
    pattern = tr("accepted, {kept} of {drafted} drafted")
    caption = pattern.format(kept=f"{stats.accepted:,}", drafted=f"{stats.drafted:,}")
    return TileText(share_text(rate), caption, _is_few(stats))


def memory_text(footprint: int | None) -> str:
    """Return the memory of the engine process in GB, given in bytes."""
    return UNKNOWN if footprint is None else size(footprint)


def power_text(state: SystemState | None) -> str:
    """Return the power source and what slows the machine down; None before the state was read."""
    if state is None:
        return UNKNOWN
    names = {Power.MAINS: tr("mains"), Power.BATTERY: tr("battery"), Power.UNKNOWN: UNKNOWN}
    parts = [names[state.power]]
    if state.low_power:
        parts.append(tr("low-power mode"))
    if state.thermal not in ("", "nominal"):
        parts.append(state.thermal)
    return ", ".join(parts)


def _is_few(stats: DecodeStats) -> bool:
    return stats.verify_steps < FEW_STEPS


def _steps(stats: DecodeStats) -> str:
    pattern = tr("only {count} steps") if _is_few(stats) else tr("{count} steps")
    return pattern.format(count=f"{stats.verify_steps:,}")


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
_AGEING_MS = 1_000  # so often the strip moves on and the age of the last answer grows


class LivePanel(QWidget):
    """Shows a `LiveFeed` while it is on the screen. Its layout stays as numbers come and go.

    Attributes:
        drafting: The draft depth and its reason.
        supply: Power source of the machine.
    """

    def __init__(self, theme: Theme, feed: LiveFeed, power: PowerWatch, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._power = power
        self.state, self.drafting = _label(theme, CODE_PX, self), _label(theme, CODE_PX, self)
        self.memory, self.supply = _label(theme, CODE_PX, self), _label(theme, CODE_PX, self)
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
        super().showEvent(event)
        self._ageing.start()
        self._power.want(on=True)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._ageing.stop()
        self._throttle.cancel()
        self._power.want(on=False)

    def _request(self) -> None:
        if self.isVisible():
            self._throttle.request()

    def _refresh(self) -> None:
        reading = self._feed.reading()
        _show(self.state, state_text(reading, self._feed.model))
        _show(self.drafting, UNKNOWN if reading.depth is None else depth_text(reading.depth))
        _show(self.memory, memory_text(reading.footprint))
        _show(self.supply, power_text(self._power.state))
        stats = reading.stats
        is_stale = reading.state is LiveState.STALE
        texts = (speed_tile(reading), length_tile(stats), acceptance_tile(stats))
        for tile, text in zip(self.tiles, texts, strict=True):
            tile.show_text(text, quiet=is_stale or text.few)
        self.strip.show_data(SpeedStrip(reading.speeds))
        self.positions.show_data(PositionBars(stats.accepted_at, stats.verify_steps))
        self.steps.show_data(AcceptedHistogram.of(stats.accepted_at, stats.verify_steps))
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
        for row, (name, value) in enumerate(named):
            label = QLabel(name, self)
            label.setFont(theme.font(CODE_PX))
            label.setProperty("tone", "secondary")
            value.setAccessibleName(name)
            facts.addWidget(label, row, 0)
            facts.addWidget(value, row, 1)
        minute = Section(theme, self.strip.accessibleName())
        minute.add(self.strip)
        positions = Section(theme, self.positions.accessibleName())
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
    """A large number above its caption."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.value = _label(theme, _VALUE_PX, self)
        font = theme.tabular_font(_VALUE_PX)
        font.setWeight(QFont.Weight.DemiBold)
        self.value.setFont(font)
        self.caption = _label(theme, SMALL_PX, self)
        self.caption.setProperty("tone", "secondary")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_XS)
        column.addWidget(self.value)
        column.addWidget(self.caption)

    def show_text(self, text: TileText, *, quiet: bool) -> None:
        """Show a number, quiet where it is stale or its sample is small."""
        tone = "tertiary" if quiet else ""
        if self.value.property("tone") != tone:
            self.value.setProperty("tone", tone)
            restyle(self.value)
        _show(self.value, text.value)
        _show(self.caption, text.caption)
        self.value.setAccessibleName(text.caption)


def _label(theme: Theme, pixels: int, parent: QWidget) -> ElidedLabel:
    """Return a left-aligned label whose size hint does not grow with its text."""
    label = ElidedLabel(parent)
    label.setFont(theme.tabular_font(pixels))
    label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    return label


def _show(label: ElidedLabel, text: str) -> None:
    if label.text() != text:  # each change is a new layout
        label.setText(text)
