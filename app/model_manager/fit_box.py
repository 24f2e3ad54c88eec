"""The sum of what a model takes, growing live with the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSlider, QVBoxLayout, QWidget

from app.model_manager import context_steps, fit_words
from app.theme import CODE_PX, SPACE_L, SPACE_S, SPACE_XS
from app.translate import tr
from mtplx_engine import words as formatting
from mtplx_engine.models import fit

if TYPE_CHECKING:
    from app.theme import Theme
    from mtplx_engine.models.fit import Fit, Footprint
    from mtplx_engine.models.machine import Machine

_LABEL_WIDTH = 220
_LINES = 7


class FitBox(QWidget):
    """Shows whether a model fits for a context that the user chooses.

    Attributes:
        slider: Chooses the context.
        verdict: What the sum says.
    """

    def __init__(self, theme: Theme, machine: Machine, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._machine = machine
        self._footprint: Footprint | None = None
        self._steps: tuple[int, ...] = (fit.CONTEXT,)
        self.verdict = QLabel()
        self.verdict.setFont(theme.font(CODE_PX, QFont.Weight.DemiBold))
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName(tr("Tokens of context"))
        self.slider.setPageStep(1)
        self.slider.valueChanged.connect(self._weigh)
        self._context = QLabel()
        self._context.setFont(theme.figures_font(CODE_PX))
        self._context.setMinimumWidth(120)
        self._lines = [(self._label(), self._label(right=True)) for _ in range(_LINES)]
        row = QHBoxLayout()
        row.setSpacing(SPACE_L)
        row.addWidget(self.slider, 1)
        row.addWidget(self._context)
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_L)
        grid.setVerticalSpacing(SPACE_XS)
        grid.setColumnMinimumWidth(0, _LABEL_WIDTH)
        grid.setColumnStretch(2, 1)
        for place, (name, size) in enumerate(self._lines):
            grid.addWidget(name, place, 0)
            grid.addWidget(size, place, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_S)
        column.addWidget(self.verdict)
        column.addLayout(row)
        column.addLayout(grid)
        theme.changed.connect(self._weigh)

    @property
    def judged(self) -> Fit | None:
        """The sum for the chosen context, None without a model."""
        if self._footprint is None:
            return None
        return fit.judge(self._footprint, self._steps[self.slider.value()], self._machine)

    def show_footprint(self, footprint: Footprint) -> None:
        """Show the sum for a model; another one begins with the usual context."""
        if footprint != self._footprint:
            self._footprint = footprint
            self._steps = context_steps.steps(footprint.window)
            self.slider.setRange(0, len(self._steps) - 1)
            self.slider.setVisible(len(self._steps) > 1)  # where there is something to choose
            self.slider.setValue(context_steps.nearest(self._steps, fit.CONTEXT))
        self._weigh()

    def _weigh(self) -> None:
        judged = self.judged
        if judged is None:
            return
        words, tone = fit_words.words(judged)
        self.verdict.setText(words[0].upper() + words[1:])
        self.verdict.setStyleSheet(f"color: {getattr(self._theme.palette, tone)};")
        context = tr("{count} tokens").format(count=f"{judged.context:,}")
        whole = tr("{count} tokens, all that it reads").format(count=f"{judged.context:,}")
        self._context.setText(context if len(self._steps) > 1 else whole)
        self.slider.setAccessibleDescription(f"{context}: {words}")
        lines = [
            *fit_words.parts(judged),
            (tr("Together"), judged.total),
            (tr("This computer has for models"), fit_words.for_models(judged)),
        ]
        for place, (name, size) in enumerate(self._lines):
            shown = place < len(lines)
            name.setVisible(shown)
            size.setVisible(shown)
            if shown:
                name.setText(lines[place][0])
                size.setText(formatting.size(lines[place][1]))

    def _label(self, *, right: bool = False) -> QLabel:
        label = QLabel()
        label.setFont(self._theme.figures_font(CODE_PX))
        if right:
            label.setAlignment(Qt.AlignmentFlag.AlignRight)
        else:
            label.setProperty("tone", "secondary")
        return label
