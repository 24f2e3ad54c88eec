"""Lines fill from one side, break where the width ends, and are as high as they must be."""

from __future__ import annotations

import pytest
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

from app.widgets.layouts import FlowLayout, ReadingOrder

GAP = 8


@pytest.fixture
def make(qtbot):
    def make(*widths, right=False):
        area = QWidget()
        qtbot.addWidget(area)
        flow = FlowLayout(area, GAP, right=right)
        boxes = [QWidget() for _ in widths]
        for box, width in zip(boxes, widths, strict=True):
            box.setFixedSize(width, 20)
            flow.addWidget(box)
        return area, flow, boxes

    return make


def places(area, flow, boxes, width):
    area.resize(width, flow.heightForWidth(width))
    area.show()
    flow.activate()
    return [(box.x(), box.y()) for box in boxes]


def test_what_fits_stands_in_one_line(make):
    assert places(*make(50, 60, 30), 160) == [(0, 0), (58, 0), (126, 0)]


def test_what_does_not_fit_begins_another_one(make):
    area, flow, boxes = make(50, 60, 30)
    assert places(area, flow, boxes, 120) == [(0, 0), (58, 0), (0, 28)]
    assert flow.heightForWidth(120) == 48
    assert flow.heightForWidth(40) == 76


def test_lines_may_end_at_the_right(make):
    assert places(*make(50, 60, 30, right=True), 120) == [(2, 0), (60, 0), (90, 28)]


def test_an_empty_one_takes_no_room(make):
    area, flow, _ = make()
    assert area.layout() is flow
    assert flow.heightForWidth(100) == 0
    assert flow.count() == 0
    assert flow.itemAt(0) is None


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
