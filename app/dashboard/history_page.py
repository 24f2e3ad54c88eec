"""The History tab and its table."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QMessageBox,
    QPushButton,
    QSizePolicy,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.chat.metrics import speed
from app.dashboard import history_text
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.lines import DailyMedians, DayMetric
from app.dashboard.history_text import HistoryFacts
from app.i18n import tr
from app.storage.recovery import KEPT
from app.storage.stats import Choice, Grouping, baselines, time_saved
from app.theme import CODE_PX, SMALL_PX, SPACE_M, SPACE_S, SPACE_XL, TEXT_PX
from app.widgets.buttons import ChoiceButton
from app.widgets.cards import ErrorCard, Section
from app.widgets.dialogs import MessageBox, SaveSheet
from app.widgets.feedback import UndoToast, announce
from app.widgets.labels import PlainLabel
from app.widgets.layouts import ColumnArea, FlowLayout
from app.widgets.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QResizeEvent, QShowEvent

    from app.dashboard.records import SpeedRecords
    from app.storage.stats import AnswerHistory, Group
    from app.storage.store import Store
    from app.theme import Theme
    from mtplx_engine.errors import ErrorInfo


_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
_ROW_HEIGHT = 30
_LEAST_NAME = 112  # pixels of the first column
_Role = Qt.ItemDataRole


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table.

    Attributes:
        name: Its head.
        tip: What it means.
        words: Returns the words of a group's cell.
        more: Returns more about it.
        is_name: Whether it says what the answers of a row have in common.
        is_share: Whether it says little where few steps were verified.
    """

    name: str
    tip: str
    words: Callable[[Group], str]
    more: Callable[[Group], str] = lambda _: ""
    is_name: bool = False
    is_share: bool = False


def columns(choice: Choice) -> tuple[Column, ...]:
    """Return the columns for answers that were chosen, and are told apart, in some way."""
    grouping = choice.grouping
    model = Column(tr("Model"), "", lambda group: group.model, lambda group: group.model, is_name=True)
    models = () if choice.model is not None and grouping is not Grouping.NOTHING else (model,)
    part = {
        Grouping.CONTEXT: (
            tr("Context, tokens"),
            tr("How long prompt and answer were, with all that came before."),
        ),
    }.get(grouping)
    parts = (Column(*part, lambda group: history_text.part(grouping, group), is_name=True),) if part else ()
    return (*models, *parts, *_figures())


def _figures() -> tuple[Column, ...]:
    return (
        Column(tr("Answers"), tr("How many answers there are."), lambda group: f"{group.summary.answers:,}"),
        Column(
            tr("Writing, tok/s"),
            tr("Tokens per second while writing: the median of the answers, and the middle half of them."),
            _writing,
            lambda group: history_text.middle_half(group.summary.speed),
        ),
        Column(
            tr("First word"),
            tr("Time from sending to the first visible text: the median of the answers."),
            lambda group: history_text.seconds(group.summary.first_text),
        ),
        Column(
            tr("Reading, tok/s"),
            tr("New tokens of the prompts per second of reading: all tokens by all seconds."),
            lambda group: _speed(group.summary.prefill_tps),
        ),
        Column(
            tr("Drafts kept"),
            tr("The share of the drafted tokens that the model kept, and how many were drafted."),
            _kept,
            lambda group: history_text.kept_of(group.summary),
            is_share=True,
        ),
    )


def _speed(tokens_per_second: float | None) -> str:
    return history_text.UNKNOWN if tokens_per_second is None else speed(tokens_per_second)


def _writing(group: Group) -> str:
    spread = group.summary.speed
    if spread is None:
        return history_text.UNKNOWN
    quartiles = history_text.span(spread)
    return f"{speed(spread.median)} ({quartiles})" if quartiles else speed(spread.median)


def _kept(group: Group) -> str:
    share = history_text.kept(group.summary)
    if share == history_text.UNKNOWN:
        return share
    return tr("{share} of {count}").format(share=share, count=f"{group.summary.drafted:,}")


