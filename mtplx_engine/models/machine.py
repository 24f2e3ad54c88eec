"""What this machine has for a model: its memory, and on a Mac how much of it Metal hands out. Imports no mlx."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import limits

if TYPE_CHECKING:
    from collections.abc import Callable

_WIRED_LIMIT = "iogpu.wired_limit_mb"
_SMALL = 36 << 30  # Macs below this much memory give Metal two thirds of it, the others three quarters


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine, as far as it decides which models fit.

    Attributes:
        memory: Bytes that it has.
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
        """Bytes of an activation."""
        return 2 if self.packed else 4


def this() -> Machine:
    """Return this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        mac(memory)
        if sys.platform == "darwin"
        else Machine(memory, memory, packed=False, chunk=limits.CPU_CHUNK)
    )


def chip(processors: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor, "" when the system does not tell.

    Args:
        processors: Where Linux lists them.
    """
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string")
    try:
        listed = processors.read_text()
    except OSError:
        return ""
    names = (line.partition(":")[2] for line in listed.splitlines() if line.startswith("model name"))
    return next(names, "").strip()


def sysctl(name: str) -> int | None:
    """Return a number that macOS keeps under this name, None without one."""
    found = _sysctl(name)
    return int(found) if found.isdecimal() else None


def _sysctl(name: str) -> str:
    """Return what macOS keeps under this name, "" where it keeps nothing."""
    try:
        found = subprocess.run(
            ["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


def mac(memory: int, ask: Callable[[str], int | None] = sysctl) -> Machine:
    """Return a Mac, with what Metal recommends as working set: what the person set it to, else macOS's own share.

    Args:
        memory: Bytes that it has.
        ask: Returns a number that macOS keeps.
    """
    share = memory * 2 // 3 if memory < _SMALL else memory * 3 // 4
    return Machine(memory, (ask(_WIRED_LIMIT) or 0) << 20 or share, packed=True, chunk=limits.METAL_CHUNK)
