"""What can be done to a message, and where it stands in its tree."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.chat.branches import Place

ALONE = Place(1, 1)


class RowAction(StrEnum):
    """What a person can do to a message."""

    COPY = "copy"
    EDIT = "edit"
    REGENERATE = "regenerate"
    FOCUSED = "focused"
    VARIED = "varied"
    OTHER_MODEL = "other_model"
    RESUME = "resume"
    DETAILS = "details"
    DELETE = "delete"
    READ_ALL = "read_all"
    PREVIOUS = "previous"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class RowState:
    """What a message's row shows beside the message.

    Attributes:
        place: Which one of how many siblings it is.
        offers: What can be done to it now.
        fix: The name of the one thing to do about its error, "" when there is nothing to do.
        boundary: Whether the model does not read what is above it.
    """

    place: Place = ALONE
    offers: frozenset[RowAction] = frozenset()
    fix: str = ""
    boundary: bool = False
