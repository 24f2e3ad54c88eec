"""What an empty chat shows, and the status of the model."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.i18n import marked, tr
from app.services.engine_worker import EngineState
from app.theme import SCROLL_BAR_WIDTH, SPACE_L, SPACE_S, SPACE_XL
from mtplx_engine.errors import ErrorKind
from mtplx_engine.ipc.protocol import Failed, LoadProgress
from mtplx_engine.util.formatting import percent

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from app.services.engine_link import EngineLink
    from app.theme import Theme
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.ipc.protocol import Event, ModelInfo


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


_ASK_AT_ONCE = marked("Ask at once: the answer comes as soon as the model is in.")


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What is shown of the model.

    Attributes:
        name: Of the model, for people.
        title: For the header: the name, or what is going on.
        sentence: For an empty chat.
        fraction: How much is loaded, 0..1; None when nothing is being loaded.
        action: The one thing to do, "" when there is nothing to do.
        missing: Whether there is no model that could be loaded, so that every question would wait for ever.
        too_big: Whether the one thing to do is to load a model that will not fit into memory.
    """

    name: str
    title: str
    sentence: str
    fraction: float | None = None
    action: str = ""
    missing: bool = False
    too_big: bool = False


class ModelPresenter(QObject):
    """Follows the engine, and the set-up before there is a model to load.

    Signals:
        changed(ModelStatus): There is something else to show.
    """

    changed = Signal(object)

    def __init__(self, name: str, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._link = link
        self.status = ModelStatus(name, tr("Starting the engine…"), tr(_ASK_AT_ONCE), 0.0)
        link.state_changed.connect(self._state_changed)
        link.loaded.connect(self._loaded)
        link.lost.connect(self._lost)
        link.happened.connect(self._take)
        self._model: ModelInfo | None = None
        self._why: ErrorInfo | None = None

    def expect(self, name: str) -> None:
        """Speak of another model from now on, which is about to be loaded."""
        self._model = None
        self._why = None
        self.status = dataclasses.replace(self.status, name=name)

    def show_missing(self, size_mb: int) -> None:
        """Say that the starter model has not been fetched."""
        words = tr("{name} is not on this computer yet: a download of {size} MB, once.")
        sentence = words.format(name=self.status.name, size=size_mb)
        self._show(tr("No model"), sentence, action=tr("Get the model"), missing=True)

    def show_setup(self, fraction: float, phase: str) -> None:
        """Say how far the set-up of the model is."""
        what = phase.partition(",")[0]  # details follow the comma
        self._show(f"{what}… {percent(fraction)}", tr(_ASK_AT_ONCE), fraction)

    def show_setup_failed(self, sentence: str) -> None:
        """Say why the set-up failed."""
        self._show(tr("No model"), sentence, action=tr("Try again"), missing=True)

    def _state_changed(self, state: EngineState) -> None:
        if state is EngineState.STARTING:
            self._show(tr("Starting the engine…"), tr(_ASK_AT_ONCE), 0.0)
        elif state is EngineState.LOADING:
            self._show(tr("Loading {name}…").format(name=self.status.name), tr(_ASK_AT_ONCE), 0.0)
        elif state is EngineState.READY and self._model is not None:
            self._show(self._model.name, _praise(self._model))
        elif state is EngineState.NO_MODEL:
            self._show_unloaded(self._why)
        elif state is EngineState.GAVE_UP:
            self._show(tr("Engine stopped"), self._why.message if self._why else "", action=tr("Restart"))

    def _show_unloaded(self, why: ErrorInfo | None) -> None:
        if why is None:
            sentence = tr("The model is not loaded, and its memory is free.")
            self._show(tr("No model"), sentence, action=tr("Load"))
        elif why.kind is ErrorKind.TOO_BIG:
            self._show(tr("No model"), why.message, action=tr("Load anyway"), too_big=True)
        else:
            self._show(tr("No model"), why.message, action=tr("Restart"))

    def _take(self, event: Event) -> None:
        match event:
            case LoadProgress(fraction=fraction) if self._link.state is EngineState.LOADING:
                title = tr("Loading {name}… {share}").format(name=self.status.name, share=percent(fraction))
                self._show(title, tr(_ASK_AT_ONCE), fraction)
            case Failed(error, None):
                self._why = error

    def _loaded(self, model: ModelInfo) -> None:
        self._model = model
        self._why = None

    def _lost(self, error: ErrorInfo) -> None:
        self._why = error

    def _show(
        self,
        title: str,
        sentence: str,
        fraction: float | None = None,
        action: str = "",
        *,
        missing: bool = False,
        too_big: bool = False,
    ) -> None:
        name = self._model.name if self._model is not None else self.status.name
        self.status = ModelStatus(name, title, sentence, fraction, action, missing, too_big)
        self.changed.emit(self.status)


def _praise(model: ModelInfo) -> str:
    private = tr("Nothing you write leaves this computer.")
    return f"{model.drafter_note or tr('Drafts for itself (MTP).')} {private}"
