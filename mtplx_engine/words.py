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
    """Return bytes in the powers of ten that disks are sold by: "2.9 GB", "214 GB", "430 MB", "12 kB", "800 bytes"."""
    if count >= 99_500_000_000:
        return f"{count / 1e9:,.0f} GB"
    if count >= 999_500_000:
        return f"{count / 1e9:.1f} GB"
    if count >= 999_500:
        return f"{count / 1e6:.0f} MB"
    return f"{count / 1e3:.0f} kB" if count >= 1000 else f"{count} bytes"
