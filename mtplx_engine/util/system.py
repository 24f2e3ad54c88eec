"""Facts about the machine, and its state: chip, memory, power, heat, load, memory of this process."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


METAL_CHUNK, CPU_CHUNK = 512, 64
"""Prompt tokens per forward: small enough that Stop acts within a second."""

_PMSET_TIMEOUT_S = 1.0
_OUR_CORES = 2  # the model's thread and the one that feeds it; other programs may have the rest
_BUSY_LOAD = 1.0  # load before anything of ours runs, where few cores are left or their number is not known
_CALM = frozenset({"", "nominal"})
_SUPPLIES = Path("/sys/class/power_supply")


class Power(StrEnum):
    """The power source."""

    MAINS = "mains"
    BATTERY = "battery"
    UNKNOWN = "unknown"


class Pressure(StrEnum):
    """A condition that slows a machine down."""

    LOW_POWER = "low-power mode"
    BATTERY = "on battery"
    HEAT = "heat"
    LOAD = "other programs at work"


@dataclass(frozen=True, slots=True)
class SystemState:
    """The conditions of the machine that influence a measured speed; None or "" where the system does not report one.

    Attributes:
        load: Load average over the last minute.
        thermal: The thermal state in the system's own words, as in "nominal".
    """

    load: float | None = None
    power: Power = Power.UNKNOWN
    low_power: bool | None = None
    thermal: str = ""
    cores: int | None = None

    @property
    def hot(self) -> bool:
        """Whether the system reports more heat than usual."""
        return self.thermal not in _CALM

    @property
    def busy(self) -> bool:
        """Whether other programs want more cores than are left beside ours."""
        return (self.load or 0.0) > max(_BUSY_LOAD, (self.cores or 0) - _OUR_CORES)


def system_state() -> SystemState:
    """Return the present state; takes three seconds at most, one for each call of `pmset`."""
    try:
        load = os.getloadavg()[0]
    except OSError:
        load = None
    found = mac_state(load, pmset) if sys.platform == "darwin" else SystemState(load, power_of_supplies(_SUPPLIES))
    return replace(found, cores=os.cpu_count())


def pressure(before: SystemState, after: SystemState) -> tuple[Pressure, ...]:
    """Return what slowed the machine down during a run; of the load only that before counts, later it is the run's."""
    both = (before, after)
    found = {
        Pressure.LOW_POWER: any(each.low_power for each in both),
        Pressure.BATTERY: any(each.power is Power.BATTERY for each in both),
        Pressure.HEAT: any(each.hot for each in both),
        Pressure.LOAD: before.busy,
    }
    return tuple(each for each, holds in found.items() if holds)


def pmset(topic: str) -> str:
    """Return the output of `pmset -g TOPIC`: "batt", "therm", or "" for the settings; "" when the call fails."""
    command = ["/usr/bin/pmset", "-g", *([topic] if topic else [])]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PMSET_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")


def mac_state(load: float | None, ask: Callable[[str], str]) -> SystemState:
    """Return the state of a Mac with this load; `ask` works like `pmset`."""
    return SystemState(load, power_source(ask("batt")), low_power(ask("")), thermal(ask("therm")))


def power_source(batt: str) -> Power:
    """Return the power source from `pmset -g batt`, which starts with "Now drawing from 'AC Power'"."""
    found = re.search(r"drawing from '(AC|Battery|UPS) Power'", batt)
    if not found:
        return Power.UNKNOWN
    return Power.MAINS if found[1] == "AC" else Power.BATTERY


def low_power(settings: str) -> bool | None:
    """Return whether Low Power Mode is on, from `pmset -g`.

    Its line is "lowpowermode 0", or "powermode 2" on Macs that have a High Power Mode too; 1 is low in both.
    """
    found = re.search(r"^\s*(?:low)?powermode\s+(\d+)\s*$", settings, re.MULTILINE)
    return None if found is None else int(found[1]) == 1


def thermal(therm: str) -> str:
    """Return the thermal state from `pmset -g therm`: "nominal", or the system's countermeasure.

    A Mac that has been warm lists limits in percent ("CPU_Speed_Limit = 80") or a warning level; one that has not
    says that no warning has been recorded.
    """
    limits = [int(number) for number in re.findall(r"CPU_(?:Speed|Scheduler)_Limit\s*=\s*(\d+)", therm)]
    levels = [int(number) for number in re.findall(r"(?i)thermal(?: |_)(?:warning(?: |_))?level\s*=\s*(\d+)", therm)]
    if limits and min(limits) < 100:
        return f"slowed to {min(limits)} %"
    if levels and max(levels) > 0:
        return f"warning level {max(levels)}"
    return "nominal" if limits or levels or "No thermal warning level" in therm else ""


