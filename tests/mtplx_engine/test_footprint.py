"""The memory that the system counts."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import footprint

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_held_counts() -> None:
    before = footprint.own()
    assert before is not None
    with mmap.mmap(-1, 64 << 20) as held:  # of its own: the heap may have so much to spare
        for page in range(0, len(held), mmap.PAGESIZE):
            held[page] = 1
        after = footprint.own()
    assert after is not None
    assert after - before > 32 << 20


@pytest.mark.parametrize("text", ["", "1234", "1234 many 5"])
def test_what_cannot_be_read_is_unknown(tmp_path: Path, text: str) -> None:
    (tmp_path / "statm").write_text(text)
    assert footprint.resident(tmp_path / "statm") is None
    assert footprint.resident(tmp_path / "nothing") is None


class Libproc:
    """macOS's library, which writes the whole structure of this version."""

    def __init__(self, status: int = 0) -> None:
        self.status = status

    def proc_pid_rusage(self, pid: int, flavor: int, usage: object) -> int:
        assert (pid, flavor) == (os.getpid(), 0)
        words = (ctypes.c_uint64 * 12).from_buffer(usage._obj)
        words[:] = range(100, 112)
        return self.status


def test_on_a_mac_it_is_the_footprint_of_activity_monitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """In sys/resource.h, ri_phys_footprint comes after 16 bytes of uuid and seven numbers of 8 bytes."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda path: Libproc())
    assert footprint.own() == 109
    monkeypatch.setattr(ctypes, "CDLL", lambda path: Libproc(-1))
    assert footprint.own() is None


def test_a_mac_without_that_library_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str) -> None:
        raise OSError(path)

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert footprint.own() is None