class GroupModel(QAbstractTableModel):
    """The groups of a history, those of the model that was asked most above the others."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self._groups: tuple[Group, ...] = ()
        self._columns = columns(Choice())

    def row_of(self, group: Group | None) -> int | None:
        """Return where the answers are now that were alike in the way of a group; None when they are gone."""
        alike = (n for n, each in enumerate(self._groups) if group is not None and _same(each, group))
        return next(alike, None)

    def group_at(self, row: int) -> Group | None:
        """Return the group of a row."""
        return self._groups[row] if 0 <= row < len(self._groups) else None

    def show(self, history: AnswerHistory) -> None:
        """Show the groups of another history."""
        self.beginResetModel()
        places = {model: place for place, model in enumerate(history.asked)}
        self._groups = tuple(
            sorted(history.groups, key=lambda group: (places[group.model], -group.summary.answers))
        )
        self._columns = columns(history.choice)
        self.endResetModel()

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        """Return the number of groups."""
        return 0 if parent.isValid() else len(self._groups)

    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: _Index, role: int = _Role.DisplayRole) -> object:
        """Return the words of a cell and how they look."""
        if not index.isValid():
            return None
        group, column = self._groups[index.row()], self._columns[index.column()]
        if role == _Role.DisplayRole:
            return column.words(group)
        if role == _Role.ToolTipRole:
            return column.more(group)
        if role == _Role.TextAlignmentRole:
            return self._alignment(index.column())
        if role == _Role.ForegroundRole and column.is_share and history_text.is_few(group.summary):
            return QColor(self._theme.palette.tertiary)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _Role.DisplayRole) -> object:
        """Return the head of a column and what it means."""
        if orientation == Qt.Orientation.Vertical:
            return None
        column = self._columns[section]
        if role == _Role.DisplayRole:
            return column.name
        if role == _Role.ToolTipRole:
            return column.tip
        return self._alignment(section) if role == _Role.TextAlignmentRole else None

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignLeft if self._columns[column].is_name else Qt.AlignmentFlag.AlignRight
        return side | Qt.AlignmentFlag.AlignVCenter


class HistoryTable(QTableView):
    """As high as its rows: the page around it scrolls."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("history")  # first: the head takes its style once
        self._model = GroupModel(theme, self)
        self.setModel(self._model)
        self.setAccessibleName(tr("Figures of the answers"))
        self.setFont(theme.figures_font(CODE_PX))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT)
        head = self.horizontalHeader()
        head.setFont(theme.font(SMALL_PX))
        head.setSectionsClickable(False)
        head.setHighlightSections(False)
        head.setFixedHeight(_ROW_HEIGHT)
        head.sectionResized.connect(lambda section, *_: self._fit() if section else None)

    def show_groups(self, history: AnswerHistory) -> None:
        """Show the groups of a history; the cell that is chosen, and what is in sight, stay where they can."""
        current = self.currentIndex()
        group, column = self._model.group_at(current.row()), current.column()
        across = self.horizontalScrollBar().value()
        self._model.show(history)
        head = self.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        self._fit()
        row = self._model.row_of(group)
        if row is not None:
            self.setCurrentIndex(self._model.index(row, min(column, self._model.columnCount() - 1)))
        self.horizontalScrollBar().setValue(across)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the first column what the others leave."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Let the first column take the room that is left, and the rows scroll sideways where there is too little."""
        head = self.horizontalHeader()
        if not head.count():
            return
        others = head.length() - head.sectionSize(0)
        left = self.width() - others
        head.resizeSection(0, max(_LEAST_NAME, left))
        scrolls = left < _LEAST_NAME
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if scrolls else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if policy != self.horizontalScrollBarPolicy():
            self.setHorizontalScrollBarPolicy(policy)
        bar = self.horizontalScrollBar().sizeHint().height() if scrolls else 0
        height = _ROW_HEIGHT * (self._model.rowCount() + 1) + bar
        if height != self.height():
            self.setFixedHeight(height)


def _same(one: Group, other: Group) -> bool:
    return (one.model, one.bucket) == (other.model, other.bucket)


