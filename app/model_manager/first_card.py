"""The card in an empty chat with the model to begin with, and then how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout

from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XS, TEXT_PX
from app.translate import tr
from app.widgets.icon_button import IconButton
from app.widgets.loading_bar import LoadingBar

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.model_manager.first_offer import FirstOffer
    from app.theme import Theme


class FirstCard(QFrame):
    """Follows the offer; hidden while there is none.

    Attributes:
        get: Accepts it.
        models: Leads to the others.
        close_button: Takes it away for good.

    Signals:
        models_pressed: The person wants to see all models.
        changed: It may need another height, or none.
    """

    models_pressed = Signal()
    changed = Signal()

    def __init__(self, theme: Theme, first: FirstOffer, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._first = first
        self.setObjectName("card")
        self._title = _words(theme.font(TEXT_PX, QFont.Weight.DemiBold))
        self._why = _words(theme.font(CODE_PX))
        self._after = _words(theme.figures_font(SMALL_PX), "secondary")
        self._bar = LoadingBar(theme)
        self.get = QPushButton(tr("Get"))
        self.get.clicked.connect(first.accept)
        self.models = QPushButton(tr("Models…"))
        self.models.setObjectName("quiet")
        self.models.clicked.connect(self.models_pressed)
        self.close_button = IconButton(theme, "close", tr("Offer no model any more"))
        self.close_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.close_button.clicked.connect(first.dismiss)
        self._lay_out()
        first.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        face = self._first.face
        self.setVisible(face is not None)
        if face is not None:
            self._title.setText(face.title)
            self._why.setText(face.why)
            self._after.setText(face.after)
            self._bar.set_fraction(face.fraction)
            self._bar.setVisible(face.fraction is not None)
            self.get.setVisible(face.fraction is None)
            self.get.setEnabled(face.can_get)
            self.get.setAccessibleName(tr("Get {title}").format(title=face.title))
            self.get.setAccessibleDescription(f"{face.why} {face.after}")
            self.close_button.setVisible(face.fraction is None)
        self.changed.emit()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(SPACE_S)
        top.addWidget(self._title, 1)
        top.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE_S)
        buttons.addWidget(self._after, 1)
        buttons.addWidget(self.models)
        buttons.addWidget(self.get)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_L, SPACE_M, SPACE_M, SPACE_M)
        column.setSpacing(SPACE_XS)
        column.addLayout(top)
        column.addWidget(self._why)
        column.addWidget(self._bar)
        column.addLayout(buttons)


def _words(font: QFont, tone: str = "") -> QLabel:
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setFont(font)
    label.setProperty("tone", tone)
    return label
