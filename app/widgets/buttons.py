"""Buttons: with a menu, for a choice, with an icon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QActionGroup, QColor, QPainter
from PySide6.QtWidgets import QMenu, QPushButton, QSizePolicy, QToolButton, QWidget

from app.theme import RADIUS, SPACE_S, SPACE_XS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QPaintEvent

    from app.theme import Theme


_CHEVRON = 12
_HEIGHT = 28


class MenuButton(QPushButton):
    """A button with a menu, as wide as its text, which is elided when there is too little room."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        text = self.fontMetrics().horizontalAdvance(self.text())
        return QSize(text + _CHEVRON + 2 * SPACE_S + SPACE_XS + 1, _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(_CHEVRON + 2 * SPACE_S, _HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.isDown() or self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.selected if self.isDown() else palette.hover)
            painter.drawRoundedRect(self.rect(), RADIUS, RADIUS)
        if self.hasFocus():
            painter.setPen(QColor(palette.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            ring = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
            painter.drawRoundedRect(ring, RADIUS, RADIUS)
        right = self.width() - SPACE_S - _CHEVRON
        area = QRect(SPACE_S, 0, right - SPACE_XS - SPACE_S + 1, self.height())
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, area.width())
        painter.setPen(QColor(palette.text))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        scale = max(round(self.devicePixelRatioF()), 1)
        chevron = self._theme.icons.pixmap("chevron-down", palette.secondary, _CHEVRON, scale)
        painter.drawPixmap(right, (self.height() - _CHEVRON) // 2, chevron)


class ChoiceButton(MenuButton):
    """A pop-up button for one of several values, as wide as there is room; `chosen` carries the new value."""

    chosen = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._name = name
        self._menu = QMenu(self)
        self._menu.setAccessibleName(name)
        self.setMenu(self._menu)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._group = QActionGroup(self)
        self.set_choices((), None)

    def set_choices(self, choices: Iterable[tuple[object, str]], chosen: object, text: str = "") -> None:
        """Offer `choices`, values with their names; `text` is shown instead of the name of the `chosen` one."""
        for action in self._group.actions():
            self._menu.removeAction(action)
            self._group.removeAction(action)
            action.deleteLater()
        for value, name in choices:
            action = self._menu.addAction(name.replace("&", "&&"))
            action.setCheckable(True)
            # Not as the action's data: Qt would turn an enum into its text.
            action.triggered.connect(lambda *_, value=value: self.chosen.emit(value))
            self._group.addAction(action)
            if value == chosen and type(value) is type(chosen):
                action.setChecked(True)
                text = text or name
        self.setText(text)
        self.setAccessibleName(f"{self._name}: {text}")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(self._theme.palette.border))
        painter.setBrush(QColor(self._theme.palette.raised))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        painter.end()
        super().paintEvent(event)


class IconButton(QToolButton):
    """A flat button with an icon; its label is the tooltip and the accessible name."""

    def __init__(
        self,
        theme: Theme,
        icon: str,
        label: str,
        *,
        color: str = "secondary",
        size: int = 16,
        side: int = 28,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon_name = icon
        self._color = color
        self.setIconSize(QSize(size, size))
        self.setFixedSize(side, side)
        # Reached with the keyboard; a click leaves the focus where the user types.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.set_face(icon, label, color)
        theme.restyling.add(self._tint)

    def set_face(self, icon: str, label: str, color: str | None = None) -> None:
        """Show another icon and label; `color` names a field of the palette."""
        self._icon_name = icon
        self._color = color or self._color
        self.setToolTip(label)
        self.setAccessibleName(label)
        self._tint()

    def _tint(self) -> None:
        palette = self._theme.palette
        color = getattr(palette, self._color)
        self.setIcon(self._theme.icons.icon(self._icon_name, color, palette.tertiary, self.iconSize().width()))
