"""Waits before something is asked for again: how long, for what, and how that is said."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

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
