"""What can go wrong at the hub, the cancel token, and interruptible waits."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import weakref
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from mtplx_engine.errors import EngineError, ErrorKind


class HubErrorKind(StrEnum):
    """The kinds of failure; the value is what the button of the message says."""

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
"""What lies on the way to the hub, and so is the same for every model."""


MOVED: Final = frozenset({HubErrorKind.NOT_FOUND, HubErrorKind.CHANGED})
"""What is said of a file that a repository had when it was looked at, and has no more."""


IN_THE_FOLDER: Final = frozenset({HubErrorKind.READ_ONLY, HubErrorKind.NOT_CONNECTED})
"""What another folder for models helps against."""


class HubError(EngineError):
    """A failure at the hub, or on the way to it or to the disk.

    Attributes:
        problem: Its kind.
        wait_s: How long the hub asked us to wait, in seconds; None when it did not.
    """

    def __init__(
        self, problem: HubErrorKind, message: str, details: str = "", *, wait_s: float | None = None
    ) -> None:
        super().__init__(ErrorKind.DOWNLOAD, message, details)
        self.problem = problem
        self.wait_s = wait_s

    @property
    def cause(self) -> str:
        """What happened, without what to do about it and without a full stop."""
        return self.info.message.partition(". ")[0].removesuffix(".")

    @property
    def passes(self) -> bool:
        """Whether the same request may well succeed in a moment."""
        return self.problem in (
            HubErrorKind.NO_NETWORK,
            HubErrorKind.UNREACHABLE,
            HubErrorKind.RATE_LIMITED,
        )


class CancelledError(Exception):
    """The download was paused or cancelled by the person, which is no failure."""


_OPENED = (
    "connection.connect_tcp.complete",
    "connection.start_tls.complete",
    "http_proxy.start_tls.complete",
)


class CancelToken:
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


LONGEST_S: Final = 24 * 3600.0
"""A hub that asks for more is as good as gone."""

COUNTED_S: Final = 100.0
"""Up to here people count seconds."""

_CLOCK = "%H:%M"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pause before the next try.

    Attributes:
        cause: What happened, without a full stop.
        until: When the next try is, in seconds since the epoch.
        asked: Whether it is the hub that asked for the wait, which the cause says then.
    """

    cause: str
    until: float
    asked: bool

    def seconds(self, now: float) -> float:
        """Return how long it still is at a time since the epoch."""
        return max(self.until - now, 0.0)

    def in_words(self, now: float) -> str:
        """Return it for people at a time since the epoch."""
        seconds = self.seconds(now)
        if seconds < COUNTED_S:
            return f"{self.cause}, trying again in {seconds:.0f} s"
        return self.cause if self.asked else f"{self.cause}, trying again at {clock(self.until, now)}"


def asked_for(seconds: float, now: float) -> str:
    """Return what a hub asks for: "to wait 8 s", "to wait until 14:20"."""
    if seconds >= LONGEST_S:
        return "to wait for a day or longer"
    return f"to wait {seconds:.0f} s" if seconds < COUNTED_S else f"to wait until {clock(now + seconds, now)}"


def clock(moment: float, now: float) -> str:
    """Return the time of day of a moment within a day from now, both in seconds since the epoch."""
    today, then = time.localtime(now), time.localtime(moment)
    tomorrow = "" if then.tm_yday == today.tm_yday else " tomorrow"
    return time.strftime(_CLOCK, then) + tomorrow
