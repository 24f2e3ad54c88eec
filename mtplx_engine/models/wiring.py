"""How a drafting head is connected to its target; imports no mlx."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Hidden(StrEnum):
    """Which hidden of the target the head reads."""

    AFTER_NORM = "after_norm"
    BEFORE_NORM = "before_norm"


class Concat(StrEnum):
    """Order of the two halves of the projection's input."""

    EMBEDDING_FIRST = "embedding_first"
    HIDDEN_FIRST = "hidden_first"


class Norms(StrEnum):
    """How the gains of the head's norms are stored."""

    PLAIN = "plain"
    PLUS_ONE = "plus_one"
    """As gain minus one: 1 must be added to all of them, once."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """One way of connecting a head."""

    hidden: Hidden = Hidden.AFTER_NORM
    concat: Concat = Concat.EMBEDDING_FIRST
    norms: Norms = Norms.PLAIN
