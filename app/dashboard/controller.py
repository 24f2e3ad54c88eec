"""Plan, run and select measurements."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.i18n import tr
from app.services.engine_worker import EngineState
from mtplx_engine.config import AUTO_MAX_DEPTH
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import (
    Abandoned,
    Checked,
    CheckExactness,
    Failed,
    Finished,
    Measure,
    Measured,
    TrialProgress,
)
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS, LEAST_PAIRS, PromptKind
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from app.dashboard.records import SpeedRecords
    from app.model_manager.model_library import ModelLibrary
    from app.services.engine_link import EngineLink
    from app.session.queue import GenerationQueue
    from mtplx_engine.ipc.protocol import Event, ModelInfo
    from mtplx_engine.measure.measurement import ExactnessReport, Measurement


ANSWER_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Speeds:
    """How fast a model decodes plainly and reads on this machine.

    Attributes:
        decode_tps: Tokens per second of plain decoding.
        prefill_tps: Tokens of prompts per second.
    """

    decode_tps: float
    prefill_tps: float


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """A measurement, before it is asked for.

    Attributes:
        kinds: The kinds of prompts.
        context: Tokens of prompt and answer together: the bucket that it stands for.
    """

    kinds: tuple[PromptKind, ...] = tuple(PromptKind)
    context: int = CONTEXT_BUCKETS[0]

    def request(self, generation: int) -> Measure:
        """Return the command for the engine."""
        return Measure(generation, self.kinds, self.context, ANSWER_TOKENS, LEAST_PAIRS)

    def seconds(self, speeds: Speeds) -> float:
        """Return how long it takes, about: drafted answers count as plain ones, which is enough to go by."""
        each = (self.context - ANSWER_TOKENS) / speeds.prefill_tps + ANSWER_TOKENS / speeds.decode_tps
        return len(self.kinds) * LEAST_PAIRS * (1 + AUTO_MAX_DEPTH) * each


def room(context: int, model: ModelInfo | None) -> str:
    """Return why a context length cannot be measured with a model, "" when it can."""
    if model is None or context <= model.context_window:
        return ""
    sentence = tr("{count}k are more than the {window} tokens that this model can hold.")
    return sentence.format(count=context // 1024, window=f"{model.context_window:,}")


def objection(plan: MeasurePlan, model: ModelInfo | None) -> str:
    """Return why a plan cannot be carried out, "" when it can."""
    if not plan.kinds:
        return tr("Choose at least one kind of prompts.")
    if model is not None and not model.max_depth:
        return tr("This model has nothing to draft with, so there is nothing to compare. {why}").format(
            why=model.drafter_note
        )
    return room(plan.context, model)


def estimate(plan: MeasurePlan, speeds: Speeds | None) -> str:
    """Return in words how long a plan takes, as far as that is known."""
    if speeds is None:
        return tr("How long it takes shows after its first answers; it can be cancelled at any time.")
    return tr("About {time}. Answers in chats wait meanwhile; it can be cancelled at any time.").format(
        time=formatting.duration(plan.seconds(speeds))
    )


@dataclass(frozen=True, slots=True)
class Selected:
    """The model that the page is about.

    Attributes:
        folder: Where it is; "" while there is none.
        title: Name for people.
        info: What the engine said of it, if it is the one that was loaded last; None otherwise.
    """

    folder: str = ""
    title: str = ""
    info: ModelInfo | None = None


class SpeedController(QObject):
    """Follows the engine, the kept measurements and the models.

    Attributes:
        trials: What is on its way.
        records: The kept measurements.
        plan: What would be measured.
        planning: Whether the person is choosing that although there is a result.

    Signals:
        changed: There is something else to show.
    """

    changed = Signal()

    def __init__(
        self,
        trials: BenchmarkRunner,
        records: SpeedRecords,
        library: ModelLibrary,
        line: GenerationQueue,
        *,
        link: EngineLink,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.trials = trials
        self.records = records
        self.plan = MeasurePlan()
        self.planning = False
        self._library = library
        self._line = line
        self._chosen = ""
        self._context: int | None = None
        self._seen: dict[str, Speeds] = {}  # by speed key, from answers of this run
        self._reports: dict[str, ExactnessReport] = {}
        trials.changed.connect(self.changed)
        trials.measured.connect(records.note)
        trials.checked.connect(self._checked)
        records.changed.connect(self.changed)
        library.changed.connect(self.changed)
        link.loaded.connect(self._loaded)
        link.happened.connect(self._note_speeds)

    # ------------------------------------------------------------ what is shown

    @property
    def models(self) -> tuple[tuple[str, str], ...]:
        """The folder and the title of each model that can be chosen."""
        last = self._line.model
        listed = {
            str(model.path): model.title for model in self._library.models if model.complete and model.there
        }
        if last is not None and last.path not in listed:
            listed = {last.path: last.name, **listed}
        return tuple(listed.items())

    @property
    def selected(self) -> Selected:
        """The model that was chosen, else the one that was loaded last."""
        last = self._line.model
        folder = self._chosen or (last.path if last else "")
        info = last if last is not None and last.path == folder else None
        title = dict(self.models).get(folder, info.name if info else "")
        return Selected(folder, title, info)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What is true of the selected model, one for each context length, the newest first."""
        info = self.selected.info
        kept = self.records.all or ()
        return tuple(
            each
            for each in kept
            if info is not None and info.speed_key and each.subject.key == info.speed_key
        )

    @property
    def shown(self) -> Measurement | None:
        """The measurement that is shown: the chosen context length of the selected model, or what may be stale."""
        held = self.measurements
        chosen = next((each for each in held if each.context == self._context), None)
        return chosen or next(iter(held), None) or self._of_that_name

    @property
    def stale(self) -> str:
        """Why what is shown may not be true any more; "" when it is."""
        found, selected = self.shown, self.selected
        if found is None:
            return ""
        if found in self.measurements:
            newest = next(each for each in self.measurements if each.bucket == found.bucket)
            return "" if newest == found else tr("A newer measurement decides for chats of this length.")
        if selected.info is None:
            return tr("Whether this still holds shows when the model is loaded.")
        if found.subject.version != importlib.metadata.version("mtplx"):
            return tr("Measured with MTPLX {version}; this one may be faster or slower.").format(
                version=found.subject.version
            )
        return tr("The files of the model or this machine have changed since.")

    @property
    def report(self) -> ExactnessReport | None:
        """What the check of the selected model found in this run of the program."""
        info = self.selected.info
        return self._reports.get(info.speed_key) if info is not None else None

    @property
    def speeds(self) -> Speeds | None:
        """How fast the selected model is, as far as anything is known to reckon with."""
        found = self.shown
        if found is not None:
            plain = results.results_of(found).plain
            if plain.decode_tps and plain.prefill_tps:
                return Speeds(plain.decode_tps, plain.prefill_tps)
        info = self.selected.info
        return self._seen.get(info.speed_key) if info is not None else None

    @property
    def objection(self) -> str:
        """Why nothing can be measured now, "" when it can."""
        if not self.selected.folder:
            return tr("There is no model yet. Get one in the Models window.")
        return objection(self.plan, self.selected.info)

    @property
    def check_objection(self) -> str:
        """Why nothing can be checked now, "" when it can."""
        selected = self.selected
        if not selected.folder:
            return tr("There is no model yet. Get one in the Models window.")
        if selected.info is not None and not selected.info.max_depth:
            return tr("This model does not draft.")
        return ""

    # ------------------------------------------------------------ what is done

    def refresh(self) -> None:
        """Bring everything up to date, when the window opens."""
        self.records.refresh()
        self._library.refresh()

    def choose_model(self, folder: str) -> None:
        """Show another model; it is loaded when it is measured."""
        self._chosen, self._context, self.planning = folder, None, False
        self.changed.emit()

    def choose_context(self, context: int) -> None:
        """Show what was measured at another context length."""
        self._context = context
        self.changed.emit()

    def plan_again(self, *, on: bool) -> None:
        """Let the person choose what is measured once more, or leave it at the result."""
        self.planning = on
        self.changed.emit()

    def set_kind(self, kind: PromptKind, *, on: bool) -> None:
        """Measure with a kind of prompts, or without it; they keep their order."""
        kinds = tuple(each for each in type(kind) if (on if each is kind else each in self.plan.kinds))
        self.plan = replace(self.plan, kinds=kinds)
        self.changed.emit()

    def set_context(self, context: int) -> None:
        """Measure at a context length."""
        self.plan = replace(self.plan, context=context)
        self.changed.emit()

    def measure(self) -> None:
        """Measure as planned."""
        selected = self.selected
        if self.trials.going is None and not self.objection:
            self.planning = False
            self._context = self.plan.context
            self.trials.start(
                self.plan.request(next(self._line.generations)), selected.folder, selected.title
            )

    def check(self) -> None:
        """Check whether drafting is exact."""
        selected = self.selected
        if self.trials.going is None and not self.check_objection:
            request = CheckExactness(next(self._line.generations))
            self.trials.start(request, selected.folder, selected.title)

    def draft_again(self) -> None:
        """Let the model draft although what is shown found it slower."""
        found = self.shown
        if found is not None:
            self.records.lift((found,))

    # ------------------------------------------------------------ what is told

    @property
    def _of_that_name(self) -> Measurement | None:
        selected = self.selected
        names = {selected.title, selected.info.name if selected.info else selected.title}
        return next((each for each in self.records.all or () if each.subject.model in names), None)

    def _loaded(self, info: ModelInfo) -> None:
        if self.trials.going is None and info.path != self._chosen:
            self._chosen = ""  # the person went on to another one elsewhere
        self.records.refresh()
        self.changed.emit()

    def _checked(self, report: ExactnessReport) -> None:
        self._reports[report.subject.key] = report
        self.changed.emit()

    def _note_speeds(self, event: Event) -> None:
        if not isinstance(event, Finished):
            return
        decode, prefill = event.stats.decode_tps, event.stats.prefill_tps
        if self._line.model is not None and decode and prefill:
            self._seen[self._line.model.speed_key] = Speeds(decode, prefill)


