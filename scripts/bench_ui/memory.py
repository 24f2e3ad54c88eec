"""How much memory the window's process holds, and what answers leave behind."""

from __future__ import annotations

import ctypes
import gc
import resource
from pathlib import Path

import apsw

from app.chat.conversation import MessageStatus
from scripts.bench_ui.figure import Figure
from scripts.bench_ui.program import Program
from scripts.bench_ui.texts import answer
from tests.support.fake_host import Script

_STATM = Path("/proc/self/statm")
_PER_CHAT = 10
_IDLE_LIMIT_MB, _GROWTH_LIMIT_MB = 200.0, 1.0


def measure(folder: Path, answers: int) -> list[Figure]:
    """Ask in a new chat again and again, and compare with the memory after a fifth as many answers before."""
    with Program(folder, Script(answer=answer(1), cycle_s=0.0005)) as program:
        idle = _resident_mb()
        _ask(program, max(_PER_CHAT, answers // 5))
        before, cached = _resident_mb(), apsw.memory_used()
        _ask(program, answers)
        growth, cached = _resident_mb() - before, apsw.memory_used() - cached
    return [
        Figure("memory: window idle", idle, "MB", _IDLE_LIMIT_MB),
        Figure(f"memory: growth over {answers} answers", growth, "MB", _GROWTH_LIMIT_MB),
        Figure("memory: of it the caches of the database, which end at 2 MB a file", cached / 1e6, "MB"),
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


def _resident_mb() -> float:
    """Return the memory that is held, after everything that is free was given back."""
    gc.collect()
    if not _STATM.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # the most there ever was
    ctypes.CDLL(None).malloc_trim(0)
    return int(_STATM.read_text().split()[1]) * resource.getpagesize() / 1e6
