"""The table of the history: a row for the answers of each model that are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QFrame, QHeaderView, QSizePolicy, QTableView

from app.chat.meters import speed
from app.dashboard import history_words
from app.services.history import Choice, Grouping
from app.theme import CODE_PX, SMALL_PX
from app.translate import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QResizeEvent
    from PySide6.QtWidgets import QWidget

    from app.services.history import Group, History
    from app.theme import Theme

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
    parts = (Column(*part, lambda group: history_words.part(grouping, group), is_name=True),) if part else ()
    return (*models, *parts, *_figures())


def _figures() -> tuple[Column, ...]:
    return (
        Column(tr("Answers"), tr("How many answers there are."), lambda group: f"{group.summary.answers:,}"),
        Column(
            tr("Writing, tok/s"),
            tr("Tokens per second while writing: the median of the answers, and the middle half of them."),
            _writing,
            lambda group: history_words.middle_half(group.summary.speed),
        ),
        Column(
            tr("First word"),
            tr("Time from sending to the first visible text: the median of the answers."),
            lambda group: history_words.seconds(group.summary.first_text),
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
            lambda group: history_words.kept_of(group.summary),
            is_share=True,
        ),
    )


def _speed(tokens_per_second: float | None) -> str:
    return history_words.UNKNOWN if tokens_per_second is None else speed(tokens_per_second)


def _writing(group: Group) -> str:
    spread = group.summary.speed
    if spread is None:
        return history_words.UNKNOWN
    quartiles = history_words.span(spread)
    return f"{speed(spread.median)} ({quartiles})" if quartiles else speed(spread.median)


def _kept(group: Group) -> str:
    share = history_words.kept(group.summary)
    if share == history_words.UNKNOWN:
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

    def show(self, history: History) -> None:
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
        if role == _Role.ForegroundRole and column.is_share and history_words.is_few(group.summary):
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

    def show_groups(self, history: History) -> None:
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
