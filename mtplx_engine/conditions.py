"""Under which conditions something was measured, as far as the system tells. Imports no mlx."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Power(StrEnum):
    """Where the power comes from."""

    MAINS = "mains"
    BATTERY = "battery"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What else makes figures better or worse.

    Attributes:
        load: Programs that want a core, over the last minute; None when the system does not tell.
        power: Where the power comes from.
        low_power: Whether the system saves power; None when it does not tell.
        thermal: How warm it is in the system's own word, as in "nominal"; "" when it does not tell.
    """

    load: float | None = None
    power: Power = Power.UNKNOWN
    low_power: bool | None = None
    thermal: str = ""
