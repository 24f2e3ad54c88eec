"""Under which conditions something was measured, as far as the system tells. Imports no mlx."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE_S = 1.0  # for one question to the system; there are three
_OUR_CORES = 2  # the model's thread and what feeds it; others may have the rest
_BUSY_LOAD = 1.0  # programs that want a core before anything of ours runs, where few cores are left or known
_CALM = frozenset({"", "nominal"})
_SUPPLIES = Path("/sys/class/power_supply")


class Power(StrEnum):
    """Where the power comes from."""

    MAINS = "mains"
    BATTERY = "battery"
    UNKNOWN = "unknown"


class Pressure(StrEnum):
    """What holds a machine back."""

    LOW_POWER = "low-power mode"
    BATTERY = "on battery"
    HEAT = "heat"
    LOAD = "other programs at work"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What else makes figures better or worse.

    Attributes:
        load: Programs that want a core, over the last minute; None when the system does not tell.
        power: Where the power comes from.
        low_power: Whether the system saves power; None when it does not tell.
        thermal: How warm it is in the system's own word, as in "nominal"; "" when it does not tell.
        cores: How many the machine has; None when the system does not tell.
    """

    load: float | None = None
    power: Power = Power.UNKNOWN
    low_power: bool | None = None
    thermal: str = ""
    cores: int | None = None

    @property
    def hot(self) -> bool:
        """Whether the system says that it is warmer than usual."""
        return self.thermal not in _CALM

    @property
    def busy(self) -> bool:
        """Whether other programs want more cores than are left beside ours."""
        return (self.load or 0.0) > max(_BUSY_LOAD, (self.cores or 0) - _OUR_CORES)


def now() -> Conditions:
    """Return the conditions of this moment; takes three seconds at most, where the system does not answer."""
    try:
        load = os.getloadavg()[0]
    except OSError:
        load = None
    found = mac(load, pmset) if sys.platform == "darwin" else Conditions(load, power_of_supplies(_SUPPLIES))
    return replace(found, cores=os.cpu_count())


def pressure(before: Conditions, after: Conditions) -> tuple[Pressure, ...]:
    """Return what held the machine back while something ran; the load after it is that of what ran."""
    both = (before, after)
    found = {
        Pressure.LOW_POWER: any(each.low_power for each in both),
        Pressure.BATTERY: any(each.power is Power.BATTERY for each in both),
        Pressure.HEAT: any(each.hot for each in both),
        Pressure.LOAD: before.busy,
    }
    return tuple(each for each, holds in found.items() if holds)


def pmset(topic: str) -> str:
    """Return what macOS says about its power: "batt", "therm", or "" for its settings; "" when it says nothing."""
    command = ["/usr/bin/pmset", "-g", *([topic] if topic else [])]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")


def mac(load: float | None, ask: Callable[[str], str]) -> Conditions:
    """Return a Mac's conditions.

    Args:
        load: Its load.
        ask: As `pmset`.
    """
    return Conditions(load, power_source(ask("batt")), low_power(ask("")), thermal(ask("therm")))


def power_source(batt: str) -> Power:
    """Return where the power comes from by `pmset -g batt`, which begins "Now drawing from 'AC Power'"."""
    found = re.search(r"drawing from '(AC|Battery|UPS) Power'", batt)
    if not found:
        return Power.UNKNOWN
    return Power.MAINS if found[1] == "AC" else Power.BATTERY


def low_power(settings: str) -> bool | None:
    """Return whether Low Power Mode is on by `pmset -g`.

    Its line is "lowpowermode 0", or "powermode 2" on Macs that have a High Power Mode too; 1 is low in both.
    """
    found = re.search(r"^\s*(?:low)?powermode\s+(\d+)\s*$", settings, re.MULTILINE)
    return None if found is None else int(found[1]) == 1


def thermal(therm: str) -> str:
    """Return how warm it is by `pmset -g therm`: "nominal", or what the system does about it.

    A Mac that has been warm lists limits in percent ("CPU_Speed_Limit = 80") or a level of warning; one that has not
    says that no warning has been recorded.
    """
    limits = [int(number) for number in re.findall(r"CPU_(?:Speed|Scheduler)_Limit\s*=\s*(\d+)", therm)]
    levels = [
        int(number) for number in re.findall(r"(?i)thermal(?: |_)(?:warning(?: |_))?level\s*=\s*(\d+)", therm)
    ]
    if limits and min(limits) < 100:
        return f"slowed to {min(limits)} %"
    if levels and max(levels) > 0:
        return f"warning level {max(levels)}"
    return "nominal" if limits or levels or "No thermal warning level" in therm else ""


def power_of_supplies(folder: Path) -> Power:
    """Return where the power comes from by Linux's list of supplies; those of a mouse or a headset do not count.

    Args:
        folder: The list, a folder for each supply.
    """
    try:
        supplies = [supply for supply in folder.iterdir() if _entry(supply, "scope") != "Device"]
    except OSError:
        return Power.UNKNOWN
    if any(_entry(supply, "online") == "1" for supply in supplies if _entry(supply, "type") != "Battery"):
        return Power.MAINS
    discharging = any(_entry(supply, "status") == "Discharging" for supply in supplies)
    return Power.BATTERY if discharging else Power.UNKNOWN


def _entry(supply: Path, name: str) -> str:
    try:
        return (supply / name).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
