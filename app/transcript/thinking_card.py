"""What the model thought, above its answer: one line that says for how long, and all of it when it is opened."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.render.formats import Formats
from app.render.intake import clean
from app.render.plain import append_plain, write_plain
from app.theme import SMALL_PX, SPACE_M, SPACE_S
from app.translate import tr
from app.widgets.fitted_text import FittedText
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from app.render.style import RenderStyle
    from app.theme import Theme

_FLUSH_MS = 100
_TICK_MS = 1000
_ICON = 16
_BAR = 2.0
# A thought this long takes long to lay out; when the card is opened, its end is shown.
_SHOWN = 60_000


class ThinkingCard(QWidget):
    """Closed at first, and free of charge while it is; open, it shows the thoughts as they come.

    Attributes:
        head: The line with the words, which opens and closes the card.
        view: The thoughts; made when the card is opened for the first time.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pieces: list[str] = []
        self._shown = 0  # pieces that are in the view
        self._started: float | None = None
        self.view: FittedText | None = None
        self.head = QPushButton(self)
        self.head.setObjectName("thinking")
        self.head.setCheckable(True)
        self.head.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.head.setFont(theme.figures_font(SMALL_PX))
        self.head.toggled.connect(self._toggled)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(SPACE_S)
        self._layout.addWidget(self.head, 0, Qt.AlignmentFlag.AlignLeft)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._throttle = Throttle(_FLUSH_MS, self)
        self._throttle.due.connect(self._flush)
        self._clock = QTimer(self)
        self._clock.setInterval(_TICK_MS)
        self._clock.timeout.connect(self._tick)
        theme.restyling.add(self._restyle)
        self._say(tr("Thinking…"))

    def append(self, text: str) -> None:
        """Add to the thoughts of an answer that is being written."""
        if self._started is None:
            self._started = time.monotonic()
            if self.isVisible():
                self._clock.start()
        self._pieces.append(text)
        if self.is_open:
            self._throttle.request()

    def finish(self, thought_ms: int) -> None:
        """Say that the thinking is over, and how long it took."""
        self._clock.stop()
        self._started = None
        if self.is_open:
            self._throttle.cancel()
            self._flush()
        self._say(thought_words(thought_ms))

    def set_text(self, text: str, thought_ms: int) -> None:
        """Show finished thoughts in place of what is shown."""
        self._pieces = [text]
        self._shown = 0
        self._clear()
        self.finish(thought_ms)

    def text(self) -> str:
        """Return the thoughts, as they were given."""
        return "".join(self._pieces)

    @property
    def is_open(self) -> bool:
        """Whether the thoughts are shown."""
        return self.head.isChecked()

    def showEvent(self, event: QShowEvent) -> None:
        """Let the time run."""
        super().showEvent(event)
        if self._started is not None:
            self._tick()
            self._clock.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Rest."""
        super().hideEvent(event)
        self._clock.stop()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint a bar beside the thoughts."""
        if self.view is not None and self.is_open:
            place = self.view.geometry()
            painter = QPainter(self)
            bar = QRectF(0, place.top(), _BAR, place.height())
            painter.fillRect(bar, QColor(self._theme.palette.border))

    def _tick(self) -> None:
        if self._started is not None:
            seconds = int(time.monotonic() - self._started)
            self._say(tr("Thinking… {seconds} s").format(seconds=seconds) if seconds else tr("Thinking…"))

    def _say(self, words: str) -> None:
        self.head.setText(words)
        self.head.setAccessibleName(words)
        self.head.setAccessibleDescription(
            tr("Hides the thoughts") if self.is_open else tr("Shows the thoughts")
        )
        palette = self._theme.palette
        icon = "chevron-down" if self.is_open else "chevron-right"
        self.head.setIcon(self._theme.icons.icon(icon, palette.secondary, palette.tertiary, _ICON))

    def _toggled(self) -> None:
        if self.is_open and self.view is None:
            self._make_view()
        if self.view is not None:
            self.view.setVisible(self.is_open)
        if self.is_open:
            self._flush()
        self._say(self.head.text())
        self.update()

    def _make_view(self) -> None:
        self.view = FittedText(self)
        self.view.setAccessibleName(tr("Thoughts"))
        self._layout.addWidget(self.view)
        self._layout.setContentsMargins(0, 0, 0, SPACE_S)
        self.view.setViewportMargins(SPACE_M, 0, 0, 0)
        self._clear()

    def _clear(self) -> None:
        if self.view is not None:
            write_plain(self.view.document(), "", self._style())
            self.view.take_colors(self._style())
            self._shown = 0

    def _flush(self) -> None:
        """Show what has come since."""
        if self.view is None:
            return
        text = "".join(self._pieces[self._shown :])
        if self._shown == 0:
            text = text.lstrip("\n")[-_SHOWN:]
        self._shown = len(self._pieces)
        append_plain(self.view.document(), clean(text), Formats(self._style()))
        self.view.fit()
        self.update()

    def _restyle(self) -> None:
        self._clear()
        if self.is_open:
            self._flush()
        self._say(self.head.text())

    def _style(self) -> RenderStyle:
        style = self._theme.render_style()
        return replace(style, text=style.secondary, text_size=style.text_size - 1)


def thought_words(thought_ms: int) -> str:
    """Say how long the thinking took."""
    seconds = round(thought_ms / 1000)
    if seconds < 1:
        return tr("Thought for a moment")
    if seconds < 60:
        return tr("Thought for {seconds} s").format(seconds=seconds)
    return tr("Thought for {minutes} min {seconds} s").format(minutes=seconds // 60, seconds=seconds % 60)
