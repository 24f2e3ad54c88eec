"""What the system tells of power and heat, in the words in which it tells it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine import conditions
from mtplx_engine.conditions import Conditions, Power, Pressure

if TYPE_CHECKING:
    from pathlib import Path

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
    assert conditions.power_source(text) is source


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
    assert conditions.low_power(text) is low


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
    assert conditions.thermal(text) == word


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    found = conditions.mac(None, lambda _: text)
    assert isinstance(found.power, Power)
    assert found.low_power in (None, False, True)


def test_a_mac_is_asked_three_things(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"batt": UNPLUGGED, "": SETTINGS.format(mode=1), "therm": LIMITED.format(limit=80)}
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(conditions, "pmset", said.__getitem__)
    found = conditions.now()
    assert found.load is not None
    assert found == Conditions(
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
def test_a_system_that_does_not_answer_is_unknown(
    monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    def fail(*_: object, timeout: float, **__: object) -> None:
        assert 0 < timeout <= 1
        raise trouble

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", fail)
    monkeypatch.setattr(conditions.os, "getloadavg", lambda: (_ for _ in ()).throw(OSError))
    assert conditions.now() == Conditions(cores=os.cpu_count())


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
    before = Conditions(load, cores=cores)
    assert before.busy is busy
    assert conditions.pressure(before, Conditions()) == ((Pressure.LOAD,) if busy else ())
    assert conditions.pressure(Conditions(), before) == ()


def test_all_that_holds_a_machine_back_is_named_be_it_before_or_after() -> None:
    held = Conditions(99.0, Power.BATTERY, low_power=True, thermal="slowed to 80 %", cores=8)
    assert conditions.pressure(held, Conditions(thermal="nominal")) == tuple(Pressure)
    assert conditions.pressure(Conditions(), held) == tuple(Pressure)[:3]


def _supply(folder: Path, name: str, **entries: str) -> None:
    (folder / name).mkdir()
    for entry, text in entries.items():
        (folder / name / entry).write_text(text + "\n")


def test_power_of_linux(tmp_path: Path) -> None:
    assert conditions.power_of_supplies(tmp_path / "none") is Power.UNKNOWN
    assert conditions.power_of_supplies(tmp_path) is Power.UNKNOWN
    _supply(tmp_path, "hidpp_battery_0", type="Battery", scope="Device", status="Discharging")
    assert conditions.power_of_supplies(tmp_path) is Power.UNKNOWN
    _supply(tmp_path, "BAT0", type="Battery", status="Discharging")
    _supply(tmp_path, "AC", type="Mains", online="0")
    assert conditions.power_of_supplies(tmp_path) is Power.BATTERY
    (tmp_path / "AC" / "online").write_text("1\n")
    assert conditions.power_of_supplies(tmp_path) is Power.MAINS
