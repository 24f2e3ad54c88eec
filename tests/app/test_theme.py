"""Weak callbacks are called as long as their objects live."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QObject

from app.theme import WeakCalls


class Listener:
    def __init__(self, name, heard):
        self.name = name
        self.heard = heard

    def listen(self):
        self.heard.append(self.name)


class ListeningObject(QObject):
    def __init__(self, heard):
        super().__init__()
        self.heard = heard

    def listen(self):
        self.heard.append(self)


def test_all_methods_are_called_in_the_order_in_which_they_were_added():
    calls, heard = WeakCalls(), []
    listeners = [Listener(name, heard) for name in "abc"]
    for listener in listeners:
        calls.add(listener.listen)
    calls.call()
    assert heard == ["a", "b", "c"]


def test_an_object_that_is_gone_leaves_nothing_behind():
    calls, heard = WeakCalls(), []
    stays, goes = Listener("stays", heard), Listener("goes", heard)
    calls.add(goes.listen)
    calls.add(stays.listen)
    del goes
    assert len(calls) == 1
    calls.call()
    assert heard == ["stays"]


def test_an_object_that_qt_has_deleted_is_not_called():
    calls, heard = WeakCalls(), []
    listener = ListeningObject(heard)
    calls.add(listener.listen)
    calls.call()
    shiboken6.delete(listener)
    calls.call()
    assert heard == [listener]


def test_an_object_that_another_call_drops_is_not_called():
    calls, heard = WeakCalls(), []
    dropped = [Listener("dropped", heard)]

    class Dropping:
        def drop(self):
            dropped.clear()

    dropping = Dropping()
    calls.add(dropping.drop)
    calls.add(dropped[0].listen)
    calls.call()
    assert heard == []
    assert len(calls) == 1
