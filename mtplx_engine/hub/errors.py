"""Errors at the hub and on the way to it, and the token that cancels a download."""

from __future__ import annotations

import contextlib
import socket
import threading
import weakref
from enum import StrEnum
from typing import Any, Final

from mtplx_engine.errors import EngineError, ErrorKind

_OPENED = (
    "connection.connect_tcp.complete",
    "connection.start_tls.complete",
    "http_proxy.start_tls.complete",
)


class HubErrorKind(StrEnum):
    """The kinds of failure; the value is the label of the message's button."""

    NO_TOKEN = "Add a token"  # noqa: S105 - no secret, the label of a button
    BAD_TOKEN = "Change the token"  # noqa: S105
    LICENCE = "Open the licence page"
    FORBIDDEN = "Change the token…"
    NOT_FOUND = "Choose another model"
    NO_NETWORK = "Try again when online"
    UNREACHABLE = "Try again"
    PORTAL = "Sign in to the network"
    PROXY = "Check the proxy"
    ADDRESS = "Check the address"
    CERTIFICATE = "Check date and network"
    DISK_FULL = "Make room and try again"
    READ_ONLY = "Choose another folder"
    NOT_CONNECTED = "Try again when connected"
    RATE_LIMITED = "Try again later"
    CHANGED = "Start over"
    WRONG_HASH = "Download again"
    UNSAFE = "Choose a safe model"
    NO_MODEL = "Choose an MLX model"
    UNFIT_HEAD = "Choose another head"
    BUSY = "Wait for the other one"


ON_THE_WAY: Final = frozenset(
    {
        HubErrorKind.NO_NETWORK,
        HubErrorKind.UNREACHABLE,
        HubErrorKind.PORTAL,
        HubErrorKind.PROXY,
        HubErrorKind.ADDRESS,
        HubErrorKind.CERTIFICATE,
        HubErrorKind.RATE_LIMITED,
    }
)
"""Failures on the way to the hub, which are the same for every model."""


MOVED: Final = frozenset({HubErrorKind.NOT_FOUND, HubErrorKind.CHANGED})
"""Failures for a file that the repository had at its inspection and no longer has."""


IN_THE_FOLDER: Final = frozenset({HubErrorKind.READ_ONLY, HubErrorKind.NOT_CONNECTED})
"""Failures that another models folder remedies."""


class HubError(EngineError):
    """A failure at the hub, or on the way to it or to the disk; `wait_s` is what the hub asked us to wait, or None."""

    def __init__(self, problem: HubErrorKind, message: str, details: str = "", *, wait_s: float | None = None) -> None:
        super().__init__(ErrorKind.DOWNLOAD, message, details)
        self.problem = problem
        self.wait_s = wait_s

    @property
    def cause(self) -> str:
        """What happened, without the advice and without a full stop."""
        return self.info.message.partition(". ")[0].removesuffix(".")

    @property
    def passes(self) -> bool:
        """Whether the same request may soon succeed."""
        return self.problem in (
            HubErrorKind.NO_NETWORK,
            HubErrorKind.UNREACHABLE,
            HubErrorKind.RATE_LIMITED,
        )


class CancelledError(Exception):
    """The user paused or cancelled the download, which is no failure."""


class CancelToken:
    """Cancels everything that belongs to a download, which then raises CancelledError; thread-safe.

    A thread that waits for a silent server is woken by shutting down its connection.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    @property
    def extensions(self) -> dict[str, Any]:
        """The httpx extensions that let a request's connection be shut down."""
        return {"trace": self._note}

    def set(self) -> None:
        with self._lock:
            self._event.set()
            sockets = list(self._sockets)
        for connection in sockets:
            _shut_down(connection)

    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise CancelledError once it is cancelled."""
        if self._event.is_set():
            raise CancelledError

    def wait(self, seconds: float) -> None:
        """Wait, but raise CancelledError as soon as it is cancelled."""
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
