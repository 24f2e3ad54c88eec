"""How much of a machine's memory models can take."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.util import system
from mtplx_engine.util.system import Power, Pressure, SystemState

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("memory", "share"), [(8, 16 / 3), (24, 16), (36, 27), (128, 96)])
def test_macos_gives_metal_its_own_share(memory: int, share: float) -> None:
    found = system.mac_machine(memory << 30, ask=lambda _: None)
    assert found.limit == pytest.approx(share * (1 << 30), rel=1e-6)
    assert (found.memory, found.packed, found.item, found.chunk) == (
        memory << 30,
        True,
        2,
        system.METAL_CHUNK,
    )
    assert system.mac_machine(memory << 30, ask=lambda _: 0).limit == found.limit  # as it was never set


def test_the_user_may_have_set_another(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    found = system.mac_machine(16 << 30, ask=lambda name: asked.append(name) or 12_000)
    assert (found.limit, asked) == (12_000 << 20, ["iogpu.wired_limit_mb"])
    monkeypatch.setattr(sys, "platform", "darwin")
    assert system.this_machine().packed


def test_elsewhere_all_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    found = system.this_machine()
    assert found.limit == found.memory > 1 << 28
    assert (found.packed, found.item, found.chunk) == (False, 4, system.CPU_CHUNK)


def test_an_unknown_sysctl_is_none() -> None:
    assert system.sysctl("no.such.name") is None


def test_the_processor_is_named_where_the_system_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    listed = tmp_path / "cpuinfo"
    listed.write_text("processor\t: 0\nmodel name\t: Made Up 3000: fast\nprocessor\t: 1\nmodel name\t: Other\n")
    assert system.chip_name(listed) == "Made Up 3000: fast"
    listed.write_text("processor\t: 0\nBogoMIPS\t: 50\n")
    assert system.chip_name(listed) == ""
    assert system.chip_name(tmp_path / "nothing") == ""


PLUGGED_IN = """\
Now drawing from 'AC Power'
 -InternalBattery-0 (id=1234567)	100%; charged; 0:00 remaining present: true
"""
UNPLUGGED = """\
Now drawing from 'Battery Power'
 -InternalBattery-0 (id=1234567)	58%; discharging; 4:31 remaining present: true
"""
DESKTOP = "Now drawing from 'AC Power'\n"
SETTINGS = """\
System-wide power settings:
Currently in use:
 standby              1
 Sleep On Power Button 1
 powernap             1
 displaysleep         10 (display sleep prevented by coreaudiod)
 sleep                1 (sleep prevented by sharingd)
 lowpowermode         {mode}
 womp                 1
"""
COOL = """\
Note: No thermal warning level has been recorded
Note: No performance warning level has been recorded
Note: No CPU power status has been recorded
"""
LIMITED = """\
Note: No thermal warning level has been recorded
Note: No performance warning level has been recorded
2026-01-05 18:21:14 +0100 CPU Power notify
	CPU_Scheduler_Limit 	= 100
	CPU_Available_CPUs 	= 8
	CPU_Speed_Limit 	= {limit}
