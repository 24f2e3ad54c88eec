"""Checks of the environment see what is missing or old, and nothing private is left in a text."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.doctor import environment
from mtplx_engine.doctor.environment import Check, CheckResult, Redactor
from mtplx_engine.util.system import Power, SystemState

REDACTOR = Redactor(
    {
        Path("/Users/mara"): "(home)",
        Path("/Users/mara/Library/MTPLX"): "(data folder)",
        Path("/opt/venv/lib"): "(program)",
        Path("/"): "(root)",
    },
    {"mara", "Maras-MacBook", "ab", ""},
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Kept in /Users/mara/Library/MTPLX.", "Kept in (data folder)."),
        ("In /Users/mara/Library/MTPLX/models/secret-plan, read", "In (data folder), read"),
        ("In /Users/mara/secret/plan and more", "In (home) and more"),
        ("One libmlx.so, in /opt/venv/lib/mlx/lib.", "One libmlx.so, in (program)/mlx/lib."),
        ("On /Volumes/Disk/secret: no room", "On (path): no room"),
        ("~/secret/plan", "(path)"),
        ("said Mara on maras-macbook", "said (name) on (name)"),
        ("marathon, about", "marathon, about"),
        ("hf_abcdefghijklmnop was refused", "(token) was refused"),
        ("write to mara@example.org", "write to (address)"),
        ("0.60x, 3/4, p = 1e-5, https://github.com/ml-explore/mlx", None),
        ("4-bit weights: right to 4e-07 at 1, 4 and 8 rows.", None),
    ],
)
def test_examples(text: str, clean: str | None) -> None:
    assert REDACTOR.clean(text) == (text if clean is None else clean)


@given(st.text(), st.sampled_from(["/Users/mara/x y", "/Users/mara", "mara", "hf_0123456789", "maras-macbook"]))
def test_a_canary_is_gone_whatever_is_around_it(text: str, canary: str) -> None:
    found = REDACTOR.clean(f"{text} {canary} {text}")
    assert not any(word in f" {found} ".casefold() for word in (" mara ", "/mara", "hf_0123", "maras-macbook"))


# ---------------------------------------------------------------- checks


def _all_right(*checks: Check) -> bool:
    return all(check.verdict is CheckResult.PASSED for check in checks)


def test_this_environment_is_right() -> None:
    assert _all_right(
        environment.python(), environment.operating_system(), environment.packages(), environment.sqlite()
    )
    assert "mlx-lm 0.32.2" in environment.packages().detail


def test_another_python_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    assert environment.python().verdict is CheckResult.FAILED


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version

    def without_numpy(package: str) -> str:
        if package == "numpy":
            raise importlib.metadata.PackageNotFoundError(package)
        return version(package)

    monkeypatch.setattr(importlib.metadata, "version", without_numpy)
    check = environment.packages()
    assert check.verdict is CheckResult.FAILED
    assert check.detail.startswith("numpy not installed")
    assert "mlx-lm" in check.detail


@pytest.mark.parametrize("version", ["3.46.1", "3.51.2"])
def test_an_old_sqlite_is_seen(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    apsw = SimpleNamespace(sqlite_lib_version=lambda: version)
    monkeypatch.setattr(importlib, "import_module", lambda name: apsw)
    check = environment.sqlite()
    assert check.verdict is CheckResult.FAILED
    assert version in check.detail


def test_conditions_say_unknown_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.system, "system_state", SystemState)
    check = environment.circumstances()
    assert check.verdict is CheckResult.UNKNOWN
    assert check.detail == "Load unknown, power: unknown, Low Power Mode: unknown, heat: unknown."
    told = SystemState(1.25, Power.BATTERY, low_power=True, thermal="nominal")
    monkeypatch.setattr(environment.system, "system_state", lambda: told)
    check = environment.circumstances()
    assert check.verdict is CheckResult.PASSED
    assert check.detail == "Load 1.2, power: battery, Low Power Mode: on, heat: nominal."
