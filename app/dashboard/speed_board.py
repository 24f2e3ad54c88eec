"""What is known of the speed of the models on this machine, and what is to be found out."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.dashboard import measure_plan
from app.dashboard.measure_plan import MeasurePlan, Speeds
from app.translate import tr
from mtplx_engine import results
from mtplx_engine.protocol import Finished
from mtplx_engine.trials import CheckExactness

if TYPE_CHECKING:
    from app.dashboard.trials import Trials
    from app.services.engine_link import EngineLink
    from app.services.model_library import ModelLibrary
    from app.services.speed_records import SpeedRecords
    from app.session.answer_line import GenerationQueue
    from mtplx_engine.measurement import ExactnessReport, Measurement, PromptKind
    from mtplx_engine.protocol import Event, ModelInfo


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


class SpeedBoard(QObject):
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
        trials: Trials,
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
            plain = results.of(found).plain
            if plain.decode_tps and plain.prefill_tps:
                return Speeds(plain.decode_tps, plain.prefill_tps)
        info = self.selected.info
        return self._seen.get(info.speed_key) if info is not None else None

    @property
    def objection(self) -> str:
        """Why nothing can be measured now, "" when it can."""
        if not self.selected.folder:
            return tr("There is no model yet. Get one in the Models window.")
        return measure_plan.objection(self.plan, self.selected.info)

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
