"""The figures of the answer that is being written, at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.chat.depth_words import depth_words
from app.dashboard import live_words
from app.dashboard.charts.accepted_histogram import AcceptedHistogram
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.position_bars import PositionBars
from app.dashboard.charts.speed_strip import SpeedStrip
from app.dashboard.live_figures import LiveState
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_XS
from app.translate import tr
from app.widgets.elided_label import ElidedLabel
from app.widgets.restyle import restyle
from app.widgets.section import Section
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QShowEvent

    from app.dashboard.live_feed import LiveFeed
    from app.dashboard.live_words import TileWords
    from app.dashboard.power_watch import PowerWatch
    from app.theme import Theme

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
        _say(self.state, live_words.state_words(reading, self._feed.model))
        _say(self.drafting, live_words.UNKNOWN if reading.depth is None else depth_words(reading.depth))
        _say(self.memory, live_words.memory_words(reading.footprint))
        _say(self.supply, live_words.power_words(self._power.conditions))
        stats = reading.stats
        is_stale = reading.state is LiveState.STALE
        words = (
            live_words.speed_tile(reading),
            live_words.length_tile(stats),
            live_words.acceptance_tile(stats),
        )
        for tile, shown in zip(self.tiles, words, strict=True):
            tile.show_words(shown, quiet=is_stale or shown.few)
        self.strip.show_figures(SpeedStrip(reading.speeds))
        self.positions.show_figures(PositionBars(stats.accepted_at, stats.verify_steps))
        self.steps.show_figures(AcceptedHistogram.of(stats.accepted_at, stats.verify_steps))
        heading = live_words.steps_heading(stats)
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
