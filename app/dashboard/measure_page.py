"""The This Machine page: plan, progress and result of a measurement, and the exactness check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSignalBlocker, Qt, QTimer, Signal
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

from app.dashboard import measure_controller, result_text
from app.dashboard.benchmark_runner import Stage
from app.dashboard.result_view import ExactnessCard, ResultCard
from app.i18n import said, tr
from app.services.tasks import TaskRunner, describe
from app.storage.errors import StoreError
from app.storage.export import write_measurement
from app.stylesheet import restyle
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS, TEXT_PX
from app.widgets.buttons import ChoiceButton
from app.widgets.cards import ErrorCard, Section
from app.widgets.dialogs import SaveSheet
from app.widgets.feedback import LoadingBar, UndoToast, announce
from app.widgets.labels import PlainLabel
from app.widgets.layouts import ColumnArea, FlowLayout
from app.widgets.throttle import Throttle
from mtplx_engine.ipc.protocol import Measure
from mtplx_engine.measure import sentences
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS, PromptKind
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.dashboard.benchmark_runner import Trial
    from app.dashboard.measure_controller import MeasureController, MeasurePlan, Speeds
    from app.theme import Theme
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.ipc.protocol import ModelInfo
    from mtplx_engine.measure.measurement import Measurement


_CHOICE_HEIGHT = 28


class MeasureCard(QFrame):
    """Edits the plan of a measurement.

    Signals:
        kind_changed(PromptKind, bool): A kind is put into the plan or taken out.
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
            tr("The model answers the same questions plainly and with drafting, in turn, and the times are compared.")
        )
        self.kinds = {kind: self._check_box(kind) for kind in PromptKind}
        self.contexts = {context: self._choice(context) for context in CONTEXT_BUCKETS}
        self._group = QButtonGroup(self)
        for choice in self.contexts.values():
            self._group.addButton(choice)
        self._context_note = PlainLabel(theme, SMALL_PX, "secondary")
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
        contexts.add(self._context_note)
        column.addWidget(contexts)
        foot = QHBoxLayout()
        foot.setSpacing(SPACE_S)
        foot.addWidget(self._estimate, 1)
        foot.addWidget(self.leave)
        foot.addWidget(self.start)
        column.addLayout(foot)

    def show_plan(self, plan: MeasurePlan, model: ModelInfo | None, speeds: Speeds | None, objection: str) -> None:
        """Show a plan for a model (None while it is not loaded), and why it cannot be measured ("" when it can)."""
        for kind, box in self.kinds.items():
            with QSignalBlocker(box):
                box.setChecked(kind in plan.kinds)
        reasons = {context: measure_controller.context_objection(context, model) for context in self.contexts}
        for context, button in self.contexts.items():
            button.setChecked(context == plan.context)
            button.setEnabled(not reasons[context])
            button.setAccessibleDescription(reasons[context])
            button.setToolTip(reasons[context])
        first = next((reason for reason in reasons.values() if reason), "")
        self._context_note.say("" if first == objection else first)
        self._estimate.say(
            objection or measure_controller.estimate(plan, speeds), "warning" if objection else "secondary"
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

    def _check_box(self, kind: PromptKind) -> QCheckBox:
        box = QCheckBox(said(sentences.kind(kind)))
        box.setFont(self._theme.font(CODE_PX))
        box.toggled.connect(lambda on: self.kind_changed.emit(kind, on))
        return box

    def _choice(self, context: int) -> QToolButton:
        choice = QToolButton()
        choice.setObjectName("pageTab")
        choice.setText(said(sentences.context(context)))
        choice.setAccessibleName(said(sentences.context(context)))
        choice.setCheckable(True)
        choice.setFont(self._theme.font(CODE_PX))
        choice.setFixedHeight(_CHOICE_HEIGHT)
        choice.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        choice.clicked.connect(lambda: self.context_chosen.emit(context))
        return choice


class ProgressCard(QFrame):
    """The progress of a trial; hidden without one."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._title = PlainLabel(theme, TEXT_PX, weight=QFont.Weight.DemiBold)
        self._step = PlainLabel(theme, CODE_PX, "secondary")
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
        names.addWidget(self._step)
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
        self.setVisible(trial is not None)
        if trial is None:
            return
        running = trial.stage is Stage.RUNNING
        measuring = isinstance(trial.request, Measure)
        title = tr("Measuring {model}") if measuring else tr("Checking {model}")
        self._title.say(title.format(model=trial.title))
        self._step.say(_step_text(trial))
        left = trial.left_s if running else None
        self._left.say("" if left is None else tr("about {time} left").format(time=formatting.duration(left)))
        self.bar.set_fraction(trial.fraction if running else None)
        self.cancel.setEnabled(trial.stage is not Stage.STOPPING)
        self.cancel.setAccessibleDescription(self._title.text())


def _step_text(trial: Trial) -> str:
    match trial.stage:
        case Stage.WAITING:
            return tr("Begins when the answer that is being written has ended.")
        case Stage.LOADING:
            return tr("Loading the model…")
        case Stage.STOPPING:
            return tr("Stopping…")
    # The engine sends it as part of a sentence.
    return trial.step[:1].upper() + trial.step[1:] or tr("Warming up…")


_MODEL_WIDTH = 240
_PROGRESS_MS = 250


class MeasurePage(ColumnArea):
    """Shows what a `MeasureController` holds, and passes on what the user does."""

    def __init__(self, theme: Theme, measuring: MeasureController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._measuring = measuring
        self._shown: Measurement | None = None
        self._started_by: QPushButton | None = None  # the button that started the trial
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
        self._settled = QTimer(self, singleShot=True, interval=0)  # until the cards have their new heights
        self._settled.timeout.connect(lambda: self.ensureWidgetVisible(self.exactness))
        self._lay_out()
        self.export = MeasurementExport(self)
        self.toast = UndoToast(self)
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        state, runner = self._measuring, self._measuring.runner
        selected, shown, trial = state.selected, state.shown, runner.trial
        self.model.set_choices(state.models, selected.folder, "" if selected.folder else tr("No model"))
        self.model.setEnabled(trial is None)
        contexts = {each.context: said(sentences.context(each.context)) for each in state.measurements}
        self.context.setVisible(len(contexts) > 1)
        self.context.set_choices(sorted(contexts.items()), shown.context if shown else None)
        planning = trial is None and (shown is None or state.planning)
        self.again.setVisible(trial is None and not planning)
        self._stress_again(stress=bool(state.stale))
        self.progress.show_trial(trial)
        self.plan.setVisible(planning)
        self.plan.leave.setVisible(shown is not None)
        self.plan.show_plan(state.plan, selected.info, state.speeds, state.objection)
        self._show_trouble(runner.problem)
        self._cancelled.say(tr("Cancelled; nothing of it was kept.") if runner.cancelled else "")
        self._show_result(shown, "" if shown is None else state.stale)
        busy = "" if trial is None else tr("Something is being measured already.")
        self.exactness.show_report(state.report, busy or state.check_objection)
        if trial is None:
            self._return_focus()

    def _show_trouble(self, problem: ErrorInfo | None) -> None:
        is_new = problem is not None and problem.message != self.trouble.label.text()
        self.trouble.label.setText(problem.message if problem else "")
        self.trouble.setVisible(problem is not None)
        if problem is not None and is_new:
            announce(self, problem.message)

    def _show_result(self, shown: Measurement | None, stale: str) -> None:
        self.result.show_result(shown, stale)
        is_new = shown is not None and shown != self._shown
        self._shown = shown
        if shown is not None and is_new and self._measuring.runner.trial is None and self.isVisible():
            announce(self, result_text.headline(shown).text)

    def _connect(self) -> None:
        measuring = self._measuring
        measuring.changed.connect(self.refresh)
        measuring.runner.progressed.connect(self._progress.request)
        self._progress.due.connect(lambda: self.progress.show_trial(measuring.runner.trial))
        self.model.chosen.connect(measuring.choose_model)
        self.context.chosen.connect(measuring.choose_context)
        self.again.clicked.connect(self._plan_again)
        self.plan.leave.clicked.connect(lambda: measuring.plan_again(on=False))
        self.plan.start.clicked.connect(lambda: self._start(measuring.measure, self.plan.start))
        self.plan.kind_changed.connect(lambda kind, on: measuring.set_kind(kind, on=on))
        self.plan.context_chosen.connect(measuring.set_context)
        self.progress.cancel.clicked.connect(measuring.runner.cancel)
        self.result.draft_again.clicked.connect(measuring.draft_again)
        self.result.export.clicked.connect(self._export)
        self.exactness.button.clicked.connect(lambda: self._start(measuring.check, self.exactness.button))
        self.export.ended.connect(self.toast.tell)

    def _plan_again(self) -> None:
        self._measuring.plan_again(on=True)
        self.plan.start.setFocus()

    def _export(self) -> None:
        if self._measuring.shown is not None:
            self.export.ask(self._measuring.shown)

    def _start(self, start: Callable[[], None], button: QPushButton) -> None:
        """Start a trial, show its progress, and move the keyboard focus to its Cancel button."""
        start()
        if self._measuring.runner.trial is not None:
            self._started_by = button
            self.progress.cancel.setFocus()
            self.verticalScrollBar().setValue(0)

    def _return_focus(self) -> None:
        """Show the result of a trial, and move the keyboard focus to where another one is started."""
        button, self._started_by = self._started_by, None
        if button is None:
            return
        to = self.again if button.isHidden() or not button.isVisibleTo(self) else button
        to.setFocus()
        if button is self.exactness.button:
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


class MeasurementExport(QObject):
    """Asks for a file with a sheet of a page, and writes a measurement to it on another thread.

    Signals:
        ended(str): Succeeded or failed, a sentence for the user.
    """

    ended = Signal(str)

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self._tasks = TaskRunner("export", self)

    def ask(self, measurement: Measurement) -> None:
        kinds = {".json": tr("JSON, for programs"), ".csv": tr("Table for spreadsheets")}
        name = tr("Speed of {model}").format(model=measurement.subject.model).replace("/", "-")
        sheet = SaveSheet(tr("Export Measurement"), name, kinds, ".json", self._page)
        sheet.fileSelected.connect(lambda path: self.write(Path(path), measurement))
        sheet.open()

    def write(self, path: Path, measurement: Measurement) -> None:
        """Write a measurement: `ended` follows."""
        written = tr("Exported the measurement to {name}").format(name=path.name)
        self._tasks.run(lambda: write_measurement(path, measurement), lambda _: self.ended.emit(written), self._fail)

    def close(self) -> None:
        self._tasks.abandon()

    def _fail(self, error: BaseException) -> None:
        info = error.info if isinstance(error, StoreError) else describe(error, "export")[0]
        self.ended.emit(info.message)
