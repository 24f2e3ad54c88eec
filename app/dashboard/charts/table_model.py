"""The accessible table behind a chart."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class ChartTableModel(QAbstractTableModel):
    """The first column names the rows, the head names the other columns.

    Attributes:
        table: What is in it.
    """

    def __init__(self, table: ChartTable, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.table = table

    def set_table(self, table: ChartTable) -> None:
        """Hold other figures."""
        if table == self.table:
            return
        if table.rows and len(table.rows) == len(self.table.rows) and len(table.head) == len(self.table.head):
            self.table = table
            last = self.index(self.rowCount() - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)
        else:
            self.beginResetModel()
            self.table = table
            self.endResetModel()

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self.table.rows)

    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        """Return the number of columns beside the first."""
        return 0 if parent.isValid() else len(self.table.head) - 1

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> str | None:
        """Return the words of a cell."""
        if role != Qt.ItemDataRole.DisplayRole or not index.isValid():
            return None
        return self.table.rows[index.row()][index.column() + 1]

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> str | None:
        """Return the name of a column or a row."""
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation == Qt.Orientation.Horizontal:
            return self.table.head[section + 1]
        return self.table.rows[section][0]


@dataclass(frozen=True, slots=True)
class ChartTable:
    """Words in rows and columns.

    Attributes:
        head: What the columns are, the first of which names the rows.
        rows: As long as `head`.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        """Return it as spreadsheets paste it: a line for each row, tabs between the cells."""
        return "\n".join("\t".join(row) for row in (self.head, *self.rows))
