"""A trial on its way: what is being done, how long it will take, and how it is ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from app.dashboard.trials import Stage
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_S, SPACE_XL, TEXT_PX
from app.translate import tr
from app.widgets.loading_bar import LoadingBar
from app.widgets.plain_label import PlainLabel
from mtplx_engine import words
from mtplx_engine.trials import Measure

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.dashboard.trials import Trial
    from app.theme import Theme


class ProgressCard(QFrame):
    """Not there while nothing is on its way.

    Attributes:
        cancel: Ends the trial.
        bar: How far it is.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._title = PlainLabel(theme, TEXT_PX, weight=QFont.Weight.DemiBold)
        self._what = PlainLabel(theme, CODE_PX, "secondary")
        self._left = PlainLabel(theme, SMALL_PX, "secondary")
        self._left.setWordWrap(False)
        self.bar = LoadingBar(theme)
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        top = QHBoxLayout()
        top.setSpacing(SPACE_S)
        names = QVBoxLayout()
        names.setSpacing(2)
        names.addWidget(self._title)
        names.addWidget(self._what)
        top.addLayout(names, 1)
        top.addWidget(self._left)
        top.addWidget(self.cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        column.setSpacing(SPACE_S)
        column.addLayout(top)
        column.addWidget(self.bar)
        self.hide()

    def show_trial(self, trial: Trial | None) -> None:
        """Show how far a trial is, or nothing."""
        self.setVisible(trial is not None)
        if trial is None:
            return
        running = trial.stage is Stage.RUNNING
        measuring = isinstance(trial.request, Measure)
        title = tr("Measuring {model}") if measuring else tr("Checking {model}")
        self._title.say(title.format(model=trial.title))
        self._what.say(_what(trial))
        left = trial.left_s if running else None
        self._left.say("" if left is None else tr("about {time} left").format(time=words.duration(left)))
        self.bar.set_fraction(trial.fraction if running else None)
        self.cancel.setEnabled(trial.stage is not Stage.STOPPING)
        self.cancel.setAccessibleDescription(self._title.text())


def _what(trial: Trial) -> str:
    match trial.stage:
        case Stage.WAITING:
            return tr("Begins when the answer that is being written has ended.")
        case Stage.LOADING:
            return tr("Loading the model…")
        case Stage.STOPPING:
            return tr("Stopping…")
    # The engine says it as part of a sentence.
    return trial.what[:1].upper() + trial.what[1:] or tr("Warming up…")
