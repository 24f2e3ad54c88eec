"""The This Machine tab: buttons, progress, results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
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

from app.dashboard import controller, result_text
from app.dashboard.controller import Stage
from app.dashboard.result_view import ExactnessCard, ResultCard
from app.i18n import said, tr
from app.stylesheet import restyle
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS, TEXT_PX
from app.widgets.buttons import ChoiceButton
from app.widgets.cards import ErrorCard, Section
from app.widgets.feedback import LoadingBar, UndoToast, announce
from app.widgets.labels import PlainLabel
from app.widgets.layouts import ColumnArea, FlowLayout
from app.widgets.throttle import Throttle
from mtplx_engine.ipc.protocol import Measure
from mtplx_engine.measure import sentences
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS, PromptKind
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from app.dashboard.controller import MeasurePlan, SpeedController, Speeds, Trial
    from app.theme import Theme
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.ipc.protocol import ModelInfo
    from mtplx_engine.measure.measurement import Measurement


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
        reasons = {context: controller.room(context, model) for context in self.contexts}
        for context, button in self.contexts.items():
            button.setChecked(context == plan.context)
            button.setEnabled(not reasons[context])
            button.setAccessibleDescription(reasons[context])
            button.setToolTip(reasons[context])
        first = next((reason for reason in reasons.values() if reason), "")
        self._room.say("" if first == objection else first)
        self._estimate.say(
            objection or controller.estimate(plan, speeds), "warning" if objection else "secondary"
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
        self._left.say("" if left is None else tr("about {time} left").format(time=formatting.duration(left)))
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


_MODEL_WIDTH = 240
_PROGRESS_MS = 250


class MachinePage(ColumnArea):
    """Follows the board.

    Attributes:
        model: Which model it is about.
        context: Which of several measurements is shown.
        again: Chooses what to measure although there is a result.
        trouble: Why the last trial failed.
        plan, progress, result, exactness: Its cards.
        toast: Short notices.

    Signals:
        export_requested(Measurement): What was measured is to be written to a file.
    """

    export_requested = Signal(object)

    def __init__(self, theme: Theme, board: SpeedController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._board = board
        self._shown: Measurement | None = None
        self._began: QPushButton | None = None  # what the trial was started with
        self.model = ChoiceButton(theme, tr("Model"))
        self.model.setFixedWidth(_MODEL_WIDTH)
        self.context = ChoiceButton(theme, tr("Length of the prompts"))
        self._here = PlainLabel(theme, TEXT_PX, "secondary")
        self._here.setWordWrap(False)
        self._here.say(tr("on this computer"))
        self.again = QPushButton(tr("Measure Again"))
        self.again.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.trouble = ErrorCard(theme, "", "")
        self.trouble.hide()
        self._cancelled = PlainLabel(theme, tone="secondary", weight=QFont.Weight.Normal)
        self.plan = MeasureCard(theme)
        self.progress = ProgressCard(theme)
        self.result = ResultCard(theme)
        self.exactness = ExactnessCard(theme)
        self._progress = Throttle(_PROGRESS_MS, self)
        self._settled = QTimer(self, singleShot=True, interval=0)  # once the cards have their new heights
        self._settled.timeout.connect(lambda: self.ensureWidgetVisible(self.exactness))
        self._lay_out()
        self.toast = UndoToast(self)
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show what is known now."""
        board, trials = self._board, self._board.trials
        selected, shown, going = board.selected, board.shown, trials.going
        self.model.set_choices(board.models, selected.folder, "" if selected.folder else tr("No model"))
        self.model.setEnabled(going is None)
        held = {each.context: said(sentences.context(each.context)) for each in board.measurements}
        self.context.setVisible(len(held) > 1)
        self.context.set_choices(sorted(held.items()), shown.context if shown else None)
        planning = going is None and (shown is None or board.planning)
        self.again.setVisible(going is None and not planning)
        self._stress_again(stress=bool(board.stale))
        self.progress.show_trial(going)
        self.plan.setVisible(planning)
        self.plan.leave.setVisible(shown is not None)
        self.plan.show_plan(board.plan, selected.info, board.speeds, board.objection)
        self._show_trouble(trials.problem)
        self._cancelled.say(tr("Cancelled; nothing of it was kept.") if trials.cancelled else "")
        self._show_result(shown, "" if shown is None else board.stale)
        self.exactness.show_report(board.report, self._why_no_check())
        if going is None:
            self._come_back()

    def _show_trouble(self, problem: ErrorInfo | None) -> None:
        is_new = problem is not None and problem.message != self.trouble.label.text()
        self.trouble.label.setText(problem.message if problem else "")
        self.trouble.setVisible(problem is not None)
        if problem is not None and is_new:
            announce(self, problem.message)

    def _show_result(self, shown: Measurement | None, stale: str) -> None:
        self.result.show_result(shown, stale)
        if (
            shown is not None
            and shown != self._shown
            and self._board.trials.going is None
            and self.isVisible()
        ):
            announce(self, result_text.headline(shown).words)
        self._shown = shown

    def _why_no_check(self) -> str:
        board = self._board
        if board.trials.going is not None:
            return tr("Something is being measured already.")
        return board.check_objection

    def _connect(self) -> None:
        board = self._board
        board.changed.connect(self.refresh)
        board.trials.progressed.connect(self._progress.request)
        self._progress.due.connect(lambda: self.progress.show_trial(board.trials.going))
        self.model.chosen.connect(board.choose_model)
        self.context.chosen.connect(board.choose_context)
        self.again.clicked.connect(self._plan_again)
        self.plan.leave.clicked.connect(lambda: board.plan_again(on=False))
        self.plan.start.clicked.connect(self._measure)
        self.plan.kind_changed.connect(lambda kind, on: board.set_kind(kind, on=on))
        self.plan.context_chosen.connect(board.set_context)
        self.progress.cancel.clicked.connect(board.trials.cancel)
        self.result.draft_again.clicked.connect(board.draft_again)
        self.result.export.clicked.connect(lambda: self.export_requested.emit(board.shown))
        self.exactness.button.clicked.connect(self._check)

    def _plan_again(self) -> None:
        self._board.plan_again(on=True)
        self.plan.start.setFocus()

    def _measure(self) -> None:
        self._board.measure()
        self._watch(self.plan.start)

    def _check(self) -> None:
        self._board.check()
        self._watch(self.exactness.button)

    def _watch(self, began: QPushButton) -> None:
        """Bring what goes on into sight, and the keyboard to where it is ended."""
        if self._board.trials.going is not None:
            self._began = began
            self.progress.cancel.setFocus()
            self.verticalScrollBar().setValue(0)

    def _come_back(self) -> None:
        """Bring what came of a trial into sight, and the keyboard to where another one is started."""
        began, self._began = self._began, None
        if began is None:
            return
        to = self.again if began.isHidden() or not began.isVisibleTo(self) else began
        to.setFocus()
        if began is self.exactness.button:
            self._settled.start()

    def _stress_again(self, *, stress: bool) -> None:
        if self.again.property("primary") is not stress:
            self.again.setProperty("primary", stress)
            restyle(self.again)

    def _lay_out(self) -> None:
        top = QWidget()
        head = QHBoxLayout(top)
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(SPACE_S)
        head.addWidget(self.model)
        head.addWidget(self._here)
        head.addWidget(self.context)
        head.addStretch(1)
        head.addWidget(self.again)
        self.fill((top, self.trouble, self._cancelled, self.progress, self.plan, self.result, self.exactness))
