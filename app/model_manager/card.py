"""Cards, each of which shows a `ModelRow`, and the list of cards."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.i18n import tr
from app.palette import Tone
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS, TEXT_PX
from app.widgets.buttons import IconButton
from app.widgets.feedback import LoadingBar
from app.widgets.labels import ElidedLabel

if TYPE_CHECKING:
    from app.model_manager.row_state import Action, ModelRow
    from app.theme import Theme


_SIZE_WIDTH, _FIT_WIDTH, _ACTIONS_WIDTH, _ACTIONS_HEIGHT = 68, 206, 150, 30

_EMPTY_PX = 17


class ModelCard(QFrame):
    """Shows a `ModelRow`, which may be replaced by another of the same key.

    Signals:
        chosen(str, Action): A row's key, and the chosen action.
        remedy_chosen(str): A row's key, whose remedy is chosen.
    """

    chosen = Signal(str, object)
    remedy_chosen = Signal(str)

    def __init__(self, theme: Theme, row: ModelRow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.row = row
        self.setObjectName("modelCard")
        # The end of a name has the quantization.
        self._title = _line(theme, TEXT_PX, QFont.Weight.DemiBold, Qt.TextElideMode.ElideMiddle)
        self._size = QLabel()
        self._size.setFont(theme.tabular_font(CODE_PX))
        self._size.setFixedWidth(_SIZE_WIDTH)
        self._size.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._fit = _line(theme, SMALL_PX)
        self._fit.setFixedWidth(_FIT_WIDTH)
        self._note = _line(theme, SMALL_PX)
        self._note.setProperty("tone", "secondary")
        self._state = QLabel()
        self._state.setProperty("tone", "secondary")
        self._state.setFont(theme.tabular_font(SMALL_PX))
        self.buttons: list[QPushButton] = []
        self._actions = QHBoxLayout()
        self._actions.setSpacing(SPACE_XS)
        self.more = IconButton(theme, "more", "")
        self.more.setPopupMode(IconButton.ToolButtonPopupMode.InstantPopup)
        self.more.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.bar = LoadingBar(theme)
        self._problem = plain_label(theme.font(SMALL_PX))
        self._problem.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.remedy = QPushButton()
        self.remedy.clicked.connect(lambda: self.remedy_chosen.emit(self.row.key))
        self._lay_out()
        theme.restyling.add(self._tint)
        self.show_row(row)

    def show_row(self, row: ModelRow) -> None:
        before, self.row = self.row, row
        self._title.setText(row.title)
        self._title.setToolTip(_tip(row.title))
        self._size.setText(row.size)
        self._fit.setText(row.fit)
        for figure in (self._size, self._fit):
            figure.setVisible(bool(row.size or row.fit))
        self._fit.setToolTip(_tip(row.because))
        self._note.setText(row.note)
        self._note.setVisible(bool(row.note))
        self._note.setToolTip(_tip(row.note))
        self._state.setText(row.state)
        self.bar.set_fraction(row.fraction)
        self.bar.setVisible(row.fraction is not None)
        self._problem.setText(row.problem)
        self._problem.setVisible(bool(row.problem))
        self.remedy.setText(row.remedy.replace("&", "&&"))
        self.remedy.setAccessibleDescription(row.problem)
        self.remedy.setVisible(bool(row.remedy))
        self.setAccessibleName(", ".join(part for part in (row.title, row.size, row.fit, row.state) if part))
        self.setAccessibleDescription(" ".join(part for part in (row.note, row.because, row.problem) if part))
        if row.actions != before.actions or row.title != before.title or not self.buttons:
            self._offer(row)
        if row.more != before.more or self.more.menu() is None:
            self._offer_more(row)
        self._tint()

    def _offer(self, row: ModelRow) -> None:
        focused = next((button.text() for button in self.buttons if button.hasFocus()), None)
        for button in self.buttons:
            self._actions.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.buttons = [self._button(action) for action in row.actions]
        for index, button in enumerate(self.buttons):
            self._actions.insertWidget(index + 2, button)
            button.show()  # now, since a hidden button takes no focus
        if focused is not None and self.buttons:
            same = [button for button in self.buttons if button.text() == focused]
            (same or self.buttons)[0].setFocus()

    def _button(self, action: Action) -> QPushButton:
        button = QPushButton(tr(action.value), self)
        button.setAccessibleName(f"{button.text()}: {self.row.title}")
        button.clicked.connect(lambda: self.chosen.emit(self.row.key, action))
        return button

    def _offer_more(self, row: ModelRow) -> None:
        menu = QMenu(self)
        name = tr("More about {title}").format(title=row.title)
        menu.setAccessibleName(name)
        for action in row.more:
            menu.addAction(tr(action.value)).triggered.connect(
                lambda *_, action=action: self.chosen.emit(self.row.key, action)
            )
        old = self.more.menu()
        self.more.setMenu(menu)
        if old is not None:
            old.deleteLater()
        self.more.set_face("more", name)
        self.more.setVisible(bool(row.more))

    def _lay_out(self) -> None:
        self._fill(self._row(self._title, self._size, self._fit, self._room(_ACTIONS_WIDTH)), self._note)

    def _room(self, width: int) -> QWidget:
        """Return the widget of the buttons, of a fixed least width, so that the sizes of all rows stand in columns."""
        self._actions.setContentsMargins(0, 0, 0, 0)
        self._actions.addStretch(1)
        self._actions.addWidget(self._state)
        self._actions.addWidget(self.more)
        room = QWidget()
        room.setMinimumSize(width, _ACTIONS_HEIGHT)
        room.setLayout(self._actions)
        return room

    def _row(self, first: QWidget, *others: QWidget) -> QHBoxLayout:
        """Return widgets side by side, the first of which takes the free space."""
        row = QHBoxLayout()
        row.setSpacing(SPACE_M)
        row.addWidget(first, 1)
        for widget in others:
            row.addWidget(widget)
        return row

    def _fill(self, top: QHBoxLayout, *below: QWidget) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, SPACE_S, 0, SPACE_S)
        column.setSpacing(SPACE_XS)
        column.addLayout(top)
        for widget in (*below, self.bar):
            column.addWidget(widget)
        column.addLayout(self._row(self._problem, self.remedy))

    def _tint(self) -> None:
        palette = self._theme.palette
        text = palette.tertiary if self.row.dimmed else palette.text
        _paint(self._title, text)
        _paint(self._size, text)
        _paint(self._fit, getattr(palette, Tone.QUIET if self.row.dimmed else self.row.tone))
        _paint(self._problem, palette.slower)


class DownloadCard(ModelCard):
    """A row of a download, on one line to save space."""

    def _lay_out(self) -> None:
        row = self._row(self._title, self._note, self._room(0))
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._note.setFont(self._theme.tabular_font(SMALL_PX))
        for figure in (self._size, self._fit):  # which a download has not
            figure.setParent(self)
        self._fill(row)


def plain_label(font: QFont, tone: str = "") -> QLabel:
    """Return a label of plain text that breaks its lines."""
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setFont(font)
    label.setProperty("tone", tone)
    return label


def _line(
    theme: Theme,
    pixels: int,
    weight: QFont.Weight = QFont.Weight.Normal,
    mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> ElidedLabel:
    label = ElidedLabel(mode=mode)
    label.setFont(theme.font(pixels, weight))
    label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    return label


def _tip(text: str) -> str:
    # As HTML, so that its lines are broken.
    return f"<p>{html.escape(text)}</p>" if text else ""


def _paint(label: QLabel, color: str) -> None:
    label.setStyleSheet(f"color: {QColor(color).name()};")


class CardList(QScrollArea):
    """A scrolling list of cards, which keeps the card, and with it the focus, of a row that stays.

    Signals:
        chosen(str, Action): A row's key, and the chosen action.
        remedy_chosen(str): A row's key, whose remedy is chosen.
        moved: Other rows may be in sight.
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
        self._title = self._label(QFont.Weight.DemiBold, _EMPTY_PX)
        self._sentence = self._label()
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
        """Show rows, or a title and a sentence if there are none."""
        if [row.key for row in rows] != list(self.cards):
            self._rearrange(rows)
        for row in rows:
            self.cards[row.key].show_row(row)
        self._title.setText(title)
        self._sentence.setText(sentence)
        self._empty.setVisible(not rows)
        self._column.setStretch(self._column.count() - 1, 1 if rows else 0)

    def in_sight(self) -> tuple[str, ...]:
        """Return the keys of the rows in sight, from the top."""
        top = self.verticalScrollBar().value()
        bottom = top + self.viewport().height()
        return tuple(key for key, card in self.cards.items() if card.y() < bottom and card.y() + card.height() > top)

    def _rearrange(self, rows: tuple[ModelRow, ...]) -> None:
        former = self.cards
        self.cards = {row.key: former.get(row.key) or self._card(row) for row in rows}
        for card in (card for key, card in former.items() if key not in self.cards):
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()
        for index, card in enumerate(self.cards.values()):
            self._column.insertWidget(index, card)

    def _card(self, row: ModelRow) -> ModelCard:
        card = self._row(self._theme, row)
        card.chosen.connect(self.chosen)
        card.remedy_chosen.connect(self.remedy_chosen)
        return card

    def _label(self, weight: QFont.Weight = QFont.Weight.Normal, pixels: int = 14) -> QLabel:
        label = plain_label(self._theme.font(pixels, weight))
        label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        return label
