"""Long lines of a code block: wrapped, or one row each behind a scroll bar of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QScrollBar, QToolButton

from app.icons import shared_icons
from app.render.measures import Measures
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.render.code_block import CodeBlock
    from app.render.style import RenderStyle

_SIDE = 24
_ICON = 14
_STEP = 40


class WrapButton(QToolButton):
    """Lets the lines of one code block be wrapped, or not; seen only where a line is too long.

    Attributes:
        bar: Moves lines that are not wrapped.
        panel: The panel in which the two were placed last.
    """

    def __init__(self, code: CodeBlock, style: RenderStyle, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._code = code
        self._style = style
        measures = Measures(style.text_size)
        self._inset = measures.code_inset
        self._icon = measures.px(_ICON)
        self.panel = QRectF()
        self.bar = QScrollBar(Qt.Orientation.Horizontal, viewport)
        self.bar.setAccessibleName(tr("Moves the code sideways"))
        self.bar.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.bar.setSingleStep(_STEP)
        self.bar.setFixedHeight(measures.code_bottom)
        self.bar.valueChanged.connect(code.shift)
        self.bar.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent, on=False)  # the panel shows through
        self.bar.hide()
        self.setCheckable(True)
        self.setChecked(code.wrapped)
        self.setFixedSize(QSize(measures.px(_SIDE), measures.px(_SIDE)))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.toggled.connect(self._toggled)
        self._name()
        self.hide()

    def place(self, panel: QRectF, visible: QRectF) -> None:
        """Find the places of button and bar; `visible` is what is seen of the view."""
        self.panel = panel
        room = panel.width() - 2 * self._inset
        widest = self._code.widest()
        self.setVisible(widest > room or not self.isChecked())
        self.bar.setVisible(not self.isChecked() and widest > room)
        self.bar.setPageStep(round(room))
        self.bar.setMaximum(max(0, round(widest - room)))
        self.bar.setFixedWidth(max(1, round(room)))
        bottom = min(panel.bottom(), visible.bottom()) - self.bar.height()
        self.bar.move(round(panel.left() + self._inset), round(max(panel.top(), bottom)))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the icon on the colour of the panel."""
        style = self._style
        lit = self.underMouse() or self.isDown()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(style.accent), 1.5) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(style.rule if lit or not self.isChecked() else style.code))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75), 6, 6)
        edge = (self.width() - self._icon) // 2
        color = style.text if lit else style.secondary
        icon = shared_icons().pixmap("wrap", color, self._icon, round(self.devicePixelRatioF()))
        painter.drawPixmap(QPoint(edge, edge), icon)

    def _toggled(self) -> None:
        self.bar.setValue(0)
        self._code.set_wrapped(on=self.isChecked())
        self._name()

    def _name(self) -> None:
        name = tr("Do not wrap long lines") if self.isChecked() else tr("Wrap long lines")
        self.setAccessibleName(name)
        self.setToolTip(name)
