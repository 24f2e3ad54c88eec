"""Which addresses a message may lead to."""

from __future__ import annotations

_SCHEMES = frozenset({"http", "https", "mailto"})


def is_allowed(href: str) -> bool:
    """Return whether `href` may be offered for a click at all."""
    scheme, colon, rest = href.partition(":")
    return bool(colon and rest) and scheme.lower() in _SCHEMES
