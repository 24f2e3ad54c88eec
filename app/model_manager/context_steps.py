"""The contexts that a slider stops at."""

from __future__ import annotations

from bisect import bisect_left

_FIRST = 2048


def steps(window: int) -> tuple[int, ...]:
    """Return doublings up to a model's context window, which is the last one."""
    found = []
    context = _FIRST
    while context < window:
        found.append(context)
        context *= 2
    return (*found, window)


def nearest(found: tuple[int, ...], context: int) -> int:
    """Return the place of the first step that holds a context, the last one when none does."""
    return min(bisect_left(found, context), len(found) - 1)
