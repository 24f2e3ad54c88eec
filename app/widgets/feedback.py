"""Feedback to the user: announcements, progress bar, pulse, toast, context ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QEasingCurve,
    QEvent,
    QObject,
    QPointF,
    QRectF,
    QSize,
    Qt,
    QTimer,
    QVariantAnimation,
    Signal,
)
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QLabel, QProgressBar, QPushButton, QToolTip, QWidget

from app.i18n import tr
from app.palette import tint
from app.theme import SPACE_L, SPACE_S
from app.widgets.layouts import hbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QHideEvent, QShowEvent

    from app.theme import Theme


def announce(widget: QWidget, text: str) -> None:
    """Have a screen reader say `text` when it has finished what it is saying."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, text))


def show_input_error(field: QWidget, text: str) -> None:
    """Show why an input is refused in a tooltip below its field, and announce it."""
    QToolTip.showText(field.mapToGlobal(field.rect().bottomLeft()), text, field)
    announce(field, text)


_BAR_HEIGHT = 2


class LoadingBar(QWidget):
    """A progress bar two pixels high that keeps its room, so that nothing moves when it fills or empties."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._fraction: float | None = None
        self.setFixedHeight(_BAR_HEIGHT)
        theme.restyling.add(self._restyle)

    @property
    def fraction(self) -> float | None:
        """Progress, 0..1; None when nothing loads."""
        return self._fraction

    def set_fraction(self, fraction: float | None) -> None:
        self._fraction = fraction
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._fraction is None:
            return
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.palette.selected)
        filled = QRectF(0, 0, self.width() * min(max(self._fraction, 0.0), 1.0), self.height())
        painter.fillRect(filled, QColor(self._theme.palette.accent))

    def _restyle(self) -> None:
        self.update()  # which itself cannot be held weakly


_PULSE_SIDE, _PULSE_RADIUS = 12, 4.0
_PULSE_MS = 1400
_PULSE_FAINT = 0.25


class Pulse(QWidget):
    """A pulsing dot that shows that something is going on; animated only while it is visible."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedSize(_PULSE_SIDE, _PULSE_SIDE)
        self._animation = QVariantAnimation(self, startValue=_PULSE_FAINT, endValue=_PULSE_FAINT, duration=_PULSE_MS)
        self._animation.setKeyValueAt(0.5, 1.0)
        self._animation.setEasingCurve(QEasingCurve.Type.InOutSine)
        self._animation.setLoopCount(-1)
        self._animation.valueChanged.connect(self.update)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._theme.reduced_motion:
            self._animation.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._animation.stop()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(
            tint(
                self._theme.palette.accent,
                1.0 if self._theme.reduced_motion else self._animation.currentValue() or _PULSE_FAINT,
            )
        )
        painter.drawEllipse(QPointF(_PULSE_SIDE / 2, _PULSE_SIDE / 2), _PULSE_RADIUS, _PULSE_RADIUS)


_SHOWN_MS, _SHOWN_MS_PER_CHARACTER = 8000, 80
_TOAST_WIDTH = 420
_MAX_UNDOS = 50  # each holds what was deleted
_ABOVE_EDGE = 52  # leaves the pill below it in reach


class UndoToast(QFrame):
    """A notice that floats above the lower edge of its parent for a while; a new one replaces the last.

    It also is the undo stack of the window: an undo stays available when its notice is gone or replaced.
    """

    undoable = Signal(bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._area = parent
        self.setObjectName("toast")
        self._action: Callable[[], None] | None = None
        self._undos: list[Callable[[], None]] = []  # a stack
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setWordWrap(True)
        self.button = QPushButton()
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.clicked.connect(self._run)
        margins = (SPACE_L, SPACE_S, SPACE_S, SPACE_S)
        hbox((self._label, 1), self.button, parent=self, margins=margins, spacing=SPACE_S)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.hide)
        parent.installEventFilter(self)
        self.hide()

    @property
    def can_undo(self) -> bool:
        return bool(self._undos)

    def offer(self, text: str, action_text: str, action: Callable[[], None]) -> None:
        """Show `text` for a while, with a button that runs `action`."""
        self._action = action
        self._label.setText(text)
        self.button.setText(action_text)
        self.button.setVisible(bool(action_text))
        self.button.setAccessibleName(f"{action_text}: {text}")
        self._place()
        self.show()
        self.raise_()
        self._timer.start(max(_SHOWN_MS, _SHOWN_MS_PER_CHARACTER * len(text)))

    def offer_undo(self, text: str, undo: Callable[[], None]) -> None:
        """Show `text` for a while, with a button that runs `undo`; the Edit menu offers it for longer."""
        self._undos = [*self._undos[1 - _MAX_UNDOS :], undo]
        self.offer(text, tr("Undo"), self.undo)
        self.undoable.emit(True)

    def tell(self, text: str) -> None:
        self.offer(text, "", self.hide)

    def undo(self) -> None:
        if not self._undos:
            return
        undo = self._undos.pop()
        if self._action == self.undo:
            self._dismiss()
        self.undoable.emit(self.can_undo)
        undo()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        one_line = self._label.fontMetrics().horizontalAdvance(self._label.text()) + 1
        around = self.sizeHint().width() - self._label.sizeHint().width()
        width = min(one_line + around, _TOAST_WIDTH, self._area.width() - 2 * SPACE_L)
        height = self.heightForWidth(width)
        top = self._area.height() - height - _ABOVE_EDGE
        self.setGeometry((self._area.width() - width) // 2, top, width, height)

    def _run(self) -> None:
        action = self._action
        self._dismiss()
        if action is not None:
            action()

    def _dismiss(self) -> None:
        self._timer.stop()
        self.hide()
        self._action = None


_RING_SIDE = 20
_RING_WIDTH = 2.5
_TIGHT = 0.8  # share of the window from which on the ring warns


class ContextRing(QProgressBar):
    """Ring that shows the `share` of the context window that is used, 0..1; to a screen reader it is a progress bar."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.share = 0.0
        self.setFixedSize(QSize(_RING_SIDE, _RING_SIDE))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(tr("Context"))
        theme.changed.connect(self.update)

    def set_share(self, share: float, name: str, tooltip: str) -> None:
        self.share = share
        self.setValue(round(100 * share))
        self.setAccessibleName(name)
        self.setToolTip(tooltip)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        inset = _RING_WIDTH / 2 + 1
        area = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        for color, share in (
            (palette.border, 1.0),
            (palette.warning if self.share >= _TIGHT else palette.secondary, self.share),
        ):
            pen = QPen(QColor(color), _RING_WIDTH)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            painter.setPen(pen)
            painter.drawArc(area, 90 * 16, -round(360 * 16 * share))
        if self.hasFocus():
            painter.setPen(QPen(QColor(palette.accent), 1))
            painter.drawEllipse(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
