"""What is thrown away goes at once, but never under the feet of what threw it away."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEventLoop, QObject, QTimer
from PySide6.QtWidgets import QWidget

from app.widgets.bin import Bin


def test_a_widget_is_hidden_at_once_and_goes_with_its_children(qtbot, qapp):
    owner, widget = QObject(), QWidget()
    child = QWidget(widget)
    widget.show()
    Bin(owner).put(widget)
    assert widget.isHidden()
    qtbot.waitUntil(lambda: not shiboken6.isValid(widget))
    assert not shiboken6.isValid(child)


def test_a_widget_outlasts_a_loop_inside_the_one_that_it_was_left_in(qtbot, qapp):
    owner, widget = QObject(), QWidget()
    valid_inside = []

    def leave_and_go_on() -> None:
        Bin(owner).put(widget)
        inner = QEventLoop()
        QTimer.singleShot(120, inner, inner.quit)
        inner.exec()
        valid_inside.append(shiboken6.isValid(widget))

    QTimer.singleShot(0, owner, leave_and_go_on)
    qtbot.waitUntil(lambda: bool(valid_inside))
    assert valid_inside == [True]
    qtbot.waitUntil(lambda: not shiboken6.isValid(widget))


def test_a_widget_that_went_by_itself_is_left_alone(qtbot, qapp):
    owner, gone, widget = QObject(), QWidget(), QWidget()
    basket = Bin(owner)
    basket.put(gone)
    basket.put(widget)
    shiboken6.delete(gone)
    qtbot.waitUntil(lambda: not shiboken6.isValid(widget))
