"""Rows about models below each other, or a sentence when there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.model_manager.card import ModelCard
from app.theme import SPACE_L, SPACE_S, SPACE_XL

if TYPE_CHECKING:
    from app.model_manager.face import ModelRow
    from app.theme import Theme

_EMPTY_PX = 17


class CardList(QScrollArea):
    """Keeps the widgets of rows that stay, and with them the focus.

    Args:
        theme: The look.
        name: What is listed, for a screen reader.
        row: What the rows are.

    Attributes:
        cards: The rows by key, in order.

    Signals:
        chosen(str, Action): Something is to be done about a key.
        remedy_chosen(str): The one thing about what went wrong with a key is to be done.
        moved: Other rows may be in sight now.
    """

    chosen = Signal(str, object)
    remedy_chosen = Signal(str)
    moved = Signal()

    def __init__(
        self, theme: Theme, name: str, parent: QWidget | None = None, *, row: type[ModelCard] = ModelCard
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._row = row
        self.cards: dict[str, ModelCard] = {}
        self.setAccessibleName(name)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget()
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(SPACE_XL, SPACE_S, SPACE_XL, SPACE_S)
        self._column.setSpacing(0)
        self._title = self._words(QFont.Weight.DemiBold, _EMPTY_PX)
        self._sentence = self._words()
        self._sentence.setProperty("tone", "secondary")
        self._empty = QWidget()
        empty = QVBoxLayout(self._empty)
        empty.setSpacing(SPACE_S)
        empty.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        empty.addStretch(2)
        empty.addWidget(self._title)
        empty.addWidget(self._sentence)
        empty.addStretch(3)
        self._column.addWidget(self._empty, 1)
        self._column.addStretch(0)
        self.setWidget(body)
        self.verticalScrollBar().valueChanged.connect(self.moved)
        self.verticalScrollBar().rangeChanged.connect(self.moved)

    def show_rows(self, rows: tuple[ModelRow, ...], title: str = "", sentence: str = "") -> None:
        """Show rows; without any, a title and a sentence."""
        if [row.key for row in rows] != list(self.cards):
            self._rearrange(rows)
        for row in rows:
            self.cards[row.key].show_row(row)
        self._title.setText(title)
        self._sentence.setText(sentence)
        self._empty.setVisible(not rows)
        self._column.setStretch(self._column.count() - 1, 1 if rows else 0)

    def in_sight(self) -> tuple[str, ...]:
        """Return the keys of the rows of which something can be seen, the upper ones first."""
        top = self.verticalScrollBar().value()
        bottom = top + self.viewport().height()
        return tuple(
            key for key, card in self.cards.items() if card.y() < bottom and card.y() + card.height() > top
        )

    def _rearrange(self, rows: tuple[ModelRow, ...]) -> None:
        kept = self.cards
        self.cards = {row.key: kept.get(row.key) or self._card(row) for row in rows}
        for card in (card for key, card in kept.items() if key not in self.cards):
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()
        for place, card in enumerate(self.cards.values()):
            self._column.insertWidget(place, card)

    def _card(self, row: ModelRow) -> ModelCard:
        card = self._row(self._theme, row)
        card.chosen.connect(self.chosen)
        card.remedy_chosen.connect(self.remedy_chosen)
        return card

    def _words(self, weight: QFont.Weight = QFont.Weight.Normal, pixels: int = 14) -> QLabel:
        label = QLabel()
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        label.setWordWrap(True)
        label.setFont(self._theme.font(pixels, weight))
        return label
