"""Text of others made harmless for a terminal."""

from __future__ import annotations

import re

# Escape sequences could rename the window, move the cursor or fake a prompt.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def harmless(text: str) -> str:
    """Return a text without control characters; line ends and tabs stay."""
    return _CONTROLS.sub("", text)
