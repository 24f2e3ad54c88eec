"""The speed of each of the last sixty seconds."""

from __future__ import annotations

SECONDS = 60


class SpeedMinute:
    """Knows a speed for each second in which something was written.

    Seconds of an answer in which no token came have the speed of the token that ended the wait: a slow model does not
    stop. Times are seconds of any clock that only grows.
    """

    def __init__(self) -> None:
        self._speeds: dict[int, float] = {}
        self._until = 0  # the second up to which the answer's speeds are known

    def begin(self, now: float) -> None:
        """Leave a gap up to now: another answer is beginning to be written."""
        self._until = int(now)

    def is_due(self, now: float) -> bool:
        """Whether a second has begun that has no speed yet."""
        return int(now) > self._until

    def write(self, now: float, speed: float | None) -> None:
        """Give a speed to now and to the seconds since the last time; None while it cannot be told yet."""
        if speed is not None:
            self._speeds.update(dict.fromkeys(range(self._until, int(now) + 1), speed))
            for second in [known for known in self._speeds if known <= int(now) - SECONDS]:
                del self._speeds[second]
        self._until = int(now)

    def speeds(self, now: float) -> tuple[float | None, ...]:
        """Return the speed of each of the last seconds, the newest last; None where nothing was written."""
        newest = int(now)
        return tuple(self._speeds.get(second) for second in range(newest - SECONDS + 1, newest + 1))
