"""The details of an answer in a small window that a click beside it closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel

from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_XS
from app.translate import tr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtWidgets import QWidget

    from app.theme import Theme


class DetailsPopover(QFrame):
    """Names at the left, values at the right, all of it selectable."""

    def __init__(self, theme: Theme, rows: Iterable[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("popover")
        self.setAccessibleName(tr("Details of this answer"))
        grid = QGridLayout(self)
        grid.setContentsMargins(SPACE_L, SPACE_M, SPACE_L, SPACE_M)
        grid.setHorizontalSpacing(SPACE_L)
        grid.setVerticalSpacing(SPACE_XS)
        for number, (name, value) in enumerate(rows):
            grid.addWidget(self._label(theme, name, "secondary"), number, 0)
            shown = self._label(theme, value, "")
            shown.setAccessibleName(f"{name}: {value}")
            shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(shown, number, 1, Qt.AlignmentFlag.AlignRight)

    def show_over(self, anchor: QWidget) -> None:
        """Open above a widget, or below it where there is no room above."""
        self.adjustSize()
        top = anchor.mapToGlobal(QPoint(0, 0))
        screen = anchor.screen().availableGeometry()
        y = top.y() - self.height() - SPACE_XS
        if y < screen.top():
            y = top.y() + anchor.height() + SPACE_XS
        x = min(max(top.x(), screen.left()), screen.right() - self.width())
        self.move(x, y)
        self.show()

    def _label(self, theme: Theme, text: str, tone: str) -> QLabel:
        label = QLabel(text, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setFont(theme.figures_font(SMALL_PX))
        label.setProperty("tone", tone)
        return label