class HistoryFiles(QObject):
    """Asks with sheets of a page."""

    def __init__(self, store: Store, page: QWidget) -> None:
        super().__init__(page)
        self._store = store
        self._page = page

    def export(self, choice: Choice) -> SaveSheet:
        """Have the answers that are chosen written to a file, and return the sheet that asks for it."""
        kinds = {".csv": tr("Table for spreadsheets"), ".json": tr("JSON, for programs")}
        sheet = SaveSheet(tr("Export History"), tr("MTPLX history"), kinds, ".csv", self._page)
        sheet.fileSelected.connect(lambda path: self._store.export_history(Path(path), choice))
        sheet.open()
        return sheet

    def delete(self, count: int) -> MessageBox:
        """Have all figures deleted, and return the box that asks whether that is meant."""
        more = tr(
            "Your chats stay as they are. The figures cannot be brought back; only the last {count} daily copies of "
            "your chats still hold them."
        ).format(count=KEPT)
        question = tr("Delete the figures of {answers}?").format(answers=history_text.answers(count))
        box = MessageBox(question, more, self._page)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        delete = box.addButton(tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        delete.clicked.connect(self._store.delete_figures)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.open()
        return box


_PERIODS: Final = (7, 30, 90, 365, None)  # days
_USUAL: Final = 30
_NOTHING_HEIGHT: Final = 160
_FOLLOWING_MS: Final = 1000


def _today() -> date:
    return datetime.now().astimezone().date()


class HistoryPage(ColumnArea):
    """Reads the figures from the store when it is shown, when answers come, and when something else is chosen.

    Args:
        theme: The look.
        store: Has the figures.
        records: The measurements that time saved is estimated from.
        parent: The widget that holds it.
        today: Returns the date on the person's calendar.

    Attributes:
        model, period: Which answers are looked at.
        grouping: How the table tells them apart.
        facts, chart, table: What is shown of them.
        files: Exports and deletes.
        toast: Short notices.
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
        self.files = HistoryFiles(store, self)
        self._following = Throttle(_FOLLOWING_MS, self)
        self.toast = UndoToast(self)
        self._lay_out()
        self._connect()
        self._nothing.say(tr("Reading the history…"))
        self._offer_choices()

    def refresh(self) -> None:
        """Look at the answers again, as they are now."""
        self._read()
        self._records.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        """Look at the answers that came since."""
        super().showEvent(event)
        if not event.spontaneous():
            self.refresh()

    def _follow(self) -> None:
        if self.isVisible():
            self._following.request()

    # ------------------------------------------------------------ what is chosen

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
            (
                (Grouping.CONTEXT, tr("length of the context")),
                (Grouping.NOTHING, tr("model")),
            ),
            wanted.grouping,
        )

    # ------------------------------------------------------------ what is shown

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
        self.chart.show_figures(_by_day(history))
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
        words = tr("Exported {answers} to {name}").format(
            answers=history_text.answers(answers), name=Path(path).name
        )
        self.toast.tell(words)
        announce(self, words)

    # ------------------------------------------------------------ inside

    def _connect(self) -> None:
        self._store.history_read.connect(self._show)
        self._store.history_exported.connect(self._tell_exported)
        self._store.failed.connect(self._show_failure)
        self._store.figures_changed.connect(self._follow)
        self._following.due.connect(self._read)
        self._records.changed.connect(self._estimate)
        self.model.chosen.connect(lambda model: self._choose(self._days, model=model))
        self.period.chosen.connect(self._choose)
        self.grouping.chosen.connect(lambda grouping: self._choose(self._days, grouping=grouping))
        self.everything.clicked.connect(self._show_everything)
        self.trouble.pressed.connect(self.refresh)
        self.export.clicked.connect(lambda: self.files.export(self._wanted))
        self.delete.clicked.connect(lambda: self.files.delete(self._history.kept if self._history else 0))

    def _lay_out(self) -> None:
        self._bar = self._make_bar()
        self._content = self._make_content()
        way_back = QHBoxLayout()
        way_back.addStretch(1)
        way_back.addWidget(self.everything)
        way_back.addStretch(1)
        self._way_back = QWidget()
        self._way_back.setLayout(way_back)
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
    """Return the model that is shown first, since figures of several models together say little."""
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
