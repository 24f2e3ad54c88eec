"""A place for one thing to do: what comes later takes it."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class Latest(Generic[T]):
    """Passes the newest value from one thread to another, and forgets the older ones that nobody has taken."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._value: T | None = None
        self._closed = False

    def put(self, value: T) -> None:
        """Leave a value in the place of the last one."""
        with self._changed:
            self._value = value
            self._changed.notify()

    def take(self) -> T | None:
        """Wait for a value and take it; None once the place is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._value is not None or self._closed)
            value, self._value = self._value, None
            return None if self._closed else value

    def close(self) -> None:
        """Have `take` return None from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify()
