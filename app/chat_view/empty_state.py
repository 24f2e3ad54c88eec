"""What an empty chat shows, and the status of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.i18n import marked, tr
from app.theme import SCROLL_BAR_WIDTH, SPACE_L, SPACE_S, SPACE_XL

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from app.theme import Theme


SAMPLES = (
    marked("Explain tides to a ten-year-old"),
    marked("Write a short birthday poem for my sister"),
    marked("Give me three ideas for a rainy Sunday"),
)
_WIDTH = 420
_SIDE = SPACE_XL + SCROLL_BAR_WIDTH  # as wide as the composer below in a narrow window
_NAME_PX = 22


class EmptyState(QWidget):
    """The model's name, a sentence, and the sample prompts or the one button that sets the model up.

    Where there is little room, there are fewer samples; where there is hardly any, there is nothing.

    Signals:
        sample_chosen: A sample prompt is to be sent.
        action_pressed: The one button was pressed.
        models_pressed: The person wants another model than the starter.
    """

    sample_chosen = Signal(str)
    action_pressed = Signal()
    models_pressed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = self._label()
        self._name.setFont(theme.font(_NAME_PX, QFont.Weight.DemiBold))
        self._sentence = self._label()
        self._sentence.setProperty("tone", "secondary")
        self._samples = [self._sample(tr(text)) for text in SAMPLES]
        self.action = QPushButton(self)
        self.action.setProperty("primary", True)
        self.action.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.action.clicked.connect(self.action_pressed)
        self.models = QPushButton(tr("Find a model for this computer…"), self)
        self.models.setObjectName("quiet")
        self.models.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.models.clicked.connect(self.models_pressed)
        self._below: QWidget | None = None
        self._slot = QWidget(self)
        self._body = QWidget(self)
        self._body.setMaximumWidth(_WIDTH)
        column = QVBoxLayout(self._body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_S)
        column.addStretch(5)
        column.addWidget(self._name)
        column.addWidget(self._sentence)
        column.addSpacing(SPACE_XL)
        for button in self._samples:
            column.addWidget(button)
        column.addWidget(self.action, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.models, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self._slot)
        column.addStretch(6)
        row = QHBoxLayout(self)
        row.setContentsMargins(_SIDE, SPACE_L, _SIDE, SPACE_L)
        row.addStretch(1)
        row.addWidget(self._body, 1000)
        row.addStretch(1)
        self.set_content("", "")

    def set_below(self, widget: QWidget) -> None:
        """Show something below the samples; it comes before them where there is little room, and may hide itself."""
        self._below = widget
        column = QVBoxLayout(self._slot)
        column.setContentsMargins(0, SPACE_L, 0, 0)
        column.addWidget(widget)
        self.fit()

    def set_content(self, name: str, sentence: str, action: str = "", *, missing: bool = False) -> None:
        """Show a name and a sentence; with an `action` its button stands in place of the samples.

        Where the starter is `missing`, the way to other models is offered too.
        """
        self._name.setText(name)
        self._sentence.setText(sentence)
        self.action.setText(action)
        self.action.setVisible(bool(action))
        self.models.setVisible(missing)
        self.fit()

    def minimumSizeHint(self) -> QSize:
        """Need no room: what stands below is being used."""
        return QSize(0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the samples for which there is room."""
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Show that for which there is room."""
        room = self.height() - self._words_height()
        self._body.setVisible(room >= 0)
        below = self._below_height()
        self._slot.setVisible(0 < below <= room)
        room -= below if below <= room else 0
        step = self._samples[0].sizeHint().height() + SPACE_S
        for number, button in enumerate(self._samples, 1):
            button.setVisible(not self.action.text() and number * step <= room)

    def _below_height(self) -> int:
        """Return the height of what is below, 0 when there is nothing."""
        if self._below is None or self._below.isHidden():
            return 0
        return self._below.heightForWidth(self._width()) + SPACE_L + SPACE_S

    def _width(self) -> int:
        return min(_WIDTH, self.width() - 2 * _SIDE)

    def _words_height(self) -> int:
        """Return the height of everything but the samples."""
        width = self._width()
        words = sum(label.heightForWidth(width) for label in (self._name, self._sentence))
        buttons = (button for button in (self.action, self.models) if button.isVisibleTo(self))
        below = sum(button.sizeHint().height() + SPACE_S for button in buttons)
        return words + below + 2 * SPACE_L + SPACE_XL + 5 * SPACE_S

    def _label(self) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        label.setWordWrap(True)
        return label

    def _sample(self, text: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName("sample")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self.sample_chosen.emit(text))
        return button