class Stage(Enum):
    """How far a trial is."""

    WAITING = auto()  # for an answer that is being written
    LOADING = auto()  # the model that it is about
    RUNNING = auto()
    STOPPING = auto()  # cancelled, and the engine has not said so yet


@dataclass(frozen=True, slots=True)
class Trial:
    """A measurement or a check.

    Attributes:
        request: What the engine is asked for.
        folder: Of the model that it is about.
        title: That model's name for people.
        stage: How far it is.
        fraction: 0..1 of its time, about.
        what: What is being done, for people.
        left_s: Seconds it will take, about; None when that is not known yet.
    """

    request: Measure | CheckExactness
    folder: str
    title: str
    stage: Stage = Stage.WAITING
    fraction: float = 0.0
    what: str = ""
    left_s: float | None = None


_Ending = Measured | Checked | Abandoned | Failed


class BenchmarkRunner(QObject):
    """Gives the engine one trial at a time, when nothing is being answered; answers wait meanwhile.

    Attributes:
        going: The trial that has not ended.
        problem: Why the last one failed; None when it did not, and once there is another.
        cancelled: Whether the last one was cancelled.

    Signals:
        changed: There is something else to show.
        progressed: The trial that runs got further, which may be said a hundred times a second.
        measured(Measurement): A measurement ended.
        checked(ExactnessReport): A check ended.
        load_requested(str, str, bool): The model in a folder, its title, and whether it is to be loaded also when it
            will not fit.
    """

    changed = Signal()
    progressed = Signal()
    measured = Signal(object)
    checked = Signal(object)
    load_requested = Signal(str, str, bool)

    def __init__(self, line: GenerationQueue, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._line = line
        self._link = link
        self.going: Trial | None = None
        self.problem: ErrorInfo | None = None
        self.cancelled = False
        self._down: ErrorInfo | None = None  # why no model is in
        line.ended.connect(self._advance)
        link.state_changed.connect(self._state_changed)
        link.lost.connect(self._lost)
        link.happened.connect(self._take)

    @property
    def _loaded(self) -> str:
        """The folder of the model that is in; "" when none is."""
        model = self._line.model
        return model.path if model is not None and self._link.state is EngineState.READY else ""

    def start(self, request: Measure | CheckExactness, folder: str, title: str) -> None:
        """Begin a trial with the model in a folder, which is loaded first when it is not in; one must not be going."""
        self.problem, self.cancelled, self._down = None, False, None
        self.going = Trial(request, folder, title)
        self._advance()
        self.changed.emit()

    def cancel(self) -> None:
        """End the trial; before it runs, it is over when this returns."""
        if self.going is None or self.going.stage is Stage.STOPPING:
            return
        if self.going.stage is Stage.RUNNING:
            self._link.cancel(self.going.request.generation)
            self._put(stage=Stage.STOPPING)
        else:
            self._end(cancelled=True)

    # ------------------------------------------------------------ on its way

    def _advance(self) -> None:
        trial = self.going
        if trial is None or trial.stage is not Stage.WAITING or self._line.pending:
            return
        if self._loaded == trial.folder:
            self._run(trial)
        else:
            self._put(stage=Stage.LOADING)
            self.load_requested.emit(trial.folder, trial.title, False)

    def _run(self, trial: Trial) -> None:
        self._put(stage=Stage.RUNNING)
        self._link.submit(trial.request)

    def _put(self, **fields: object) -> None:
        if self.going is not None:
            stage = self.going.stage
            self.going = dataclasses.replace(self.going, **fields)  # type: ignore[arg-type]
            self._line.hold(_hold_words(self.going))
            (self.progressed if self.going.stage is stage else self.changed).emit()

    def _end(self, problem: ErrorInfo | None = None, *, cancelled: bool = False) -> None:
        self.going = None
        self.problem, self.cancelled = problem, cancelled
        self._line.release()
        self.changed.emit()

    # ------------------------------------------------------------ what the engine tells

    def _state_changed(self, state: EngineState) -> None:
        if self.going is None or self.going.stage is not Stage.LOADING:
            return
        if state is EngineState.READY and self._loaded == self.going.folder:
            self._run(self.going)
        elif state is EngineState.READY:
            self._end(_not_loaded(tr("Another model was loaded, so nothing was measured.")))
        elif state in (EngineState.NO_MODEL, EngineState.GAVE_UP):
            self._end(self._down or _not_loaded(tr("The model was not loaded, so nothing was measured.")))

    def _lost(self, error: ErrorInfo) -> None:
        self._down = error

    def _take(self, event: Event) -> None:
        if isinstance(event, Failed) and event.generation is None:
            self._down = event.error
        elif isinstance(event, TrialProgress | _Ending) and self._is(event.generation):
            self._follow(event)

    def _follow(self, event: TrialProgress | _Ending) -> None:
        stage = self.going.stage if self.going else Stage.WAITING
        match event:
            case TrialProgress() if stage is Stage.RUNNING:
                self._put(fraction=event.fraction, what=event.what, left_s=event.left_s)
            case Measured():
                self._end()
                self.measured.emit(event.measurement)
            case Checked():
                self._end()
                self.checked.emit(event.report)
            case Failed() if stage is not Stage.STOPPING:
                self._end(event.error)
            case Failed() | Abandoned():
                self._end(cancelled=True)

    def _is(self, generation: int | None) -> bool:
        return self.going is not None and self.going.request.generation == generation


def _hold_words(trial: Trial) -> str:
    """Return what a question waits for while a trial has the engine."""
    if trial.left_s is None:
        return tr("Waiting for the measurement in the Speed window…")
    left = formatting.duration(trial.left_s)
    return tr("Waiting for the measurement in the Speed window: about {left}…").format(left=left)


def _not_loaded(sentence: str) -> ErrorInfo:
    return ErrorInfo(ErrorKind.NO_MODEL, sentence)
