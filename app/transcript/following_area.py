"""A column that is scrolled, and stays at its end while the end is in view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, Qt, QTimer
from PySide6.QtWidgets import QAbstractSlider, QFrame, QScrollArea

from app.transcript.transcript_page import LatestButton, TranscriptPage

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent

    from app.theme import Theme

_LAYOUT_PASSES = 4  # a text's height is known once its width is, and goes up through row, column and page
_NEAR = 24  # pixels from the end that still count as being there


class FollowingArea(QScrollArea):
    """Scrolls the rows of a column.

    Attributes:
        latest: Leads to the end while that is not in view.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._following = True
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Always there, so that nothing moves when a chat becomes longer than the window; seen only when of use.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page = TranscriptPage()
        self._column = page.column
        self.setWidget(page)
        self.latest = LatestButton(theme, self)
        self.latest.clicked.connect(self.to_latest)
        bar = self.verticalScrollBar()
        bar.setEnabled(False)
        bar.valueChanged.connect(self.look)
        bar.rangeChanged.connect(self._range_changed)

    @property
    def following(self) -> bool:
        """Whether the end is in view, and stays there when the column grows."""
        return self._following

    def follow(self, *, on: bool) -> None:
        """Stay at the end when the column grows next, or where it is."""
        self._following = on

    def fill(self) -> None:
        """Put more rows above where there is room for them, without moving what is in view."""

    def to_latest(self) -> None:
        """Go to the end and follow it."""
        self._following = True
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._show_latest()

    def turn_page(self, step: int) -> None:
        """Show the page below, or with -1 the one above."""
        actions = QAbstractSlider.SliderAction
        action = actions.SliderPageStepAdd if step > 0 else actions.SliderPageStepSub
        self.verticalScrollBar().triggerAction(action)

    def look(self) -> None:
        """See whether the end is in view by now, and whether rows above are needed."""
        bar = self.verticalScrollBar()
        self._following = bar.value() >= bar.maximum() - _NEAR
        self._show_latest()
        if bar.value() < self.viewport().height():
            self._fill_soon()

    def lay_out(self) -> None:
        """Lay out now, not later: in between, new rows above would push down what is being read."""
        for _ in range(_LAYOUT_PASSES):
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to an end of the column, for a row that has the focus as well."""
        if event.key() == Qt.Key.Key_Home:
            self.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderToMinimum)
        elif event.key() == Qt.Key.Key_End:
            self.to_latest()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the button in its place, and fill what has become free."""
        super().resizeEvent(event)
        self._show_latest()
        self._fill_soon()

    def showEvent(self, event: QShowEvent) -> None:
        """Fill what could not be laid out before."""
        super().showEvent(event)
        self._fill_soon()

    def _fill_soon(self) -> None:
        QTimer.singleShot(0, self, self.fill)

    def _range_changed(self, _minimum: int, maximum: int) -> None:
        bar = self.verticalScrollBar()
        bar.setEnabled(maximum > 0)
        if self._following:
            bar.setValue(maximum)
        self._show_latest()

    def _show_latest(self) -> None:
        self.latest.float_in(self.viewport(), shown=not self._following)
