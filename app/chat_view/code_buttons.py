"""Copy and wrap buttons of code blocks."""

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
    from PySide6.QtWidgets import QScrollArea, QTextBrowser, QWidget

    from app.render.code_block import CodeBlock
    from app.render.document import DocumentWriter, PlacedBlock
    from app.render.layout import Geometry
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


_HEIGHT = 24
_PADDING = 7
_GAP = 5
_EDGE = 5
_SHOWN_MS = 1500
# Connected by name: of any other connection PySide keeps an entry for as long as the scroll bar lives.
_SCROLLED, _KEEP_IN_VIEW = SIGNAL("valueChanged(int)"), SLOT("keep_in_view()")


class CopyButton(QToolButton):
    """Copies one code block, exactly as it was written, and says so for a moment."""

    def __init__(self, code: CodeBlock, language: str, style: RenderStyle, parent: QTextBrowser) -> None:
        super().__init__(parent.viewport())
        self._code = code
        self._style = style
        measures = Measures(style.text_size)
        self._icon = measures.px(_ICON)
        self._done = QTimer(self)
        self._done.setSingleShot(True)
        self._done.setInterval(_SHOWN_MS)
        self._done.timeout.connect(lambda: self._say(tr("Copy")))
        font = QFont(style.text_family)
        font.setPixelSize(measures.label)
        self.setFont(font)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setAccessibleName(
            tr("Copy {language} code").format(language=language) if language else tr("Copy code")
        )
        self._say(tr("Copy"))
        width = self._icon + _GAP + 2 * _PADDING + QFontMetrics(font).horizontalAdvance(tr("Copied"))
        self.setFixedSize(QSize(width, measures.px(_HEIGHT)))
        self.clicked.connect(self._copy)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the icon and the word on the colour of the panel."""
        style = self._style
        lit = self.underMouse() or self.isDown()
        color = style.text if lit else style.secondary
        width = self.fontMetrics().horizontalAdvance(self.text())
        text = QRect(self.width() - _PADDING - width, 0, width + 2, self.height())
        icon = QPoint(text.left() - _GAP - self._icon, (self.height() - self._icon) // 2)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(style.accent), 1.5) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(style.rule if lit else style.code))
        box = QRectF(self.rect()).adjusted(icon.x() - _PADDING, 0.75, -0.75, -0.75)
        painter.drawRoundedRect(box, 6, 6)
        name = "check" if self._done.isActive() else "copy"
        painter.drawPixmap(
            icon, shared_icons().pixmap(name, color, self._icon, round(self.devicePixelRatioF()))
        )
        painter.setPen(QColor(color))
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, self.text())

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._code.text())
        self._done.start()
        self._say(tr("Copied"))

    def _say(self, word: str) -> None:
        self.setText(word)
        self.update()


class CodeButtons(QObject):
    """One Copy button for each code block of a view, and one that wraps its lines.

    Signals:
        wrapped: Lines are wrapped, or are no longer: the text was laid out anew.
    """

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
        """Keep the buttons in view while `area`, around the view, is scrolled."""
        if area is self._area:
            return
        if self._area is not None:
            QObject.disconnect(self._area.verticalScrollBar(), _SCROLLED, self, _KEEP_IN_VIEW)
        self._area = area
        if area is not None:
            QObject.connect(area.verticalScrollBar(), _SCROLLED, self, _KEEP_IN_VIEW)

    def sync(self) -> None:
        """Make and remove buttons so that there is one for each code block in the document."""
        codes = [written for written in self._writer.written if written.code is not None]
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
            same -= 1  # the last one may have grown
        self._place(codes[same:], same)

    def place(self) -> None:
        """Find all places again: the text was laid out anew."""
        self._place([written for written, _, _ in self._placed], 0)

    @Slot()
    def keep_in_view(self) -> None:
        """Move each button to the top of what is seen of its code block."""
        visible = QRectF(self._view.visibleRegion().boundingRect())
        top = visible.top()
        edge = self._writer.formats.measures.px(_EDGE)
        for _, button, panel in self._placed:
            highest, lowest = panel.top() + edge, panel.bottom() - edge - button.height()
            y = max(highest, min(top + _EDGE, lowest))
            place = QPoint(round(panel.right()) - _EDGE - button.width() - 2, round(y))
            if button.pos() != place:
                button.move(place)
            wrap = self._wraps[button]
            if wrap.panel != panel or panel.intersects(visible):
                wrap.place(panel, visible if panel.intersects(visible) else panel)
                wrap.move(place.x() - wrap.width() - _GAP, place.y())

    def _place(self, codes: list[PlacedBlock], first: int) -> None:
        buttons = {id(written): button for written, button, _ in self._placed[first:]}
        del self._placed[first:]
        for written in codes:
            button = buttons.get(id(written)) or self._new(written)
            self._placed.append((written, button, self._geometry.panel(written)))
        if codes:
            self.keep_in_view()

    def _new(self, written: PlacedBlock) -> CopyButton:
        shape = written.shape
        if written.code is None or not isinstance(shape, Code):
            raise TypeError("only code blocks have a Copy button")
        button = CopyButton(written.code, shape.language, self._writer.formats.style, self._view)
        button.show()
        wrap = WrapButton(written.code, self._writer.formats.style, self._view.viewport())
        wrap.toggled.connect(self.wrapped)
        self._wraps[button] = wrap
        return button

    def move_sideways(self, point: QPoint, pixels: int) -> bool:
        """Move the code under `point`, if its lines are not wrapped; return whether they are not."""
        for _, button, panel in self._placed:
            bar = self._wraps[button].bar
            if panel.contains(QPointF(point)) and bar.isVisible():
                bar.setValue(bar.value() + pixels)
                return True
        return False
