"""What is said of drafting where measurements turned it off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QDateTime, QLocale

from app.dashboard import kind_words
from app.translate import tr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.measurement import Measurement


def turned_off(bans: Sequence[Measurement]) -> str:
    """Return where and why drafting is off, as in "off in chats up to 1k tokens: slower here (measured 29 Nov)".

    Args:
        bans: The measurements that turn it off, the newest first; "" comes of none.
    """
    if not bans:
        return ""
    where = ", ".join(kind_words.chats(each.bucket) for each in reversed(bans))
    day = QDateTime.fromMSecsSinceEpoch(bans[0].taken_ms).date()
    words = tr("off {where}: slower here (measured {day})")
    return words.format(where=where, day=QLocale().toString(day, "d MMM"))
