"""The page of a chat without messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from app.i18n import marked, tr
from app.theme import SCROLL_BAR_WIDTH, SPACE_L, SPACE_S, SPACE_XL
from app.widgets.layouts import hbox, vbox

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
    """The model's name, a sentence, and the sample prompts or the button that sets the model up.

    With little room there are fewer samples, with hardly any the page is blank. `models_pressed` tells that the user
    wants another model than the starter.
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
        layout = vbox(5, self._name, self._sentence, parent=self._body, spacing=SPACE_S)
        layout.addSpacing(SPACE_XL)
        for button in self._samples:
            layout.addWidget(button)
        layout.addWidget(self.action, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(self.models, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(self._slot)
        layout.addStretch(6)
        hbox(1, (self._body, 1000), 1, parent=self, margins=(_SIDE, SPACE_L, _SIDE, SPACE_L))
        self.set_content("", "")

    def set_below(self, widget: QWidget) -> None:
        """Show a widget below the samples, which takes precedence over them and may hide itself."""
        self._below = widget
        vbox(widget, parent=self._slot, margins=(0, SPACE_L, 0, 0))
        self.fit()

    def set_content(self, name: str, sentence: str, action: str = "", *, missing: bool = False) -> None:
        """Show a name and a sentence, and with an `action` its button in place of the samples.

        When the starter model is `missing`, other models are offered too.
        """
        self._name.setText(name)
        self._sentence.setText(sentence)
        self.action.setText(action)
        self.action.setVisible(bool(action))
        self.models.setVisible(missing)
        self.fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        room = self.height() - self._text_height()
        self._body.setVisible(room >= 0)
        below = self._below_height()
        self._slot.setVisible(0 < below <= room)
        room -= below if below <= room else 0
        step = self._samples[0].sizeHint().height() + SPACE_S
        for number, button in enumerate(self._samples, 1):
            button.setVisible(not self.action.text() and number * step <= room)

    def _below_height(self) -> int:
        if self._below is None or self._below.isHidden():
            return 0
        return self._below.heightForWidth(self._width()) + SPACE_L + SPACE_S

    def _width(self) -> int:
        return min(_WIDTH, self.width() - 2 * _SIDE)

    def _text_height(self) -> int:
        """Return the height of everything but the samples and the widget below."""
        width = self._width()
        labels = sum(label.heightForWidth(width) for label in (self._name, self._sentence))
        buttons = (button for button in (self.action, self.models) if button.isVisibleTo(self))
        below = sum(button.sizeHint().height() + SPACE_S for button in buttons)
        return labels + below + 2 * SPACE_L + SPACE_XL + 5 * SPACE_S

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
