"""The Speed window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.dashboard import result_text
from app.dashboard.controller import BenchmarkRunner, MeasurePlan, SpeedController
from app.dashboard.live_stats import LiveFeed
from app.dashboard.records import SpeedRecords
from app.i18n import tr
from app.widgets.tabs import PageTabs
from app.widgets.window_geometry import geometry_of, restore_geometry
from mtplx_engine.measure.measurement import PromptKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from PySide6.QtGui import QCloseEvent, QShowEvent

    from app.dashboard.measure_page import MachinePage
    from app.dashboard.records import SpeedFiles
    from app.model_manager.model_library import ModelLibrary
    from app.services.engine_link import EngineLink
    from app.session.queue import GenerationQueue
    from app.storage.settings import SettingsFile
    from app.storage.store import Store
    from app.theme import Theme


_SIZE = QSize(880, 720)


class SpeedWindow(QWidget):
    """There is one of it.

    Args:
        theme: The look.
        settings: Remember where it was.
        places: Their names and what is shown in them.

    Attributes:
        places: What is shown in each place.
        tabs: Chooses among them.

    Signals:
        opened: It is on the screen, and may have been away for long.
    """

    opened = Signal()

    def __init__(self, theme: Theme, settings: SettingsFile, places: Sequence[tuple[str, QWidget]]) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self._settings = settings
        self.setObjectName("speedWindow")
        self.setWindowTitle(tr("Speed"))
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.places = tuple(place for _, place in places)
        self.tabs = PageTabs(theme, [name for name, _ in places], self)
        self._stack = QStackedWidget()
        for place in self.places:
            self._stack.addWidget(place)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tabs)
        column.addWidget(self._stack, 1)
        self.tabs.turned.connect(self._turn)
        for key in ("Ctrl+W", "Esc"):
            QShortcut(QKeySequence(key), self).activated.connect(self.close)
        restore_geometry(self, settings.value.speed_place, _SIZE)

    def open_place(self, place: QWidget | None = None) -> None:
        """Come to the front, at a place or where it was."""
        if place is not None:
            self.tabs.choose(self.places.index(place))
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def showEvent(self, event: QShowEvent) -> None:
        """Say that what is shown may have to be brought up to date."""
        super().showEvent(event)
        self.opened.emit()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember where the window is."""
        self._settings.change(speed_place=geometry_of(self))
        super().closeEvent(event)

    def _turn(self, index: int) -> None:
        self._stack.setCurrentIndex(index)
        self.tabs.buttons[index].setFocus()


_QUICK = MeasurePlan(kinds=(PromptKind.CHAT,))


class SpeedServices(QObject):
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
        self.trials = BenchmarkRunner(line, link, self)
        self.board = SpeedController(self.trials, self._records, library, line, link=link, parent=self)
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
        from app.dashboard.measure_page import MachinePage
        from app.dashboard.records import PowerWatch, SpeedFiles
        from app.i18n import tr
        from app.widgets.layouts import ColumnArea

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
        judged = result_text.turned_off(bans)
        if judged != self._judged:
            self._judged = judged
            self.drafting_judged.emit(judged)
