"""Long lines of code: wrapped, or one row each that is moved sideways; short ones have no button for it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QTextCursor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget

from app.chat_view.code_buttons import CopyButton, WrapButton
from app.chat_view.message_view import AnswerView
from app.palette import DARK
from app.render.export import selected_leaves
from tests.support.looks import style

LONG = "x = [" + "1234567890, " * 20 + "]\n"
CODE = f"```python\nshort\n{LONG}    if x:\n        {LONG}```\n\nAfter it.\n"


@pytest.fixture
def view(qtbot):
    area = QScrollArea()
    area.setWidgetResizable(True)
    page = QWidget()
    rows = QVBoxLayout(page)
    view = AnswerView(style())
    rows.addWidget(view)
    rows.addStretch()
    area.setWidget(page)
    area.resize(600, 400)
    qtbot.addWidget(area)
    area.show()
    settle()
    view.area = area
    return view


def settle():
    for _ in range(5):
        QApplication.processEvents()


def show(view, text):
    view.set_markdown(text)
    settle()
    return view.findChildren(WrapButton)[-1]


def rows(view):
    block = view.document().begin()
    while block.isValid():
        yield block.layout().lineCount()
        block = block.next()


def test_only_code_with_long_lines_has_the_button(view):
    assert not show(view, "```\nshort\n```").isVisible()
    assert show(view, CODE).isVisible()


def test_lines_become_one_row_each_and_come_back(view):
    button = show(view, CODE)
    wrapped, height = list(rows(view)), view.height()
    assert max(wrapped) > 1
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    settle()
    assert set(rows(view)) == {1}
    assert view.height() < height
    assert button.accessibleName() == "Wrap long lines"
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    settle()
    assert list(rows(view)) == wrapped
    assert view.height() == height


def test_the_bar_shows_the_end_of_the_line(view):
    button = show(view, CODE)
    assert not button.bar.isVisible()
    button.click()
    settle()
    assert button.bar.isVisible()
    cursor = view.document().find("1234567890, ]")
    assert view.cursorRect(cursor).x() > view.width()
    button.bar.setValue(button.bar.maximum())
    settle()
    assert 0 < view.cursorRect(view.document().find("1234567890, ]")).x() <= view.width()
    assert view.horizontalScrollBar().value() == 0


def test_a_wheel_to_the_side_moves_it_and_one_down_does_not(view):
    button = show(view, CODE)
    button.click()
    settle()
    wheel(view, -120, 0)
    assert button.bar.value() == 60
    wheel(view, 0, -120)
    assert button.bar.value() == 60


def wheel(view, x, y):
    point = QPointF(button_point(view))
    none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
    view.wheelEvent(QWheelEvent(point, point, QPoint(), QPoint(x, y), *none, False))


def button_point(view):
    return next(each for each in view.findChildren(CopyButton) if each.isVisible()).geometry().center()


def test_what_is_copied_is_the_same(view):
    button = show(view, CODE)
    cursor = view.textCursor()
    cursor.select(QTextCursor.SelectionType.Document)
    before = selected_leaves(view._writer.placed, cursor)
    button.click()
    assert selected_leaves(view._writer.placed, cursor) == before


def test_what_streams_in_later_is_not_wrapped_either(view):
    view.append("```python\n" + LONG)
    settle()
    button = view.findChild(WrapButton)
    button.click()
    view.append("    " + LONG)
    view._flush()
    settle()
    assert set(rows(view)) == {1}


def test_after_the_code_text_wraps_as_ever(view):
    button = show(view, CODE + "word " * 60)
    button.click()
    settle()
    assert list(rows(view))[-1] > 1


def test_other_colours_wrap_nothing_again(view):
    show(view, CODE).click()
    view.set_style(style(DARK))
    settle()
    assert set(rows(view)) == {1}
    button = view.findChildren(WrapButton)[-1]
    assert not button.isChecked()
    button.click()
    assert max(rows(view)) > 1
