"""Tab goes through a window as it is read, also after parts of it came later."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.widgets.reading_order import ReadingOrder


def walk(window):
    """Return the names of the widgets that Tab reaches in a round that begins with the first one."""
    found, widget = [], window.nextInFocusChain()
    while widget is not window:
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            found.append(widget.objectName())
        widget = widget.nextInFocusChain()
    begin = found.index("first")
    return found[begin:] + found[:begin]


def named(widget, name):
    widget.setObjectName(name)
    return widget


def test_what_was_made_last_is_reached_where_it_stands(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    last = named(QPushButton(window), "last")
    column, row, inner = QVBoxLayout(window), QHBoxLayout(), QVBoxLayout()
    stack, area, body = QStackedWidget(), QScrollArea(), QWidget()
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(body)
    body.setLayout(inner)
    inner.addWidget(named(QPushButton(), "third"))
    stack.addWidget(area)
    column.addLayout(row)
    column.addWidget(stack)
    column.addWidget(last)
    row.addWidget(QLabel("no stop"))
    row.addWidget(named(QPushButton(), "second"))
    row.insertWidget(0, named(QLineEdit(), "first"))
    order = ReadingOrder(window)
    order.keep()
    assert walk(window) == ["first", "second", "third", "last"]
    inner.insertWidget(0, named(QPushButton(), "between"))
    order.keep()
    assert walk(window) == ["first", "second", "between", "third", "last"]
