"""Buttons that copy and wrap the code blocks of an answer, and the bars that scroll them sideways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import (
    SIGNAL,
    SLOT,
    QObject,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QScrollBar, QToolButton

from app.i18n import tr
from app.palette import shared_icons
from app.render.blocks import Code
from app.render.style import Measures

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QScrollArea, QTextBrowser, QWidget

    from app.render.code_block import CodeBlock
    from app.render.document import DocumentWriter, PlacedBlock
    from app.render.layout import Geometry
    from app.render.style import RenderStyle


_SIDE = 24
_ICON = 14
_PADDING, _GAP, _EDGE = 7, 5, 5
_SCROLL_STEP = 40
_COPIED_MS = 1500
# Connected by name: of any other connection PySide keeps an entry for as long as the scroll bar lives.
_SCROLLED, _KEEP_IN_VIEW = SIGNAL("valueChanged(int)"), SLOT("keep_in_view()")


class CodeButtons(QObject):
    """A copy button and a wrap button for each code block of a view; `wrapped` tells that the layout has changed."""

    wrapped = Signal()

    def __init__(self, view: QTextBrowser, writer: DocumentWriter, geometry: Geometry) -> None:
        super().__init__(view)
        self._view = view
        self._writer = writer
        self._geometry = geometry
        self._placed: list[tuple[PlacedBlock, CopyButton, QRectF]] = []
        self._wraps: dict[CopyButton, WrapButton] = {}
        self._area: QScrollArea | None = None

    def follow(self, area: QScrollArea | None) -> None:
        """Keep the buttons in view while `area`, which is around the view, is scrolled."""
        if area is self._area:
            return
        if self._area is not None:
            QObject.disconnect(self._area.verticalScrollBar(), _SCROLLED, self, _KEEP_IN_VIEW)
        self._area = area
        if area is not None:
            QObject.connect(area.verticalScrollBar(), _SCROLLED, self, _KEEP_IN_VIEW)

    def sync(self) -> None:
        """Make and remove buttons so that each code block of the document has its own."""
        codes = [placed for placed in self._writer.placed if placed.code is not None]
        same = 0
        while same < min(len(codes), len(self._placed)) and self._placed[same][0] is codes[same]:
            same += 1
        for _, button, _ in self._placed[same:]:
            wrap = self._wraps.pop(button)
            for gone in (button, wrap, wrap.bar):
                gone.hide()
                gone.deleteLater()
        del self._placed[same:]
        if same and same == len(codes):
            same -= 1  # the last block may have grown
        self._place(codes[same:], same)

    def place(self) -> None:
        """Place all buttons again after a change of the layout."""
        self._place([placed for placed, _, _ in self._placed], 0)

    @Slot()
    def keep_in_view(self) -> None:
        """Move each button to the top of the visible part of its code block."""
        visible = QRectF(self._view.visibleRegion().boundingRect())
        top = visible.top()
        edge = self._writer.formats.measures.px(_EDGE)
        for _, button, panel in self._placed:
            highest, lowest = panel.top() + edge, panel.bottom() - edge - button.height()
            y = max(highest, min(top + _EDGE, lowest))
            corner = QPoint(round(panel.right()) - _EDGE - button.width() - 2, round(y))
            if button.pos() != corner:
                button.move(corner)
            wrap = self._wraps[button]
            if wrap.panel != panel or panel.intersects(visible):
                wrap.place(panel, visible if panel.intersects(visible) else panel)
                wrap.move(corner.x() - wrap.width() - _GAP, corner.y())

    def _place(self, codes: list[PlacedBlock], first: int) -> None:
        buttons = {id(placed): button for placed, button, _ in self._placed[first:]}
        del self._placed[first:]
        for placed in codes:
            button = buttons.get(id(placed)) or self._new(placed)
            self._placed.append((placed, button, self._geometry.panel(placed)))
        if codes:
            self.keep_in_view()

    def _new(self, placed: PlacedBlock) -> CopyButton:
        shape = placed.shape
        if placed.code is None or not isinstance(shape, Code):
            raise TypeError("only code blocks have a Copy button")
        button = CopyButton(placed.code, shape.language, self._writer.formats.style, self._view.viewport())
        button.show()
        wrap = WrapButton(placed.code, self._writer.formats.style, self._view.viewport())
        wrap.toggled.connect(self.wrapped)
        self._wraps[button] = wrap
        return button

    def move_sideways(self, point: QPoint, pixels: int) -> bool:
        """Scroll the code at `point` if its lines are not wrapped; return whether they are not."""
        for _, button, panel in self._placed:
            bar = self._wraps[button].bar
            if panel.contains(QPointF(point)) and bar.isVisible():
                bar.setValue(bar.value() + pixels)
                return True
        return False


class _CodeButton(QToolButton):
    """A button on the panel of a code block, in the style of the answer."""

    def __init__(self, code: CodeBlock, style: RenderStyle, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._code = code
        self._style = style
        self._measures = Measures(style.text_size)
        self._icon = self._measures.px(_ICON)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)

    def _paint(self, box: QRectF, icon: str, corner: QPoint, *, raised: bool = False) -> QPainter:
        """Paint `box` and an icon at `corner`; return the painter with the pen for text."""
        style = self._style
        lit = self.underMouse() or self.isDown()
        color = style.text if lit else style.secondary
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(style.accent), 1.5) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(style.rule if lit or raised else style.code))
        painter.drawRoundedRect(box, 6, 6)
        scale = round(self.devicePixelRatioF())
        painter.drawPixmap(corner, shared_icons().pixmap(icon, color, self._icon, scale))
        painter.setPen(QColor(color))
        return painter


class CopyButton(_CodeButton):
    """Copies the exact source of one code block, and shows for a moment that it did."""

    def __init__(self, code: CodeBlock, language: str, style: RenderStyle, viewport: QWidget) -> None:
        super().__init__(code, style, viewport)
        self._done = QTimer(self, singleShot=True, interval=_COPIED_MS)
        self._done.timeout.connect(lambda: self._show_text(tr("Copy")))
        font = QFont(style.text_family)
        font.setPixelSize(self._measures.label)
        self.setFont(font)
        self.setAccessibleName(tr("Copy {language} code").format(language=language) if language else tr("Copy code"))
        self._show_text(tr("Copy"))
        width = self._icon + _GAP + 2 * _PADDING + QFontMetrics(font).horizontalAdvance(tr("Copied"))
        self.setFixedSize(QSize(width, self._measures.px(_SIDE)))
        self.clicked.connect(self._copy)

    def paintEvent(self, _event: QPaintEvent) -> None:
        width = self.fontMetrics().horizontalAdvance(self.text())
        text = QRect(self.width() - _PADDING - width, 0, width + 2, self.height())
        corner = QPoint(text.left() - _GAP - self._icon, (self.height() - self._icon) // 2)
        box = QRectF(self.rect()).adjusted(corner.x() - _PADDING, 0.75, -0.75, -0.75)
        painter = self._paint(box, "check" if self._done.isActive() else "copy", corner)
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, self.text())

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._code.text())
        self._done.start()
        self._show_text(tr("Copied"))

    def _show_text(self, text: str) -> None:
        self.setText(text)
        self.update()


class WrapButton(_CodeButton):
    """Toggles whether the lines of one code block are wrapped; visible only when one is too long.

    `panel` is the box of the code block in which the button and its bar were placed last.
    """

    def __init__(self, code: CodeBlock, style: RenderStyle, viewport: QWidget) -> None:
        super().__init__(code, style, viewport)
        self.panel = QRectF()
        self.bar = sideways_bar(viewport, tr("Moves the code sideways"), code.shift)
        self.bar.setFixedHeight(self._measures.code_bottom)
        self.bar.hide()
        self.setCheckable(True)
        self.setChecked(code.wrapped)
        self.setFixedSize(QSize(self._measures.px(_SIDE), self._measures.px(_SIDE)))
        self.toggled.connect(self._toggled)
        self._name()
        self.hide()

    def place(self, panel: QRectF, visible: QRectF) -> None:
        """Place button and bar in `panel`; `visible` is the visible part of the view."""
        self.panel = panel
        inset = self._measures.code_inset
        room = panel.width() - 2 * inset
        widest = self._code.widest()
        self.setVisible(widest > room or not self.isChecked())
        self.bar.setVisible(not self.isChecked() and widest > room)
        self.bar.setPageStep(round(room))
        self.bar.setMaximum(max(0, round(widest - room)))
        self.bar.setFixedWidth(max(1, round(room)))
        bottom = min(panel.bottom(), visible.bottom()) - self.bar.height()
        self.bar.move(round(panel.left() + inset), round(max(panel.top(), bottom)))

    def paintEvent(self, _event: QPaintEvent) -> None:
        edge = (self.width() - self._icon) // 2
        box = QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75)
        self._paint(box, "wrap", QPoint(edge, edge), raised=not self.isChecked())

    def _toggled(self) -> None:
        self.bar.setValue(0)
        self._code.set_wrapped(on=self.isChecked())
        self._name()

    def _name(self) -> None:
        name = tr("Do not wrap long lines") if self.isChecked() else tr("Wrap long lines")
        self.setAccessibleName(name)
        self.setToolTip(name)


def sideways_bar(viewport: QWidget, name: str, shift: Callable[[int], None]) -> QScrollBar:
    """Return a scroll bar that moves code or a table sideways by calling `shift` with its value."""
    bar = QScrollBar(Qt.Orientation.Horizontal, viewport)
    bar.setAccessibleName(name)
    bar.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    bar.setSingleStep(_SCROLL_STEP)
    bar.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent, on=False)  # what is behind it shows through
    bar.valueChanged.connect(shift)
    return bar
