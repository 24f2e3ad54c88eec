"""Methods of objects that come and go, called together."""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING
from weakref import WeakMethod

from shiboken6 import isValid

if TYPE_CHECKING:
    from collections.abc import Callable


class WeakCalls:
    """Tells objects of something that outlives them.

    In place of a signal: PySide keeps an entry of each connection for as long as its sender lives, so that every
    object that is gone would have left one behind.
    """

    def __init__(self) -> None:
        self._methods: dict[WeakMethod[Callable[[], None]], None] = {}

    def __len__(self) -> int:
        return len(self._methods)

    def add(self, method: Callable[[], None]) -> None:
        """Call a method from now on, as long as its object is there."""
        self._methods[WeakMethod(method, self._forget)] = None

    def call(self) -> None:
        """Call all methods, in the order in which they were added."""
        for known in tuple(self._methods):
            method = known()
            if isinstance(method, MethodType) and isValid(method.__self__):
                method()

    def _forget(self, known: WeakMethod[Callable[[], None]]) -> None:
        self._methods.pop(known, None)
