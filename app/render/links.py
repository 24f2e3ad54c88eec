"""Which addresses a message may lead to, and how they are shown before one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtCore import QUrl

_SCHEMES = frozenset({"http", "https", "mailto"})


def is_allowed(href: str) -> bool:
    """Return whether `href` may be offered for a click at all."""
    scheme, colon, rest = href.partition(":")
    return bool(colon and rest) and scheme.lower() in _SCHEMES


def shown(url: QUrl) -> str:
    """Return the whole address as it will be asked for: punycode and percent signs included."""
    return bytes(url.toEncoded().data()).decode("ascii")
