"""The card with the one model to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout

from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_XS
from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.model_manager.offer import Offer
    from app.theme import Theme

_TITLE_PX = 17


class OfferCard(QFrame):
    """Hidden while nothing is offered.

    Attributes:
        button: Downloads the model.
        details: Shows all about it.

    Signals:
        accepted(Offer): The offered model is to be downloaded.
        details_wanted(Offer): All about it is to be shown.
    """

    accepted = Signal(object)
    details_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._offer: Offer | None = None
        self._above = _words(theme.font(SMALL_PX), "secondary")
        self._above.setText(tr("For this computer"))
        self._title = _words(theme.font(_TITLE_PX, QFont.Weight.DemiBold))
        self._why = _words(theme.font(CODE_PX))
        self._after = _words(theme.font(SMALL_PX), "secondary")
        self.button = QPushButton(tr("Get"))
        self.button.setProperty("primary", True)
        self.button.clicked.connect(lambda: self.accepted.emit(self._offer))
        self.details = QPushButton(tr("Details"))
        self.details.clicked.connect(lambda: self.details_wanted.emit(self._offer))
        column = QVBoxLayout()
        column.setSpacing(SPACE_XS)
        for label in (self._above, self._title, self._why, self._after):
            column.addWidget(label)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_L, SPACE_L, SPACE_L, SPACE_L)
        row.setSpacing(SPACE_L)
        row.addLayout(column, 1)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.details, 0, Qt.AlignmentFlag.AlignVCenter)
        self.hide()

    def show_offer(self, offer: Offer | None) -> None:
        """Offer a model, or nothing."""
        self._offer = offer
        self.setVisible(offer is not None)
        if offer is not None:
            self._title.setText(offer.title)
            self._why.setText(offer.why)
            after = tr("{cost}. Go on chatting meanwhile: it is loaded as soon as it is there.")
            self._after.setText(after.format(cost=offer.cost))
            self.button.setAccessibleName(tr("Get {title}").format(title=offer.title))
            self.button.setAccessibleDescription(f"{offer.why} {self._after.text()}")
            self.details.setAccessibleName(tr("Details: {title}").format(title=offer.title))


def _words(font: QFont, tone: str = "") -> QLabel:
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setFont(font)
    label.setProperty("tone", tone)
    return label
