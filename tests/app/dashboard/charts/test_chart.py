"""The widget: what is pointed at, what the keys do, what a screen reader finds, and what is copied."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAccessible, QColor, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.dashboard.charts.bars import AcceptedHistogram, PositionBars
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.lines import SpeedStrip
from app.palette import DARK

Role = QAccessible.Role
BARS = PositionBars((325, 268, 173), 412)


@pytest.fixture
def chart(theme, qtbot):
    chart = Chart(theme, "Acceptance by position", BARS)
    qtbot.addWidget(chart)
    chart.resize(420, chart.sizeHint().height())
    chart.show()
    return chart


def interface(chart):
    return QAccessible.queryAccessibleInterface(chart)


def cells(chart, role):
    table = interface(chart)
    children = [table.child(index) for index in range(table.childCount())]
    return [child.text(QAccessible.Text.Name) for child in children if child.role() is role]


def test_a_screen_reader_finds_a_table_with_names(chart):
    assert interface(chart).role() is Role.Table
    assert interface(chart).text(QAccessible.Text.Name) == "Acceptance by position"
    assert cells(chart, Role.ColumnHeader) == ["share accepted", "accepted", "verify steps"]
    assert cells(chart, Role.RowHeader) == ["1", "2", "3"]
    assert cells(chart, Role.Cell) == ["79 %", "325", "412", "65 %", "268", "412", "42 %", "173", "412"]


def test_cells_are_where_their_marks_are(chart):
    table = interface(chart)
    found = [table.child(index) for index in range(table.childCount())]
    tops = [cell.rect().top() for cell in found if cell.role() is Role.Cell]
    assert tops == sorted(tops)
    assert len(set(tops)) == 3
    assert chart.indexAt(chart.visualRect(chart.model().index(1, 0)).center()).row() == 1


def test_keys_go_from_mark_to_mark_and_stay_inside(chart, qtbot):
    chart.activateWindow()
    chart.setFocus()
    qtbot.waitUntil(chart.hasFocus)
    assert chart._called_out() == 0
    for key, row in (
        (Qt.Key.Key_Left, 0),
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_Down, 2),
        (Qt.Key.Key_Right, 2),
        (Qt.Key.Key_Up, 1),
        (Qt.Key.Key_End, 2),
        (Qt.Key.Key_Home, 0),
    ):
        QTest.keyClick(chart, key)
        assert chart._called_out() == row
    focused = interface(chart).focusChild()
    assert (focused.role(), focused.text(QAccessible.Text.Name)) == (Role.Cell, "79 %")


def test_focus_is_seen_and_tab_leaves_again(theme, qtbot):
    box = QWidget()
    qtbot.addWidget(box)
    first, second = (Chart(theme, name, BARS, box) for name in ("One", "Two"))
    second.move(0, 200)
    box.resize(500, 400)
    box.show()
    box.activateWindow()
    first.setFocus()
    qtbot.waitUntil(first.hasFocus)
    ring = QColor(theme.palette.accent).name()
    seen, unseen = (chart.grab().toImage() for chart in (first, second))
    assert seen.pixelColor(first.width() // 2, 1).name() == ring
    assert unseen.pixelColor(second.width() // 2, 1).name() != ring
    QTest.keyClick(first, Qt.Key.Key_Tab)
    assert second.hasFocus()


def test_the_pointer_calls_out_and_goes(chart):
    chart.clearFocus()
    before = chart.grab().toImage()
    QTest.mouseMove(chart.viewport(), chart.visualRect(chart.model().index(2, 0)).center())
    assert chart._called_out() == 2
    assert chart.grab().toImage() != before
    QGuiApplication.sendEvent(chart, QEvent(QEvent.Type.Leave))
    assert chart._called_out() is None
    assert chart.grab().toImage() == before


def test_other_figures_keep_what_is_called_out(chart):
    chart.activateWindow()
    chart.setFocus()
    QTest.keyClick(chart, Qt.Key.Key_End)
    chart.show_data(PositionBars((400, 300, 200), 500))
    assert chart._called_out() == 2
    chart.show_data(PositionBars((400,), 500))  # what was called out is no more
    assert cells(chart, Role.Cell) == ["80 %", "400", "500"]
    chart.grab()


@pytest.mark.parametrize("how", ["menu", "key"])
def test_all_figures_are_copied_as_a_table(chart, how):
    QGuiApplication.clipboard().clear()
    if how == "menu":
        chart.copy_as_table.trigger()
    else:
        QTest.keyClick(chart, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().split("\n") == [
        "position\tshare accepted\taccepted\tverify steps",
        "1\t79 %\t325\t412",
        "2\t65 %\t268\t412",
        "3\t42 %\t173\t412",
    ]


def test_an_empty_chart_says_why_and_can_be_touched(chart):
    chart.show_data(PositionBars((), 0))
    chart.show_data(PositionBars((), 1))  # Qt warns of changes in a table without rows
    assert chart.accessibleDescription() == "Nothing has been drafted yet."
    chart.setFocus()
    QTest.keyClick(chart, Qt.Key.Key_Right)
    QTest.mouseMove(chart.viewport(), chart.viewport().rect().center())
    assert chart._called_out() is None
    chart.grab()


def test_light_and_dark_are_painted_in_their_own_colours(chart, theme):
    light = chart.grab().toImage()
    theme.use(DARK)
    assert chart.grab().toImage() != light


@pytest.mark.parametrize("figures", [AcceptedHistogram.of((325, 268, 173), 412), SpeedStrip((None, 40.0, 42.0, None))])
def test_a_mark_under_the_pointer_is_the_nearest_one(theme, qtbot, figures):
    chart = Chart(theme, "Figures", figures)
    qtbot.addWidget(chart)
    chart.resize(400, chart.sizeHint().height())
    chart.show()
    for row in range(chart.model().rowCount()):
        centre = chart.visualRect(chart.model().index(row, 0)).center()
        QTest.mouseMove(chart.viewport(), centre)
        assert chart._called_out() == row
