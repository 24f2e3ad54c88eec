"""How fast a model is on this machine: what was measured, what is being measured, and what can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.dashboard import result_words
from app.dashboard.exactness_card import ExactnessCard
from app.dashboard.measure_card import MeasureCard
from app.dashboard.progress_card import ProgressCard
from app.dashboard.result_card import ResultCard
from app.theme import SPACE_S, TEXT_PX
from app.translate import said, tr
from app.widgets.announce import announce
from app.widgets.choice_button import ChoiceButton
from app.widgets.column_area import ColumnArea
from app.widgets.error_card import ErrorCard
from app.widgets.plain_label import PlainLabel
from app.widgets.restyle import restyle
from app.widgets.throttle import Throttle
from app.widgets.undo_toast import UndoToast
from mtplx_engine.bench import sentences

if TYPE_CHECKING:
    from app.dashboard.speed_board import SpeedBoard
    from app.theme import Theme
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.measurement import Measurement

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

    def __init__(self, theme: Theme, board: SpeedBoard, parent: QWidget | None = None) -> None:
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
            announce(self, result_words.headline(shown).words)
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
