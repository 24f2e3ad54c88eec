"""Retries after failures: how often, how long to wait in between, and the wait in words.

Free of the HTTP stack, since the start of the window reads it.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mtplx_engine.hub.errors import HubError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from mtplx_engine.hub.errors import CancelToken

    _T = TypeVar("_T")


LONGEST_S: Final = 24 * 3600.0
"""The longest wait that a hub can ask for."""

COUNTED_S: Final = 100.0
"""Shorter waits are given in seconds, longer ones by the time of day."""

_CLOCK = "%H:%M"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A wait before the next try.

    Attributes:
        cause: What happened, without a full stop.
        until: Time of the next try, in seconds since the epoch.
        asked: Whether the hub asked for the wait, which `cause` then says.
    """

    cause: str
    until: float
    asked: bool

    def seconds(self, now: float) -> float:
        return max(self.until - now, 0.0)

    def in_words(self, now: float) -> str:
        """Return cause and wait for the user at `now`, in seconds since the epoch."""
        seconds = self.seconds(now)
        if seconds < COUNTED_S:
            return f"{self.cause}, trying again in {seconds:.0f} s"
        return self.cause if self.asked else f"{self.cause}, trying again at {clock(self.until, now)}"


def asked_for(seconds: float, now: float) -> str:
    """Return a hub's request in words: "to wait 8 s", "to wait until 14:20"."""
    if seconds >= LONGEST_S:
        return "to wait for a day or longer"
    return f"to wait {seconds:.0f} s" if seconds < COUNTED_S else f"to wait until {clock(now + seconds, now)}"


def clock(moment: float, now: float) -> str:
    """Return the time of day of a moment up to a day after `now`, both in seconds since the epoch."""
    today, then = time.localtime(now), time.localtime(moment)
    tomorrow = "" if then.tm_yday == today.tm_yday else " tomorrow"
    return time.strftime(_CLOCK, then) + tomorrow


def waiting(error: HubError, seconds: float) -> Waiting:
    return Waiting(error.cause, time.time() + seconds, asked=error.wait_s is not None)


@dataclass(frozen=True, slots=True)
class Retries:
    """When to try again: exponential backoff with jitter, or the wait that the hub asks for.

    Attributes:
        limit: Failures in a row, without a byte in between, after which to give up.
        first_s: The longest wait after the first failure; it doubles with each further one.
        longest_s: Upper limit of the wait, unless the hub asks for more.
        hold_s: A longer wait than this is not begun; the failure is raised.
        patience_s: After so long without a byte there is no further try.
        tell: Called with a wait when it begins and with None when it is over, from any thread.
    """

    limit: int = 7
    first_s: float = 1.0
    longest_s: float = 60.0
    hold_s: float = 3600.0
    patience_s: float = math.inf
    tell: Callable[[Waiting | None], object] = lambda _waiting: None

    def wait_s(self, failures: int, error: HubError) -> float:
        """Return the seconds to wait after this many failures in a row.

        Random, so that connections that were cut off together do not come back together.
        """
        longest = min(self.first_s * 2.0 ** min(failures - 1, 60), self.longest_s)
        spread = longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return max(spread, error.wait_s or 0.0)

    def patiently(self, step: Callable[[], _T], interrupt: CancelToken, done: Callable[[], int] = int) -> _T:
        """Return what `step` returns, called again while its failures are temporary.

        `done` returns how many bytes have arrived; after new ones the count of failures starts over.

        Raises:
            HubError: The failure is permanent, or the retries are used up.
        """
        failures, before, since_s = 0, done(), time.monotonic()
        while True:
            try:
                return step()
            except HubError as error:
                if done() != before:
                    failures, before, since_s = 0, done(), time.monotonic()
                failures += 1
                wait_s = self.wait_s(failures, error)
                ends = failures >= self.limit or time.monotonic() - since_s >= self.patience_s
                if not error.passes or ends or wait_s > self.hold_s:
                    raise
                self._wait(wait_s, error, interrupt)

    def _wait(self, seconds: float, error: HubError, interrupt: CancelToken) -> None:
        self.tell(waiting(error, seconds))
        try:
            interrupt.wait(seconds)
        finally:
            self.tell(None)


QUESTION: Final = Retries(limit=3, first_s=0.5, longest_s=1.0, hold_s=3.0, patience_s=8.0)
"""For requests whose answer the user waits for."""
