"""How much memory the window's process holds, and what answers leave behind."""

from __future__ import annotations

import ctypes
import gc
import resource
from dataclasses import dataclass
from pathlib import Path

import apsw

from app.chat.conversation import MessageStatus
from scripts.bench_ui.figure import Figure
from scripts.bench_ui.program import Program
from scripts.bench_ui.texts import answer
from tests.support.fake_script import Script

_STATM = Path("/proc/self/statm")
_PER_CHAT = 10
_MALL_INFO = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
_IDLE_LIMIT_MB, _GROWTH_LIMIT_MB = 200.0, 1.0


class _MallInfo(ctypes.Structure):
    """The allocator's count, as glibc has it; in bytes, `uordblks` and `hblkhd` are in use."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _MALL_INFO.split())


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of this process in MB.

    Attributes:
        resident: Pages in memory.
        used: What the program asked the C allocator for and has not given back.
        cached: What of it SQLite holds.
    """

    resident: float
    used: float
    cached: float

    def since(self, before: Held) -> Held:
        """Return what was added."""
        return Held(self.resident - before.resident, self.used - before.used, self.cached - before.cached)


def measure(folder: Path, answers: int) -> list[Figure]:
    """Answer in chats of ten, twice as often as told, and leave them all behind for an empty chat each time.

    Nothing that was answered is shown any more then, so that what is held is what the answers left behind. The first
    half loads what is loaded once, fills caches up to their limits, and breaks free memory into most of the pieces
    that it ever breaks into. What grows in the second half is what somebody who never ends the program has to pay.
    """
    with Program(folder, Script(answer=answer(1), cycle_s=0.0005)) as program:
        idle = _held()
        _ask(program, answers)
        first = _held()
        _ask(program, answers)
        second = _held()
    grown = second.since(first)
    return [
        Figure("memory: window idle", idle.resident, "MB", _IDLE_LIMIT_MB),
        Figure(f"memory: {answers} answers more than the empty window", first.since(idle).resident, "MB"),
        Figure(f"memory: growth over {answers} answers after these", grown.resident, "MB", _GROWTH_LIMIT_MB),
        Figure("memory: of it in use, by the allocator's count", grown.used, "MB"),
        Figure("memory: of that the caches of the database", grown.cached, "MB"),
    ]


def _ask(program: Program, count: int) -> None:
    done = 0

    def note(message: object) -> None:
        nonlocal done
        done += getattr(message, "status", None) is MessageStatus.DONE

    program.app.session.changed.connect(note)
    for number in range(count):
        if number % _PER_CHAT == 0:
            program.app.session.new_chat()
        program.ask(f"Question {number}")
        program.until(lambda number=number: done > number)  # type: ignore[misc]
    program.app.session.changed.disconnect(note)
    program.app.session.new_chat()
    program.settle()


def _held() -> Held:
    """Return the memory that is held, after everything that is free was given back."""
    gc.collect()
    cached = apsw.memory_used() / 1e6
    if not _STATM.exists():
        # The most there ever was; the allocators of other systems keep no such count.
        return Held(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 0.0, cached)
    libc = ctypes.CDLL(None)
    libc.malloc_trim(0)
    libc.mallinfo2.restype = _MallInfo
    found = libc.mallinfo2()
    resident = int(_STATM.read_text().split()[1]) * resource.getpagesize()
    return Held(resident / 1e6, (found.uordblks + found.hblkhd) / 1e6, cached)
