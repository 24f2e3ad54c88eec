"""When to ask again after a failure that may pass."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mtplx_engine.hub.problem import HubError
from mtplx_engine.hub.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from mtplx_engine.hub.interrupt import Interrupt

    _T = TypeVar("_T")


def _say_nothing(_waiting: Waiting | None) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Retries:
    """How patient something is.

    Attributes:
        limit: Failures in a row, without a byte in between, after which it gives up.
        first_s: The longest wait after the first one; it doubles with each further one.
        longest_s: The longest wait at all, unless the hub asks for more.
        hold_s: A wait that would be longer, because the hub asks for it or otherwise, is not begun.
        patience_s: After so long without a byte no new try is begun.
        tell: Told of a wait when it begins, and None when it is over. Called from several threads.
    """

    limit: int = 7
    first_s: float = 1.0
    longest_s: float = 60.0
    hold_s: float = 3600.0
    patience_s: float = math.inf
    tell: Callable[[Waiting | None], None] = _say_nothing

    def wait_s(self, failures: int, error: HubError) -> float:
        """Return how long to wait after this many failures in a row.

        Spread at random, so that what was cut off together does not come back together.
        """
        longest = min(self.first_s * 2.0 ** min(failures - 1, 60), self.longest_s)
        spread = longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return max(spread, error.wait_s or 0.0)

    def patiently(self, step: Callable[[], _T], interrupt: Interrupt, done: Callable[[], int] = int) -> _T:
        """Do a step, again as long as its failures may pass.

        Args:
            step: What to do.
            interrupt: Ends the waiting.
            done: Returns how many bytes there are; a failure after new ones is the first in a row.

        Raises:
            HubError: It failed for good, or for longer than is waited for.
            CancelledError: The interrupt was set.
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

    def _wait(self, seconds: float, error: HubError, interrupt: Interrupt) -> None:
        self.tell(waiting(error, seconds))
        try:
            interrupt.wait(seconds)
        finally:
            self.tell(None)


def waiting(error: HubError, seconds: float) -> Waiting:
    """Return the wait after a failure."""
    return Waiting(error.cause, time.time() + seconds, asked=error.wait_s is not None)


QUESTION: Final = Retries(limit=3, first_s=0.5, longest_s=1.0, hold_s=3.0, patience_s=8.0)
"""For what a person waits to read: an answer soon, or the reason why there is none."""
