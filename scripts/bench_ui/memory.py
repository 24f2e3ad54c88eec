"""How much memory the window's process holds, and what answers leave behind."""

from __future__ import annotations

import ctypes
import gc
import resource
from dataclasses import dataclass
from pathlib import Path

import apsw

from app.chat.conversation import MessageStatus
from scripts.bench_ui.program import Program, answer
from scripts.bench_ui.timing import Result
from tests.support.fake_script import Script

_STATM = Path("/proc/self/statm")
_PER_CHAT = 10
_MALL_INFO = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
_IDLE_LIMIT_MB, _GROWTH_LIMIT_MB = 200.0, 1.0


class _MallInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc, in bytes; `uordblks` and `hblkhd` are in use."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _MALL_INFO.split())


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory of this process in MB.

    Attributes:
        resident: Pages in memory.
        used: Allocated from the C allocator and not freed.
        cached: The part of it that SQLite holds.
    """

    resident: float
    used: float
    cached: float

    def since(self, before: MemoryUse) -> MemoryUse:
        """Return the growth."""
        return MemoryUse(self.resident - before.resident, self.used - before.used, self.cached - before.cached)


def measure_memory(folder: Path, answers: int) -> list[Result]:
    """Answer twice `answers` prompts in chats of ten, and show an empty chat after each half.

    No answer is shown any more then, so the memory that is held is what they left behind. The first half loads what is
    loaded once, fills caches up to their limits, and fragments the heap. Growth in the second half is what a user who
    never ends the program has to pay.
    """
    with Program(folder, Script(answer=answer(1), cycle_s=0.0005)) as program:
        idle = _memory_use()
        _answer(program, answers)
        first = _memory_use()
        _answer(program, answers)
        second = _memory_use()
    grown = second.since(first)
    return [
        Result("memory: window idle", idle.resident, "MB", _IDLE_LIMIT_MB),
        Result(f"memory: {answers} answers more than the empty window", first.since(idle).resident, "MB"),
        Result(f"memory: growth over {answers} answers after these", grown.resident, "MB", _GROWTH_LIMIT_MB),
        Result("memory: of it in use, by the allocator's count", grown.used, "MB"),
        Result("memory: of that the caches of the database", grown.cached, "MB"),
    ]


def _answer(program: Program, count: int) -> None:
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


def _memory_use() -> MemoryUse:
    """Return the memory use of now, after garbage collection and `malloc_trim`."""
    gc.collect()
    cached = apsw.memory_used() / 1e6
    if not _STATM.exists():
        # The most there ever was; the allocators of other systems keep no such count.
        return MemoryUse(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 0.0, cached)
    libc = ctypes.CDLL(None)
    libc.malloc_trim(0)
    libc.mallinfo2.restype = _MallInfo
    found = libc.mallinfo2()
    resident = int(_STATM.read_text().split()[1]) * resource.getpagesize()
    return MemoryUse(resident / 1e6, (found.uordblks + found.hblkhd) / 1e6, cached)
