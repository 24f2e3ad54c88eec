"""The history as shown on its page: the facts at a glance, and a table of groups of answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHeaderView,
    QSizePolicy,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.dashboard import history_text
from app.i18n import tr
from app.storage.stats import Choice, Grouping
from app.theme import CODE_PX, SMALL_PX, SPACE_L
from app.widgets.labels import PlainLabel

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QResizeEvent

    from app.storage.stats import AnswerHistory, Group, TimeSaved
    from app.theme import Theme


_NUMBER_PX = 20
_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
_ROW_HEIGHT = 30
_LEAST_NAME = 112  # pixels of the first column
_Role = Qt.ItemDataRole


class Fact(QWidget):
    """A number below its name and above its basis."""

    def __init__(self, theme: Theme, name: str, tip: str) -> None:
        super().__init__()
        self._name = PlainLabel(theme, SMALL_PX, "secondary")
        self._name.say(name)
        self._number = PlainLabel(theme, _NUMBER_PX, weight=QFont.Weight.DemiBold)
        self._basis = PlainLabel(theme, SMALL_PX, "secondary")
        self.setToolTip(tip)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        for label in (self._name, self._number, self._basis):
            column.addWidget(label)
        column.addStretch(1)

    def show_number(self, number: str, basis: str, tone: str = "") -> None:
        self._number.say(number, "tertiary" if number == history_text.UNKNOWN else tone)
        self._basis.say(basis)


class HistoryFacts(QWidget):
    """Number of answers, decode speed, acceptance rate and time saved, side by side."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.answers = Fact(theme, tr("Answers"), "")
        self.writing = Fact(theme, tr("Writing, median"), tr("Tokens per second while an answer is written."))
        self.kept = Fact(
            theme,
            tr("Drafts kept"),
            tr("The share of the drafted tokens that the model itself would have chosen."),
        )
        self.saved = Fact(theme, tr("By drafting, estimated"), tr(history_text.SAVED_TIP))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE_L)
        for column, (fact, share) in enumerate(((self.answers, 2), (self.writing, 3), (self.kept, 3), (self.saved, 3))):
            grid.addWidget(fact, 0, column)
            grid.setColumnStretch(column, share)
            grid.setColumnMinimumWidth(column, share)

    def show_history(self, history: AnswerHistory, estimate: TimeSaved) -> None:
        text, total = history_text, history.total
        self.answers.show_number(f"{total.answers:,}", text.days(history))
        self.writing.show_number(text.writing(total.speed), text.middle_half(total.speed))
        self.kept.show_number(text.kept(total), text.kept_of(total), "tertiary" if text.is_few(total) else "")
        lost = estimate.seconds is not None and estimate.seconds < 0
        self.saved.show_number(text.saved(estimate), text.saved_from(estimate), "slower" if lost else "")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table.

    Attributes:
        is_name: Whether it names what the answers of a row have in common.
        is_share: Whether it says little where few steps were verified.
    """

    name: str
    tip: str
    text: Callable[[Group], str]
    cell_tip: Callable[[Group], str] = lambda _: ""
    is_name: bool = False
    is_share: bool = False


def columns(choice: Choice) -> tuple[Column, ...]:
    by_context = choice.grouping is Grouping.CONTEXT
    names = []
    if choice.model is None or not by_context:
        names.append(Column(tr("Model"), "", lambda group: group.model, lambda group: group.model, is_name=True))
    if by_context:
        tip = tr("How long prompt and answer were, with all that came before.")
        names.append(Column(tr("Context, tokens"), tip, history_text.context, is_name=True))
    return (
        *names,
        Column(tr("Answers"), tr("How many answers there are."), lambda group: f"{group.summary.answers:,}"),
        Column(
            tr("Writing, tok/s"),
            tr("Tokens per second while writing: the median of the answers, and the middle half of them."),
            lambda group: history_text.writing_and_span(group.summary.speed),
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
            lambda group: history_text.prompt_speed(group.summary),
        ),
        Column(
            tr("Drafts kept"),
            tr("The share of the drafted tokens that the model kept, and how many were drafted."),
            lambda group: history_text.kept_of_drafted(group.summary),
            lambda group: history_text.kept_of(group.summary),
            is_share=True,
        ),
    )


class GroupModel(QAbstractTableModel):
    """The groups of a history as rows, those of the model with the most answers first."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self._groups: tuple[Group, ...] = ()
        self._columns = columns(Choice())

    def row_of(self, group: Group | None) -> int | None:
        """Return the row with the model and the context of a group; None when there is none any more."""
        keys = [(each.model, each.bucket) for each in self._groups]
        wanted = group and (group.model, group.bucket)
        return keys.index(wanted) if wanted in keys else None

    def group_at(self, row: int) -> Group | None:
        """Return the group of a row, None outside."""
        return self._groups[row] if 0 <= row < len(self._groups) else None

    def show(self, history: AnswerHistory) -> None:
        self.beginResetModel()
        ranks = {model: rank for rank, model in enumerate(history.asked)}
        self._groups = tuple(sorted(history.groups, key=lambda group: (ranks[group.model], -group.summary.answers)))
        self._columns = columns(history.choice)
        self.endResetModel()

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._groups)

    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: _Index, role: int = _Role.DisplayRole) -> object:
        if not index.isValid():
            return None
        group, column = self._groups[index.row()], self._columns[index.column()]
        if role == _Role.DisplayRole:
            return column.text(group)
        if role == _Role.ToolTipRole:
            return column.cell_tip(group)
        if role == _Role.TextAlignmentRole:
            return self._alignment(index.column())
        if role == _Role.ForegroundRole and column.is_share and history_text.is_few(group.summary):
            return QColor(self._theme.palette.tertiary)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _Role.DisplayRole) -> object:
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
    """A table as high as its rows, since the page around it scrolls."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("history")  # first: the header takes its style once
        self._model = GroupModel(theme, self)
        self.setModel(self._model)
        self.setAccessibleName(tr("Figures of the answers"))
        self.setFont(theme.tabular_font(CODE_PX))
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
        """Show the groups of a history; the current cell and the scroll position stay where they can."""
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
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Let the first column take the width that is left, and scroll sideways where that is too little."""
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