def power_of_supplies(folder: Path) -> Power:
    """Return the power source from Linux's /sys/class/power_supply; batteries of a mouse or a headset do not count."""
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


_STATM = Path("/proc/self/statm")


class _Usage(ctypes.Structure):
    """macOS's `rusage_info_v0`, from sys/resource.h."""

    _fields_ = (
        ("ri_uuid", ctypes.c_uint8 * 16),
        ("ri_user_time", ctypes.c_uint64),
        ("ri_system_time", ctypes.c_uint64),
        ("ri_pkg_idle_wkups", ctypes.c_uint64),
        ("ri_interrupt_wkups", ctypes.c_uint64),
        ("ri_pageins", ctypes.c_uint64),
        ("ri_wired_size", ctypes.c_uint64),
        ("ri_resident_size", ctypes.c_uint64),
        ("ri_phys_footprint", ctypes.c_uint64),
        ("ri_proc_start_abstime", ctypes.c_uint64),
        ("ri_proc_exit_abstime", ctypes.c_uint64),
    )


def own_footprint() -> int | None:
    """Return the bytes of memory of this process, None when the system does not report them.

    On a Mac that is the footprint which Activity Monitor shows and by which the system kills processes; elsewhere
    the resident set size, since summing up the proportional set size of a model's pages takes milliseconds.
    """
    return _on_mac() if sys.platform == "darwin" else resident_bytes(_STATM)


def resident_bytes(statm: Path) -> int | None:
    """Return the resident bytes from Linux's statm, whose second number counts pages."""
    try:
        return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _on_mac() -> int | None:
    usage = _Usage()
    try:
        ask = ctypes.CDLL("/usr/lib/libproc.dylib").proc_pid_rusage
    except (OSError, AttributeError):
        return None
    return None if ask(os.getpid(), 0, ctypes.byref(usage)) else usage.ri_phys_footprint


_WIRED_LIMIT = "iogpu.wired_limit_mb"
_SMALL = 36 << 30  # Macs below this much memory give Metal two thirds of it, the others three quarters


@dataclass(frozen=True, slots=True)
class Machine:
    """The properties of a machine that decide which models fit.

    Attributes:
        memory: Bytes of memory.
        limit: Bytes that models can take: Metal's working set on a Mac, the memory elsewhere.
        packed: Whether quantized weights stay packed in memory; elsewhere all are unpacked to float32.
        chunk: Prompt tokens per forward.
    """

    memory: int
    limit: int
    packed: bool
    chunk: int

    @property
    def item(self) -> int:
        """Bytes of one activation: half precision where weights stay packed, else float32."""
        return 2 if self.packed else 4


def this_machine() -> Machine:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return mac_machine(memory) if sys.platform == "darwin" else Machine(memory, memory, packed=False, chunk=CPU_CHUNK)


def chip_name(processors: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor, "" when the system does not report it."""
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string")
    try:
        listed = processors.read_text()
    except OSError:
        return ""
    names = (line.partition(":")[2] for line in listed.splitlines() if line.startswith("model name"))
    return next(names, "").strip()


def os_version() -> str:
    """Return name and version of the operating system, as in "macOS 15.1"."""
    mac = platform.mac_ver()[0]
    return f"macOS {mac}" if mac else f"{platform.system()} {platform.release()}"


def sysctl(name: str) -> int | None:
    """Return the number behind a name of macOS's sysctl, None without one."""
    found = _sysctl(name)
    return int(found) if found.isdecimal() else None


def _sysctl(name: str) -> str:
    try:
        found = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


def mac_machine(memory: int, ask: Callable[[str], int | None] = sysctl) -> Machine:
    """Return a Mac with Metal's recommended working set as limit: the user's own setting, else macOS's default share.

    `memory` is in bytes; `ask` works like `sysctl`.
    """
    share = memory * 2 // 3 if memory < _SMALL else memory * 3 // 4
    return Machine(memory, (ask(_WIRED_LIMIT) or 0) << 20 or share, packed=True, chunk=METAL_CHUNK)
