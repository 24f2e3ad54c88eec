"""What an empty chat shows: the model, one sentence, three things to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.theme import SCROLL_BAR_WIDTH, SPACE_L, SPACE_S, SPACE_XL
from app.translate import marked, tr

if TYPE_CHECKING:
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
        body = QWidget(self)
        body.setMaximumWidth(_WIDTH)
        column = QVBoxLayout(body)
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
        column.addStretch(6)
        row = QHBoxLayout(self)
        row.setContentsMargins(_SIDE, SPACE_L, _SIDE, SPACE_L)
        row.addStretch(1)
        row.addWidget(body, 1000)
        row.addStretch(1)
        self.set_content("", "")

    def set_content(self, name: str, sentence: str, action: str = "", *, missing: bool = False) -> None:
        """Show a name and a sentence; with an `action` its button stands in place of the samples.

        Where the starter is `missing`, the way to other models is offered too.
        """
        self._name.setText(name)
        self._sentence.setText(sentence)
        self.action.setText(action)
        self.action.setVisible(bool(action))
        self.models.setVisible(missing)
        for button in self._samples:
            button.setVisible(not action)

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
