"""Stops downloads at once, whatever they are waiting for."""

from __future__ import annotations

import contextlib
import socket
import threading
import weakref
from typing import Any

from mtplx_engine.hub.problem import CancelledError

_OPENED = (
    "connection.connect_tcp.complete",
    "connection.start_tls.complete",
    "http_proxy.start_tls.complete",
)


class Interrupt:
    """One switch for everything that belongs to a download; callable from any thread.

    A thread that waits for a server which says nothing is woken by shutting down its connection.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    @property
    def extensions(self) -> dict[str, Any]:
        """What a request carries so that its connection can be shut down."""
        return {"trace": self._note}

    def set(self) -> None:
        """Stop."""
        with self._lock:
            self._event.set()
            sockets = list(self._sockets)
        for connection in sockets:
            _shut_down(connection)

    def is_set(self) -> bool:
        """Whether `set` was called."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise CancelledError once `set` was called."""
        if self._event.is_set():
            raise CancelledError

    def wait(self, seconds: float) -> None:
        """Wait, but no longer than until `set` is called.

        Raises:
            CancelledError: It was called.
        """
        self._event.wait(seconds)
        self.check()

    def _note(self, name: str, info: dict[str, Any]) -> None:
        if name not in _OPENED:
            return
        connection = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._sockets.add(connection)
            late = self._event.is_set()
        if late:
            _shut_down(connection)


def _shut_down(connection: socket.socket) -> None:
    # Not the method of a TLS socket, which would take away the session that another thread is reading from.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
