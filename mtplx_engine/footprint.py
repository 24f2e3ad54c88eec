"""How much memory the system counts for this process; what mlx counts is only part of it. Imports no mlx."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

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


def own() -> int | None:
    """Return the bytes that the system counts for this process, None when it does not tell.

    On a Mac that is the footprint which Activity Monitor shows and by which the system ends processes; elsewhere
    what is resident, since the proportional set size of a model's pages takes milliseconds to sum up.
    """
    return _on_mac() if sys.platform == "darwin" else resident(_STATM)


def resident(statm: Path) -> int | None:
    """Return the resident bytes by Linux's statm, whose second number counts pages."""
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
