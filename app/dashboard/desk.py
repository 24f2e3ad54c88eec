"""The speed of the models: what follows it while the program runs, and the one window, made when it is wanted first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.dashboard import result_words
from app.dashboard.live_feed import LiveFeed
from app.dashboard.measure_plan import MeasurePlan
from app.dashboard.speed_board import SpeedBoard
from app.dashboard.trials import Trials
from app.services.speed_records import SpeedRecords
from mtplx_engine.measurement import PromptKind

if TYPE_CHECKING:
    from pathlib import Path

    from app.dashboard.machine_page import MachinePage
    from app.dashboard.speed_files import SpeedFiles
    from app.dashboard.window import SpeedWindow
    from app.services.engine_link import EngineLink
    from app.services.model_library import ModelLibrary
    from app.services.settings import SettingsFile
    from app.services.store import Store
    from app.session.answer_line import GenerationQueue
    from app.theme import Theme

_QUICK = MeasurePlan(kinds=(PromptKind.CHAT,))


class SpeedDesk(QObject):
    """Measures whether the window is open or not.

    Args:
        theme: The look.
        settings: Remember where the window was.
        data_dir: The data folder.
        line: The questions, which wait while something is measured.
        link: The engine.
        library: The models.
        store: Has the figures of all answers.

    Attributes:
        feed: The figures of the answer that is being written.
        trials: What is being measured.
        board: What is known and can be measured.

    Signals:
        drafting_judged(str): Why drafting is off for the loaded model, "" when it is not.
        drafting_unwanted(): The person wants it off, since it changes what the model says.
    """

    drafting_judged = Signal(str)
    drafting_unwanted = Signal()

    def __init__(
        self,
        theme: Theme,
        settings: SettingsFile,
        data_dir: Path,
        *,
        line: GenerationQueue,
        link: EngineLink,
        library: ModelLibrary,
        store: Store,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._settings = settings
        self._line = line
        self._store = store
        self._records = SpeedRecords(data_dir, self)
        self.feed = LiveFeed(link, line, self)
        self.trials = Trials(line, link, self)
        self.board = SpeedBoard(self.trials, self._records, library, line, link=link, parent=self)
        self._window: SpeedWindow | None = None
        self._machine: MachinePage | None = None
        self._files: SpeedFiles | None = None
        self._judged = ""
        link.loaded.connect(self._judge)
        self._records.changed.connect(self._judge)

    def window(self) -> SpeedWindow:
        """Return the one window; its `open_place` shows it."""
        if self._window is None:
            self._window = self._make_window()
        return self._window

    def measure_first(self, folder: str) -> None:
        """Measure a model briefly, and show how that goes."""
        self.board.choose_model(folder)
        self.board.plan = _QUICK
        window = self.window()
        window.open_place(self._machine)
        self.board.measure()

    def draft_again(self) -> None:
        """Let the loaded model draft although a measurement found it slower."""
        model = self._line.model
        if model is not None:
            self._records.lift(self._records.bans(model.speed_key))

    def close(self) -> None:
        """Close the window and end what is going on here; the engine ends what it measures."""
        if self._window is not None:
            self._window.close()
            self._window.deleteLater()
            self._window = None
        if self._files is not None:
            self._files.close()
        self._records.close()

    def _make_window(self) -> SpeedWindow:
        # Here, since the start of the program needs none of it.
        from app.dashboard.history_page import HistoryPage
        from app.dashboard.live_panel import LivePanel
        from app.dashboard.machine_page import MachinePage
        from app.dashboard.power_watch import PowerWatch
        from app.dashboard.speed_files import SpeedFiles
        from app.dashboard.window import SpeedWindow
        from app.translate import tr
        from app.widgets.column_area import ColumnArea

        self._machine = MachinePage(self._theme, self.board)
        self._files = SpeedFiles(self._machine)
        self._machine.exactness.turn_off.clicked.connect(self.drafting_unwanted)
        self._machine.export_requested.connect(self._files.export)
        self._files.told.connect(self._machine.toast.tell)
        live = ColumnArea()
        live.fill([LivePanel(self._theme, self.feed, PowerWatch(self))])
        places = (
            (tr("Now"), live),
            (tr("This Machine"), self._machine),
            (tr("History"), HistoryPage(self._theme, self._store, self._records)),
        )
        window = SpeedWindow(self._theme, self._settings, places)
        window.opened.connect(self.board.refresh)
        return window

    def _judge(self) -> None:
        model = self._line.model
        bans = self._records.bans(model.speed_key) if model is not None and model.speed_key else ()
        judged = result_words.turned_off(bans)
        if judged != self._judged:
            self._judged = judged
            self.drafting_judged.emit(judged)
