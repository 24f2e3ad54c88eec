"""Bounds of the values of a stored or imported chat. No Qt."""

from __future__ import annotations

import unicodedata
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from app.chat.conversation import UNTITLED, Role, clean_text
from app.chat.settings import MOST_TOKENS
from app.i18n import tr
from mtplx_engine.config import MAX_DEPTH
from mtplx_engine.util.formatting import BIDI_CONTROLS

if TYPE_CHECKING:
    from app.chat.conversation import Attachment, ChatSummary, Message
    from mtplx_engine.stats import DecodeStats


# A day before the last one that `datetime` knows, so that every time zone can show it.
LATEST_MS: Final = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp()) * 1000
_LONGEST_TITLE: Final = 500  # characters
_LONGEST_NAME: Final = 255  # as of a file name
_LARGEST: Final = 2**63 - 1  # integer of the database
LONGEST_S: Final = 366 * 24 * 3600.0
SHORTEST_S: Final = 1e-6  # below the resolution of the clock

_DEPTHS: Final = ("auto", *(str(depth) for depth in range(MAX_DEPTH + 1)))


class OutOfBoundsError(ValueError):
    """A value is out of bounds; the message is for the user and completes a sentence about the chat."""


def _clean_line(text: str, longest: int) -> str:
    """Return `text` as one line without invisible characters that change how the rest is read."""
    # Joiners and marks stay: they are parts of emoji and of many scripts.
    visible = (
        char
        for char in clean_text(text)
        if char.isspace() or (unicodedata.category(char) != "Cc" and char not in BIDI_CONTROLS)
    )
    return " ".join("".join(visible).split())[:longest].rstrip()


def clean_title(title: str) -> str:
    """Return the title of a chat as it is listed; an invisible one becomes that of a new chat."""
    line = _clean_line(title, _LONGEST_TITLE)
    return line if any(char.isprintable() and not char.isspace() for char in line) else UNTITLED


def clean_name(name: str) -> str:
    return _clean_line(name, _LONGEST_NAME)


def shown_ms(moment_ms: int) -> int:
    """Return the nearest time that the calendar can show."""
    return min(max(moment_ms, 0), LATEST_MS)


def check_chat(chat: ChatSummary) -> None:
    """Raise `OutOfBoundsError` for a date that no calendar shows."""
    if not _within(LATEST_MS, chat.created_ms, chat.updated_ms):
        raise OutOfBoundsError(tr("its date is not one that can be shown"))


def check_message(message: Message) -> None:
    """Raise `OutOfBoundsError` for a message that is neither of user nor assistant, or has an impossible date."""
    if message.role is Role.SYSTEM:
        raise OutOfBoundsError(tr("one of its messages is neither a question nor an answer"))
    if not _within(LATEST_MS, message.created_ms):
        raise OutOfBoundsError(tr("the date of a message is not one that can be shown"))


def check_attachment(attachment: Attachment) -> None:
    """Raise `OutOfBoundsError` for an impossible file size."""
    if not _within(_LARGEST, attachment.size):
        raise OutOfBoundsError(tr("the size of an attached file is not one that a file can have"))


def check_thought(thought_ms: int) -> None:
    """Raise `OutOfBoundsError` for an impossible duration of thinking."""
    if not _within(int(LONGEST_S * 1000), thought_ms):
        raise OutOfBoundsError(tr("the time that an answer was thought about is not one that can be"))


def check_stats(stats: DecodeStats) -> None:
    """Raise `OutOfBoundsError` for counts or times that cannot have been measured."""
    counts = (getattr(stats, field.name) for field in fields(stats) if field.type == "int" and field.name != "seed")
    times = (each for each in (stats.ttft_s, stats.prefill_s, stats.decode_s) if each)
    if not (
        _within(MOST_TOKENS, *counts, *stats.accepted_at)
        and _within(_LARGEST, stats.seed)
        and len(stats.accepted_at) <= MAX_DEPTH
        and all(SHORTEST_S <= each <= LONGEST_S for each in times)
        and 0 <= (stats.waited_s or 0) <= LONGEST_S
        and stats.depth in _DEPTHS
    ):
        raise OutOfBoundsError(tr("the figures of an answer are not ones that can have been measured"))


def _within(largest: int, *numbers: int) -> bool:
    return all(0 <= number <= largest for number in numbers)
