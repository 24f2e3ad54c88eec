"""Select a model and its measurements, and plan the next one: the state of the This Machine page."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.i18n import tr
from app.services.tasks import TaskRunner, describe
from mtplx_engine.config import AUTO_MAX_DEPTH
from mtplx_engine.ipc.protocol import CheckExactness, Finished, Measure
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import CONTEXT_BUCKETS, LEAST_PAIRS, PromptKind
from mtplx_engine.measure.store import MeasurementStore, bans
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from app.dashboard.benchmark_runner import BenchmarkRunner
    from app.model_manager.model_library import ModelLibrary
    from app.services.engine_link import EngineLink
    from app.session.queue import GenerationQueue
    from mtplx_engine.ipc.protocol import Event, ModelInfo
    from mtplx_engine.measure.measurement import ExactnessReport, Measurement


ANSWER_TOKENS = 128


class SpeedRecords(QObject):
    """The kept measurements, read on another thread; the engine writes them.

    Attributes:
        all: Those that were read last, the newest first; None before the first read.
    """

    changed = Signal()

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._measurements = MeasurementStore(data_dir)
        self.all: tuple[Measurement, ...] | None = None
        self._tasks = TaskRunner("speed records", self)

    def refresh(self) -> None:
        """Read them again: `changed` follows."""
        self._do(self._measurements.all)

    def lift(self, measurements: Iterable[Measurement]) -> None:
        """Let models draft although these measurements found it slower: `changed` follows."""
        lifted = tuple(measurements)

        def lift() -> tuple[Measurement, ...]:
            for each in lifted:
                self._measurements.lift(each)
            return self._measurements.all()

        self._do(lift)

    def note(self, measurement: Measurement) -> None:
        """Add what the engine has just measured, and kept, without reading the disk."""
        key, context = measurement.subject.key, measurement.context
        others = (each for each in self.all or () if (each.subject.key, each.context) != (key, context))
        self.all = (measurement, *others)
        self.changed.emit()

    def bans(self, key: str) -> tuple[Measurement, ...]:
        """Return those that turn drafting off for a `ModelInfo.speed_key`, the newest first."""
        return bans(self.all or (), key)

    def close(self) -> None:
        self._tasks.abandon()

    def _do(self, work: Callable[[], tuple[Measurement, ...]]) -> None:
        self._tasks.run(work, self._show, self._not_read)

    def _show(self, found: tuple[Measurement, ...]) -> None:
        if found != self.all:
            self.all = found
            self.changed.emit()

    def _not_read(self, error: BaseException) -> None:
        describe(error, "speed records")
        self._show(self.all or ())


@dataclass(frozen=True, slots=True)
class Speeds:
    """Tokens per second of a model on this machine: of plain decoding, and of the prompt in prefill."""

    decode_tps: float
    prefill_tps: float


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """What the next measurement measures; `context` (prompt and answer together) is one of `CONTEXT_BUCKETS`."""

    kinds: tuple[PromptKind, ...] = tuple(PromptKind)
    context: int = CONTEXT_BUCKETS[0]

    def request(self, generation: int) -> Measure:
        return Measure(generation, self.kinds, self.context, ANSWER_TOKENS, LEAST_PAIRS)

    def seconds(self, speeds: Speeds) -> float:
        """Return how long it takes, about: drafted answers count as plain ones."""
        each = (self.context - ANSWER_TOKENS) / speeds.prefill_tps + ANSWER_TOKENS / speeds.decode_tps
        return len(self.kinds) * LEAST_PAIRS * (1 + AUTO_MAX_DEPTH) * each


def context_objection(context: int, model: ModelInfo | None) -> str:
    """Return why a context length cannot be measured with a model, "" when it can."""
    if model is None or context <= model.context_window:
        return ""
    sentence = tr("{count}k are more than the {window} tokens that this model can hold.")
    return sentence.format(count=context // 1024, window=f"{model.context_window:,}")


def objection(plan: MeasurePlan, model: ModelInfo | None) -> str:
    """Return why a plan cannot be measured with a model, "" when it can."""
    if not plan.kinds:
        return tr("Choose at least one kind of prompts.")
    if model is not None and not model.max_depth:
        return tr("This model has nothing to draft with, so there is nothing to compare. {why}").format(
            why=model.drafter_note
        )
    return context_objection(plan.context, model)


def estimate(plan: MeasurePlan, speeds: Speeds | None) -> str:
    if speeds is None:
        return tr("How long it takes shows after its first answers; it can be cancelled at any time.")
    return tr("About {time}. Answers in chats wait meanwhile; it can be cancelled at any time.").format(
        time=formatting.duration(plan.seconds(speeds))
    )


@dataclass(frozen=True, slots=True)
class Selected:
    """The model that the page is about.

    Attributes:
        folder: Of its files; "" without a model.
        info: As the engine reported it, if it is the model that was loaded last; None otherwise.
    """

    folder: str = ""
    title: str = ""
    info: ModelInfo | None = None


class MeasureController(QObject):
    """Selects the model, the shown measurement and the plan, and starts measurements and checks.

    Attributes:
        planning: Whether the user edits the plan although there is a result.
    """

    changed = Signal()

    def __init__(
        self,
        runner: BenchmarkRunner,
        records: SpeedRecords,
        library: ModelLibrary,
        queue: GenerationQueue,
        *,
        link: EngineLink,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.runner = runner
        self.records = records
        self.plan = MeasurePlan()
        self.planning = False
        self._library = library
        self._queue = queue
        self._chosen = ""
        self._context: int | None = None
        self._chat_speeds: dict[str, Speeds] = {}  # by speed key, from answers of this run
        self._reports: dict[str, ExactnessReport] = {}
        runner.changed.connect(self.changed)
        runner.measured.connect(records.note)
        runner.checked.connect(self._checked)
        records.changed.connect(self.changed)
        library.changed.connect(self.changed)
        link.loaded.connect(self._loaded)
        link.happened.connect(self._note_speeds)

    @property
    def models(self) -> tuple[tuple[str, str], ...]:
        """The folder and the title of each model that can be chosen."""
        last = self._queue.model
        listed = {str(model.path): model.title for model in self._library.models if model.complete and model.there}
        if last is not None and last.path not in listed:
            listed = {last.path: last.name, **listed}
        return tuple(listed.items())

    @property
    def selected(self) -> Selected:
        """The model that the user chose, else the one that was loaded last."""
        last = self._queue.model
        folder = self._chosen or (last.path if last else "")
        info = last if last is not None and last.path == folder else None
        title = dict(self.models).get(folder, info.name if info else "")
        return Selected(folder, title, info)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The valid measurements of the selected model, one for each context length, the newest first."""
        info = self.selected.info
        if info is None or not info.speed_key:
            return ()
        return tuple(each for each in self.records.all or () if each.subject.key == info.speed_key)

    @property
    def shown(self) -> Measurement | None:
        """The measurement to show: that of the chosen context length, else one that may be stale."""
        valid = self.measurements
        chosen = next((each for each in valid if each.context == self._context), None)
        return chosen or next(iter(valid), None) or self._named_alike

    @property
    def stale(self) -> str:
        """Why the shown measurement may not hold any more; "" when it does."""
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
        """The result of the last check of the selected model since the program started."""
        info = self.selected.info
        return self._reports.get(info.speed_key) if info is not None else None

    @property
    def speeds(self) -> Speeds | None:
        """The speeds of the selected model: measured, else seen in a chat; None when neither is known."""
        found = self.shown
        if found is not None:
            plain = results.results_of(found).plain
            if plain.decode_tps and plain.prefill_tps:
                return Speeds(plain.decode_tps, plain.prefill_tps)
        info = self.selected.info
        return self._chat_speeds.get(info.speed_key) if info is not None else None

    @property
    def objection(self) -> str:
        """Why nothing can be measured now, "" when it can."""
        if not self.selected.folder:
            return self._no_model
        return objection(self.plan, self.selected.info)

    @property
    def check_objection(self) -> str:
        """Why nothing can be checked now, "" when it can."""
        selected = self.selected
        if not selected.folder:
            return self._no_model
        if selected.info is not None and not selected.info.max_depth:
            return tr("This model does not draft.")
        return ""

    # ------------------------------------------------------------ actions

    def refresh(self) -> None:
        """Read measurements and models again, when the window opens."""
        self.records.refresh()
        self._library.refresh()

    def choose_model(self, folder: str) -> None:
        """Select another model; it is loaded when it is measured."""
        self._chosen, self._context, self.planning = folder, None, False
        self.changed.emit()

    def choose_context(self, context: int) -> None:
        self._context = context
        self.changed.emit()

    def plan_again(self, *, on: bool) -> None:
        """Edit the plan although there is a result, or go back to the result."""
        self.planning = on
        self.changed.emit()

    def set_kind(self, kind: PromptKind, *, on: bool) -> None:
        """Put a kind of prompts into the plan or take it out; kinds keep their order."""
        kinds = tuple(each for each in type(kind) if (on if each is kind else each in self.plan.kinds))
        self.plan = replace(self.plan, kinds=kinds)
        self.changed.emit()

    def set_context(self, context: int) -> None:
        self.plan = replace(self.plan, context=context)
        self.changed.emit()

    def measure(self) -> None:
        """Start the planned measurement, unless a trial is running or something speaks against it."""
        if self.runner.trial is None and not self.objection:
            self.planning = False
            self._context = self.plan.context
            self._start(self.plan.request(next(self._queue.generations)))

    def check(self) -> None:
        """Start a check of exactness, unless a trial is running or something speaks against it."""
        if self.runner.trial is None and not self.check_objection:
            self._start(CheckExactness(next(self._queue.generations)))

    def draft_again(self) -> None:
        """Let the model draft although the shown measurement found it slower."""
        found = self.shown
        if found is not None:
            self.records.lift((found,))

    def _start(self, request: Measure | CheckExactness) -> None:
        selected = self.selected
        self.runner.start(request, selected.folder, selected.title)

    @property
    def _no_model(self) -> str:
        return tr("There is no model yet. Get one in the Models window.")

    @property
    def _named_alike(self) -> Measurement | None:
        selected = self.selected
        names = {selected.title, selected.info.name if selected.info else selected.title}
        return next((each for each in self.records.all or () if each.subject.model in names), None)

    # ------------------------------------------------------------ events

    def _loaded(self, info: ModelInfo) -> None:
        if self.runner.trial is None and info.path != self._chosen:
            self._chosen = ""  # the user went on to another one elsewhere
        self.records.refresh()
        self.changed.emit()

    def _checked(self, report: ExactnessReport) -> None:
        self._reports[report.subject.key] = report
        self.changed.emit()

    def _note_speeds(self, event: Event) -> None:
        if not isinstance(event, Finished):
            return
        decode, prefill = event.stats.decode_tps, event.stats.prefill_tps
        if self._queue.model is not None and decode and prefill:
            self._chat_speeds[self._queue.model.speed_key] = Speeds(decode, prefill)
