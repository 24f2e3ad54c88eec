"""When to ask again after a failure that may pass."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.hub.problem import HubError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from mtplx_engine.hub.interrupt import Interrupt

    _T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Retries:
    """How patient a download is.

    Attributes:
        limit: Failures in a row, without a byte in between, after which it gives up.
        first_s: The longest wait after the first one; it doubles with each further one.
        longest_s: The longest wait at all, unless the hub asks for more.
    """

    limit: int = 7
    first_s: float = 1.0
    longest_s: float = 60.0

    def wait_s(self, failures: int, error: HubError) -> float:
        """Return how long to wait after this many failures in a row.

        Spread at random, so that what was cut off together does not come back together.
        """
        longest = min(self.first_s * 2.0 ** (failures - 1), self.longest_s)
        spread = longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return max(spread, error.wait_s or 0.0)

    def patiently(self, step: Callable[[], _T], interrupt: Interrupt, done: Callable[[], int] = int) -> _T:
        """Do a step, again as long as its failures may pass.

        Args:
            step: What to do.
            interrupt: Ends the waiting.
            done: Returns how many bytes there are; a failure after new ones is the first in a row.

        Raises:
            HubError: It failed for good.
            CancelledError: The interrupt was set.
        """
        failures = 0
        while True:
            before = done()
            try:
                return step()
            except HubError as error:
                failures = failures + 1 if done() == before else 1
                if not error.passes or failures >= self.limit:
                    raise
                interrupt.wait(self.wait_s(failures, error))
