"""The History page: speeds and acceptance of past answers, by period and model."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QMessageBox, QPushButton, QVBoxLayout, QWidget

from app.dashboard import history_text
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.lines import DailyMedians, DayMetric
from app.dashboard.history_view import HistoryFacts, HistoryTable
from app.i18n import tr
from app.storage.recovery import KEPT
from app.storage.stats import Choice, Grouping, baselines, time_saved
from app.theme import SMALL_PX, SPACE_M, SPACE_S, SPACE_XL, TEXT_PX
from app.widgets.buttons import ChoiceButton
from app.widgets.cards import ErrorCard, Section
from app.widgets.dialogs import MessageBox, SaveSheet
from app.widgets.feedback import UndoToast, announce
from app.widgets.labels import PlainLabel
from app.widgets.layouts import ColumnArea, FlowLayout
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QShowEvent

    from app.dashboard.measure_controller import SpeedRecords
    from app.storage.stats import AnswerHistory
    from app.storage.store import Store
    from app.theme import Theme
    from mtplx_engine.errors import ErrorInfo


_PERIODS: Final = (7, 30, 90, 365, None)  # days
_USUAL: Final = 30
_NOTHING_HEIGHT: Final = 160
_FOLLOWING_MS: Final = 1000


def _today() -> date:
    return datetime.now().astimezone().date()


class HistoryPage(ColumnArea):
    """Reads the history from the store when it is shown, when answers end, and when the choice changes.

    Time saved is estimated from the measurements in `records`.
    """

    def __init__(
        self,
        theme: Theme,
        store: Store,
        records: SpeedRecords,
        parent: QWidget | None = None,
        *,
        today: Callable[[], date] = _today,
    ) -> None:
        super().__init__(parent)
        self._today = today
        self._store = store
        self._records = records
        self._wanted = Choice()
        self._days: int | None = _USUAL
        self._waits = False
        self._history: AnswerHistory | None = None
        self.model = ChoiceButton(theme, tr("Model"))
        self.period = ChoiceButton(theme, tr("Period"))
        self.grouping = ChoiceButton(theme, tr("How the table tells answers apart"))
        self.export = QPushButton(tr("Export…"))
        self.delete = QPushButton(tr("Delete…"))
        self.everything = QPushButton(tr("Show all answers"))
        self.facts = HistoryFacts(theme)
        self.chart = Chart(theme, tr("Writing speed by day"), DailyMedians(()))
        self.table = HistoryTable(theme)
        self.trouble = ErrorCard(theme, "", tr("Try again"))
        self.trouble.hide()
        self._nothing = PlainLabel(theme, TEXT_PX, "secondary")
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom)
        self._nothing.setMinimumHeight(_NOTHING_HEIGHT)
        self._note = PlainLabel(theme, SMALL_PX, "warning")
        self._speeds = Section(theme, "")
        self._speeds.heading.setWordWrap(True)
        self._groups = Section(theme, tr("Answers by"))
        self._following = Throttle(_FOLLOWING_MS, self)
        self.toast = UndoToast(self)
        self._lay_out()
        self._connect()
        self._nothing.say(tr("Reading the history…"))
        self._offer_choices()

    def refresh(self) -> None:
        self._read()
        self._records.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():
            self.refresh()

    def _follow(self) -> None:
        if self.isVisible():
            self._following.request()

    # ------------------------------------------------------------ choice

    def _choose(self, days: int | None, **fields: object) -> None:
        self._days = days
        self._wanted = dataclasses.replace(self._wanted, **fields)  # type: ignore[arg-type]
        self._offer_choices()
        self._read()

    def _show_everything(self) -> None:
        self._choose(None, model=None)
        self.period.setFocus()

    def _read(self) -> None:
        today = self._today()
        since = None if self._days is None else today - timedelta(days=self._days - 1)
        self._wanted = dataclasses.replace(self._wanted, since=since, until=today)
        self._waits = True
        self._store.read_history(self._wanted)

    def _offer_choices(self) -> None:
        wanted = self._wanted
        models = self._history.models if self._history else ()
        self.model.set_choices(((None, tr("All models")), *((name, name) for name in models)), wanted.model)
        self.period.set_choices(((days, history_text.period(days)) for days in _PERIODS), self._days)
        self.grouping.set_choices(
            ((Grouping.CONTEXT, tr("length of the context")), (Grouping.NOTHING, tr("model"))),
            wanted.grouping,
        )

    # ------------------------------------------------------------ contents

    def _show(self, history: AnswerHistory) -> None:
        if history.choice != self._wanted:
            return
        self._waits = False
        was_empty = self._history is None or not self._history.kept
        self._history = history
        model = _most_asked(history) if was_empty else history.choice.model
        if model != history.choice.model or model not in (None, *history.models):
            self._choose(self._days, model=model if model in history.models else None)
            return
        self._offer_choices()
        self.trouble.hide()
        self._bar.setVisible(bool(history.kept or history.unreadable))
        self._content.setVisible(bool(history.total.answers))
        self._nothing.say(history_text.why_nothing(history))
        self._way_back.setVisible(bool(history.kept and not history.total.answers))
        notes = (history_text.unreadable(history), history_text.later(history))
        self._note.say("\n".join(note for note in notes if note))
        self._speeds.heading.setText(history_text.chart_heading(history))
        self.chart.show_data(_by_day(history))
        self.table.show_groups(history)
        self._estimate()

    def _estimate(self) -> None:
        if self._history is not None:
            estimate = time_saved(self._history.drafted, baselines(self._records.all or ()))
            self.facts.show_history(self._history, estimate)

    def _show_failure(self, error: ErrorInfo, message_id: str) -> None:
        if self._waits and not message_id:
            self._waits = False
            self.trouble.label.setText(error.message)
            self.trouble.show()
            self._nothing.say("")

    def _tell_exported(self, path: str, answers: int) -> None:
        text = tr("Exported {answers} to {name}").format(answers=history_text.answers(answers), name=Path(path).name)
        self.toast.tell(text)
        announce(self, text)

    # ------------------------------------------------------------ files

    def ask_export(self) -> SaveSheet:
        kinds = {".csv": tr("Table for spreadsheets"), ".json": tr("JSON, for programs")}
        sheet = SaveSheet(tr("Export History"), tr("MTPLX history"), kinds, ".csv", self)
        choice = self._wanted
        sheet.fileSelected.connect(lambda path: self._store.export_history(Path(path), choice))
        sheet.open()
        return sheet

    def ask_delete(self) -> MessageBox:
        more = tr(
            "Your chats stay as they are. The figures cannot be brought back; only the last {count} daily copies of "
            "your chats still hold them."
        ).format(count=KEPT)
        count = self._history.kept if self._history else 0
        question = tr("Delete the figures of {answers}?").format(answers=history_text.answers(count))
        box = MessageBox(question, more, self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        delete = box.addButton(tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        delete.clicked.connect(self._store.delete_stats)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.open()
        return box

    # ------------------------------------------------------------ layout

    def _connect(self) -> None:
        self._store.history_read.connect(self._show)
        self._store.history_exported.connect(self._tell_exported)
        self._store.failed.connect(self._show_failure)
        self._store.stats_changed.connect(self._follow)
        self._following.due.connect(self._read)
        self._records.changed.connect(self._estimate)
        self.model.chosen.connect(lambda model: self._choose(self._days, model=model))
        self.period.chosen.connect(self._choose)
        self.grouping.chosen.connect(lambda grouping: self._choose(self._days, grouping=grouping))
        self.everything.clicked.connect(self._show_everything)
        self.trouble.pressed.connect(self.refresh)
        self.export.clicked.connect(self.ask_export)
        self.delete.clicked.connect(self.ask_delete)

    def _lay_out(self) -> None:
        self._bar = self._make_bar()
        self._content = self._make_content()
        self._way_back = QWidget()
        way_back = QHBoxLayout(self._way_back)
        way_back.addStretch(1)
        way_back.addWidget(self.everything)
        way_back.addStretch(1)
        self.fill((self._bar, self.trouble, self._nothing, self._way_back, self._content, self._note))
        for widget in (self._bar, self._content, self._way_back):
            widget.hide()

    def _make_bar(self) -> QWidget:
        bar = QWidget()
        row = QHBoxLayout(bar)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        choices = QWidget()
        flow = FlowLayout(choices, SPACE_S)
        for choice, width in ((self.model, 190), (self.period, 140)):
            choice.setFixedWidth(width)
            flow.addWidget(choice)
        row.addWidget(choices, 1)
        for button in (self.export, self.delete, self.everything):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        row.addWidget(self.export, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.delete, 0, Qt.AlignmentFlag.AlignTop)
        return bar

    def _make_content(self) -> QWidget:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, SPACE_M, 0, 0)
        column.setSpacing(SPACE_XL)
        self._speeds.add(self.chart)
        self.grouping.setFixedWidth(220)
        heading = QHBoxLayout()
        heading.addWidget(self._groups)
        heading.addWidget(self.grouping)
        heading.addStretch(1)
        column.addWidget(self.facts)
        column.addWidget(self._speeds)
        column.addLayout(heading)
        column.addWidget(self.table)
        return content


def _most_asked(history: AnswerHistory) -> str | None:
    # Shown first, since statistics of several models together say little.
    models = list(history.asked)
    return models[0] if len(models) > 1 else None


def _by_day(history: AnswerHistory) -> DailyMedians:
    return DailyMedians(
        tuple(
            DayMetric(day.day, day.speed.low, day.speed.median, day.speed.high, day.speed.answers)
            for day in history.days
            if day.speed is not None
        )
    )
