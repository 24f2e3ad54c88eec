"""A table that is too wide keeps its words whole, and is moved sideways."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QScrollArea, QScrollBar

from app.chat_view.message_view import AnswerView
from tests.support.looks import style

HEADS = ("Feature", "Description", "Status", "Responsibility", "Owner", "Priority", "Measurement", "End")
WIDE = f"| {' | '.join(HEADS)} |\n{'|---' * len(HEADS)}|\n| {' | '.join(HEADS)} |\n"


@pytest.fixture
def view(qtbot):
    area = QScrollArea()
    area.setWidgetResizable(True)
    view = AnswerView(style())
    area.setWidget(view)
    area.resize(400, 400)
    qtbot.addWidget(area)
    area.show()
    view.area = area
    settle()
    return view


def settle():
    for _ in range(5):
        QApplication.processEvents()


def bars(view):
    settle()
    found = view.viewport().findChildren(QScrollBar)
    return [bar for bar in found if bar.accessibleName() == "Moves the table sideways" and bar.isVisible()]


def cell(view, column):
    block = view._writer.placed[0].table.qt.cellAt(1, column).firstCursorPosition().block()
    return view._geometry.rect(block), block.layout()


def test_words_stay_whole_in_a_narrow_window(view):
    view.set_markdown(WIDE)
    assert len(bars(view)) == 1
    assert [cell(view, column)[1].lineCount() for column in range(len(HEADS))] == [1] * len(HEADS)


def test_a_word_longer_than_a_column_is_broken_into_more_than_letters(view):
    word = "o" * 120
    view.set_markdown(f"| a | b | c |\n|---|---|---|\n| {word} | {word} | {word} |\n")
    settle()
    _, layout = cell(view, 0)
    assert all(layout.lineAt(number).textLength() > 10 for number in range(layout.lineCount() - 1))


def test_the_end_can_be_reached_and_the_start_again(view):
    view.set_markdown(WIDE)
    [bar] = bars(view)
    start = cell(view, 0)[0].left()
    last = len(HEADS) - 1
    assert cell(view, last)[0].left() > view.viewport().width()
    bar.setValue(bar.maximum())
    rect, layout = cell(view, last)
    assert rect.left() + layout.lineAt(0).naturalTextWidth() <= view.viewport().width()
    bar.setValue(0)
    assert cell(view, 0)[0].left() == start


def test_the_wheel_moves_it_sideways_and_only_there(view):
    view.set_markdown(f"{WIDE}\nAfter it.")
    [bar] = bars(view)
    for y, value in ((bar.y() - 10, 60), (bar.geometry().bottom() + 20, 60)):
        place = QPointF(50, y)
        wheel = QWheelEvent(
            place,
            QPointF(view.viewport().mapToGlobal(place.toPoint())),
            QPoint(-60, 0),
            QPoint(-120, 0),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(view.viewport(), wheel)
        assert bar.value() == value


def test_what_follows_stands_below_the_bar(view):
    view.set_markdown(f"{WIDE}\nAfter it.")
    [bar] = bars(view)
    assert view._geometry.top(view._writer.placed[1]) >= bar.geometry().bottom()


def test_with_more_room_there_is_no_bar_and_nothing_is_out_of_sight(view):
    view.set_markdown(WIDE)
    [bar] = bars(view)
    bar.setValue(bar.maximum())
    view.area.resize(1000, 400)
    assert bars(view) == []
    assert cell(view, 0)[0].left() >= 0


@pytest.mark.parametrize("text", ["| a | b |\n|---|---|\n| c | d |\n", "No table."])
def test_what_fits_has_no_bar(view, text):
    view.set_markdown(text)
    assert bars(view) == []


def test_bars_go_with_their_tables(view):
    view.set_markdown(WIDE)
    assert len(bars(view)) == 1
    view.set_markdown("Something else.")
    assert bars(view) == []
