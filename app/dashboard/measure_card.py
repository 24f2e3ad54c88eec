"""What is to be measured: kinds of prompts, context length, and how long it will take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.dashboard import measure_plan
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS, TEXT_PX
from app.translate import said, tr
from app.widgets.flow_layout import FlowLayout
from app.widgets.plain_label import PlainLabel
from app.widgets.section import Section
from mtplx_engine.bench import sentences
from mtplx_engine.measurement import CONTEXT_BUCKETS, PromptKind

if TYPE_CHECKING:
    from app.dashboard.measure_plan import MeasurePlan, Speeds
    from app.theme import Theme
    from mtplx_engine.protocol import ModelInfo

_CHOICE_HEIGHT = 28


class MeasureCard(QFrame):
    """Shows a plan, and says what the person makes of it.

    Attributes:
        kinds: A tick for each kind of prompts.
        contexts: A button for each context length.
        start: Begins.
        leave: Goes back to the result that there is.

    Signals:
        kind_changed(PromptKind, bool): A kind is to be measured, or not.
        context_chosen(int): A context length is to be measured.
    """

    kind_changed = Signal(object, bool)
    context_chosen = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("card")
        title = PlainLabel(theme, TEXT_PX, weight=QFont.Weight.DemiBold)
        title.say(tr("Measure on this computer"))
        about = PlainLabel(theme, CODE_PX, "secondary")
        about.say(
            tr(
                "The model answers the same questions plainly and with drafting, in turn, and the times are compared."
            )
        )
        self.kinds = {kind: self._tick(kind) for kind in PromptKind}
        self.contexts = {context: self._choice(context) for context in CONTEXT_BUCKETS}
        self._group = QButtonGroup(self)
        for choice in self.contexts.values():
            self._group.addButton(choice)
        self._room = PlainLabel(theme, SMALL_PX, "secondary")
        self._estimate = PlainLabel(theme, SMALL_PX, "secondary")
        self.start = QPushButton(tr("Measure"))
        self.start.setProperty("primary", True)
        self.leave = QPushButton(tr("Back to the Result"))
        for button in (self.start, self.leave):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        column.setSpacing(SPACE_M)
        column.addWidget(title)
        column.addWidget(about)
        column.addWidget(self._section(tr("Kinds of prompts"), tuple(self.kinds.values())))
        contexts = self._section(tr("Length of the prompts"), tuple(self.contexts.values()))
        contexts.add(self._room)
        column.addWidget(contexts)
        foot = QHBoxLayout()
        foot.setSpacing(SPACE_S)
        foot.addWidget(self._estimate, 1)
        foot.addWidget(self.leave)
        foot.addWidget(self.start)
        column.addLayout(foot)

    def show_plan(
        self, plan: MeasurePlan, model: ModelInfo | None, speeds: Speeds | None, objection: str
    ) -> None:
        """Show a plan for a model.

        Args:
            plan: What would be measured.
            model: What it would be measured with; None while it is not loaded.
            speeds: How fast that is, as far as it is known.
            objection: Why it cannot be carried out, "" when it can.
        """
        for kind, tick in self.kinds.items():
            with QSignalBlocker(tick):
                tick.setChecked(kind in plan.kinds)
        reasons = {context: measure_plan.room(context, model) for context in self.contexts}
        for context, button in self.contexts.items():
            button.setChecked(context == plan.context)
            button.setEnabled(not reasons[context])
            button.setAccessibleDescription(reasons[context])
            button.setToolTip(reasons[context])
        first = next((reason for reason in reasons.values() if reason), "")
        self._room.say("" if first == objection else first)
        self._estimate.say(
            objection or measure_plan.estimate(plan, speeds), "warning" if objection else "secondary"
        )
        self.start.setEnabled(not objection)
        self.start.setAccessibleDescription(self._estimate.text())

    def _section(self, heading: str, choices: tuple[QWidget, ...]) -> Section:
        section = Section(self._theme, heading)
        row = QWidget()
        flow = FlowLayout(row, SPACE_XS)
        for choice in choices:
            flow.addWidget(choice)
        section.add(row)
        return section

    def _tick(self, kind: PromptKind) -> QCheckBox:
        tick = QCheckBox(said(sentences.kind(kind)))
        tick.setFont(self._theme.font(CODE_PX))
        tick.toggled.connect(lambda on: self.kind_changed.emit(kind, on))
        return tick

    def _choice(self, context: int) -> QToolButton:
        choice = QToolButton()
        choice.setObjectName("placeTab")
        choice.setText(said(sentences.context(context)))
        choice.setAccessibleName(said(sentences.context(context)))
        choice.setCheckable(True)
        choice.setFont(self._theme.font(CODE_PX))
        choice.setFixedHeight(_CHOICE_HEIGHT)
        choice.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        choice.clicked.connect(lambda: self.context_chosen.emit(context))
        return choice
