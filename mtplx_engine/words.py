"""Times and sizes as people say them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Return a time as people say it: "45 s", "12 min", "3 h 20 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def size(count: int) -> str:
    """Return bytes as people say them, in the powers of ten that disks are sold by: "430 MB", "2.9 GB", "12 kB"."""
    if count >= 999_500_000:
        return f"{count / 1e9:,.1f} GB"
    return f"{count / 1e6:,.0f} MB" if count >= 999_500 else f"{count / 1e3:,.0f} kB"