"""
WARNED = "2026-01-05 18:21:14 +0100 Thermal Warning Level = {level}\n"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (PLUGGED_IN, Power.MAINS),
        (DESKTOP, Power.MAINS),
        (UNPLUGGED, Power.BATTERY),
        ("Now drawing from 'UPS Power'\n", Power.BATTERY),
        ("", Power.UNKNOWN),
        ("No adapter attached.", Power.UNKNOWN),
    ],
)
def test_power(text: str, source: Power) -> None:
    assert system.power_source(text) is source


@pytest.mark.parametrize(
    ("text", "low"),
    [
        (SETTINGS.format(mode=0), False),
        (SETTINGS.format(mode=1), True),
        (SETTINGS.format(mode=1).replace("lowpowermode", "powermode"), True),
        (SETTINGS.format(mode=2).replace("lowpowermode", "powermode"), False),
        (SETTINGS.replace("lowpowermode", "hibernatemode"), None),
        ("", None),
    ],
)
def test_low_power(text: str, low: bool | None) -> None:  # noqa: FBT001
    assert system.low_power(text) is low


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (COOL, "nominal"),
        (LIMITED.format(limit=100), "nominal"),
        (LIMITED.format(limit=72), "slowed to 72 %"),
        (WARNED.format(level=0), "nominal"),
        (WARNED.format(level=2), "warning level 2"),
        ("", ""),
        ("Usage: pmset <options>", ""),
    ],
)
def test_thermal(text: str, word: str) -> None:
    assert system.thermal(text) == word


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    found = system.mac_state(None, lambda _: text)
    assert isinstance(found.power, Power)
    assert found.low_power in (None, False, True)


def test_a_mac_is_asked_three_things(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"batt": UNPLUGGED, "": SETTINGS.format(mode=1), "therm": LIMITED.format(limit=80)}
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(system, "pmset", said.__getitem__)
    found = system.system_state()
    assert found.load is not None
    assert found == SystemState(
        found.load, Power.BATTERY, low_power=True, thermal="slowed to 80 %", cores=os.cpu_count()
    )


@pytest.mark.parametrize(
    "trouble",
    [
        FileNotFoundError(2, "pmset"),
        subprocess.TimeoutExpired("pmset", 1),
        subprocess.CalledProcessError(1, ""),
    ],
)
def test_a_system_that_does_not_answer_is_unknown(monkeypatch: pytest.MonkeyPatch, trouble: Exception) -> None:
    def fail(*_: object, timeout: float, **__: object) -> None:
        assert 0 < timeout <= 1
        raise trouble

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", fail)
    monkeypatch.setattr(system.os, "getloadavg", lambda: (_ for _ in ()).throw(OSError))
    assert system.system_state() == SystemState(cores=os.cpu_count())


@pytest.mark.parametrize(
    ("load", "cores", "busy"),
    [
        (None, 8, False),
        (1.0, None, False),
        (1.1, None, True),
        (1.0, 1, False),
        (1.1, 2, True),
        (6.0, 8, False),
        (6.1, 8, True),
        (9.2, 12, False),
    ],
)
def test_a_load_is_pressure_where_it_takes_more_cores_than_are_left(
    load: float | None, cores: int | None, *, busy: bool
) -> None:
    before = SystemState(load, cores=cores)
    assert before.busy is busy
    assert system.pressure(before, SystemState()) == ((Pressure.LOAD,) if busy else ())
    assert system.pressure(SystemState(), before) == ()


def test_all_that_holds_a_machine_back_is_named_be_it_before_or_after() -> None:
    held = SystemState(99.0, Power.BATTERY, low_power=True, thermal="slowed to 80 %", cores=8)
    assert system.pressure(held, SystemState(thermal="nominal")) == tuple(Pressure)
    assert system.pressure(SystemState(), held) == tuple(Pressure)[:3]


def _supply(folder: Path, name: str, **entries: str) -> None:
    (folder / name).mkdir()
    for entry, text in entries.items():
        (folder / name / entry).write_text(text + "\n")


def test_power_of_linux(tmp_path: Path) -> None:
    assert system.power_of_supplies(tmp_path / "none") is Power.UNKNOWN
    assert system.power_of_supplies(tmp_path) is Power.UNKNOWN
    _supply(tmp_path, "hidpp_battery_0", type="Battery", scope="Device", status="Discharging")
    assert system.power_of_supplies(tmp_path) is Power.UNKNOWN
    _supply(tmp_path, "BAT0", type="Battery", status="Discharging")
    _supply(tmp_path, "AC", type="Mains", online="0")
    assert system.power_of_supplies(tmp_path) is Power.BATTERY
    (tmp_path / "AC" / "online").write_text("1\n")
    assert system.power_of_supplies(tmp_path) is Power.MAINS


def test_what_is_held_counts() -> None:
    before = system.own_footprint()
    assert before is not None
    with mmap.mmap(-1, 64 << 20) as held:  # of its own: the heap may have so much to spare
        for page in range(0, len(held), mmap.PAGESIZE):
            held[page] = 1
        after = system.own_footprint()
    assert after is not None
    assert after - before > 32 << 20


@pytest.mark.parametrize("text", ["", "1234", "1234 many 5"])
def test_what_cannot_be_read_is_unknown(tmp_path: Path, text: str) -> None:
    (tmp_path / "statm").write_text(text)
    assert system.resident_bytes(tmp_path / "statm") is None
    assert system.resident_bytes(tmp_path / "nothing") is None


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
    assert system.own_footprint() == 109
    monkeypatch.setattr(ctypes, "CDLL", lambda path: Libproc(-1))
    assert system.own_footprint() is None


def test_a_mac_without_that_library_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str) -> None:
        raise OSError(path)

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert system.own_footprint() is None
