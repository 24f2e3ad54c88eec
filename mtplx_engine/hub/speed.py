"""How fast a download goes, and how long it will take."""

from __future__ import annotations

from collections import deque

_WINDOW_S = 8.0
_SOON_S = 1.0  # a shorter span says nothing yet


class Speed:
    """Bytes a second over the last seconds, of those that come over the network."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now_s: float, fetched: int) -> None:
        """Note how many bytes have come, never fewer than before, at a time of a clock that never goes back."""
        self._seen.append((now_s, fetched))
        while len(self._seen) > 2 and now_s - self._seen[1][0] >= _WINDOW_S:
            self._seen.popleft()

    @property
    def bytes_s(self) -> float | None:
        """Bytes a second, None while too little was seen."""
        if not self._seen:
            return None
        (first_s, first), (last_s, last) = self._seen[0], self._seen[-1]
        return (last - first) / (last_s - first_s) if last_s - first_s >= _SOON_S else None

    def seconds_left(self, count: int) -> float | None:
        """Return how long so many bytes take at this speed, None when it stands still or is not known."""
        speed = self.bytes_s
        return count / speed if speed else None
