"""Names of files after titles of chats."""

from __future__ import annotations

_LONGEST = 60
_NOT_ALLOWED = frozenset('/\\:*?"<>|')


def file_name(title: str) -> str:
    """Return a name, without suffix, that every system takes and that hides nothing."""
    kept = "".join(" " if char in _NOT_ALLOWED or not char.isprintable() else char for char in title)
    name = " ".join(kept.split())[:_LONGEST].strip(" .")
    return name or "Chat"
