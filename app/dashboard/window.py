"""The Speed window, its controller, which lives as long as the program, and the offer to measure a first model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.dashboard import result_text
from app.dashboard.benchmark_runner import BenchmarkRunner
from app.dashboard.live_stats import LiveFeed, PowerWatch
from app.dashboard.measure_controller import MeasureController, MeasurePlan, SpeedRecords
from app.i18n import tr
from app.widgets.layouts import ColumnArea
from app.widgets.tabs import PageTabs
from app.widgets.window_geometry import geometry_of, restore_geometry
from mtplx_engine.measure.measurement import PromptKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from PySide6.QtGui import QCloseEvent, QShowEvent

    from app.dashboard.measure_page import MeasurePage
    from app.model_manager.model_library import ModelLibrary
    from app.services.engine_link import EngineLink
    from app.session.queue import GenerationQueue
    from app.storage.settings import SettingsFile
    from app.storage.store import Store
    from app.theme import Theme
    from app.widgets.feedback import UndoToast
    from mtplx_engine.ipc.protocol import ModelInfo


_SIZE = QSize(880, 720)
_QUICK = MeasurePlan(kinds=(PromptKind.CHAT,))


class SpeedWindow(QWidget):
    """A window of pages behind tabs.

    Signals:
        opened: It came to the screen, where its contents may be out of date.
    """

    opened = Signal()

    def __init__(self, theme: Theme, settings: SettingsFile, pages: Sequence[tuple[str, QWidget]]) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self._settings = settings
        self.setObjectName("speedWindow")
        self.setWindowTitle(tr("Speed"))
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.pages = tuple(page for _, page in pages)
        self.tabs = PageTabs(theme, [title for title, _ in pages], self)
        self._stack = QStackedWidget()
        for page in self.pages:
            self._stack.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tabs)
        column.addWidget(self._stack, 1)
        self.tabs.turned.connect(self._turn)
        for key in ("Ctrl+W", "Esc"):
            QShortcut(QKeySequence(key), self).activated.connect(self.close)
        restore_geometry(self, settings.value.speed_place, _SIZE)

    def open_tab(self, page: QWidget | None = None) -> None:
        """Come to the front, with a page or the one that was shown last."""
        if page is not None:
            self.tabs.choose(self.pages.index(page))
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.opened.emit()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._settings.change(speed_place=geometry_of(self))
        super().closeEvent(event)

    def _turn(self, index: int) -> None:
        self._stack.setCurrentIndex(index)
        self.tabs.buttons[index].setFocus()


class SpeedWindowController(QObject):
    """Owns the runner, the live statistics and the kept measurements, with the window open or not.

    Signals:
        drafting_judged(str): Why drafting is off for the loaded model, "" when it is not.
        drafting_unwanted(): The user turns it off, since it changes what the model says.
    """

    drafting_judged = Signal(str)
    drafting_unwanted = Signal()

    def __init__(
        self,
        theme: Theme,
        settings: SettingsFile,
        data_dir: Path,
        *,
        queue: GenerationQueue,
        link: EngineLink,
        library: ModelLibrary,
        store: Store,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._settings = settings
        self._queue = queue
        self._store = store
        self._records = SpeedRecords(data_dir, self)
        self.feed = LiveFeed(link, queue, self)
        self.runner = BenchmarkRunner(queue, link, self)
        self.measuring = MeasureController(self.runner, self._records, library, queue, link=link, parent=self)
        self._window: SpeedWindow | None = None
        self._page: MeasurePage | None = None
        self._judged = ""
        link.loaded.connect(self._judge)
        self._records.changed.connect(self._judge)

    def window(self) -> SpeedWindow:
        """Return the one window, made when it is first asked for; `open_tab` shows it."""
        if self._window is None:
            self._window = self._make_window()
        return self._window

    def measure_first(self, folder: str) -> None:
        """Measure the model in a folder briefly, in the open window."""
        self.measuring.choose_model(folder)
        self.measuring.plan = _QUICK
        self.window().open_tab(self._page)
        self.measuring.measure()

    def draft_again(self) -> None:
        """Let the loaded model draft although a measurement found it slower."""
        model = self._queue.model
        if model is not None:
            self._records.lift(self._records.bans(model.speed_key))

    def close(self) -> None:
        """Close the window and abandon the work on files; the engine ends what it measures."""
        if self._window is not None:
            self._window.close()
            self._window.deleteLater()
            self._window = None
        if self._page is not None:
            self._page.export.close()
        self._records.close()

    def _make_window(self) -> SpeedWindow:
        # Here, since the start of the program needs none of these.
        from app.dashboard.history_page import HistoryPage
        from app.dashboard.live_panel import LivePanel
        from app.dashboard.measure_page import MeasurePage

        self._page = MeasurePage(self._theme, self.measuring)
        self._page.exactness.turn_off.clicked.connect(self.drafting_unwanted)
        live = ColumnArea()
        live.fill([LivePanel(self._theme, self.feed, PowerWatch(self))])
        pages = (
            (tr("Now"), live),
            (tr("This Machine"), self._page),
            (tr("History"), HistoryPage(self._theme, self._store, self._records)),
        )
        window = SpeedWindow(self._theme, self._settings, pages)
        window.opened.connect(self.measuring.refresh)
        return window

    def _judge(self) -> None:
        model = self._queue.model
        bans = self._records.bans(model.speed_key) if model is not None and model.speed_key else ()
        judged = result_text.turned_off(bans)
        if judged != self._judged:
            self._judged = judged
            self.drafting_judged.emit(judged)


class SpeedOffer(QObject):
    """Offers to measure the first model in a toast, once the main window is active.

    Signals:
        accepted(str): The model in a folder is to be measured.
    """

    accepted = Signal(str)

    def __init__(self, window: QWidget, toast: UndoToast) -> None:
        super().__init__(window)
        self._window = window
        self._toast = toast
        self._model: ModelInfo | None = None
        window.installEventFilter(self)

    def offer(self, model: ModelInfo) -> None:
        """Offer to measure a model, if it drafts."""
        if model.max_depth:
            self._model = model
            self._show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowActivate:
            self._show()
        return super().eventFilter(watched, event)

    def _show(self) -> None:
        model = self._model
        if model is None or not self._window.isActiveWindow():
            return
        self._model = None
        text = tr("{model} is ready. How much faster is it here when it drafts? Measuring takes a minute or two.")
        self._toast.offer(text.format(model=model.name), tr("Measure"), lambda: self.accepted.emit(model.path))
