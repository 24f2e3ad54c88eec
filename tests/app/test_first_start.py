"""In the app, the first start of a version runs the self-check once, and shows only failures."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from dataclasses import asdict

import pytest

from app import first_start
from app.services import helper_process
from app.services.helper_process import SelfCheck
from mtplx_engine import paths
from mtplx_engine.doctor.environment import Check, CheckResult

VERSION = importlib.metadata.version("mtplx")
FULL = Check("Files", CheckResult.FAILED, "The disk has 3 MB left. Make room for at least 1 GB.")
FINE = Check("Metal", CheckResult.PASSED, "Apple M3 computes.")


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Makes a checkout look like the app; has what the child does, and how often it was started."""
    monkeypatch.setattr(paths, "bundle", lambda: tmp_path / "MTPLX.app")
    started = []

    class Scripted(SelfCheck):
        script = ""

        def start(self):
            started.append(self)
            if self.script:
                self._process._command = ["-I", "-c", self.script]
            super().start()

    monkeypatch.setattr(first_start, "SelfCheck", Scripted)
    started_by = Scripted
    started_by.started = started
    return started_by


def rows(*checks: Check) -> str:
    return f"print({json.dumps([asdict(check) for check in checks])!r})"


def checked(driver) -> bool:
    return driver.program.settings.value.checked_version == VERSION


def test_where_all_is_well_nothing_is_said_and_it_is_not_looked_at_again(start, runs):
    driver = start()
    driver.until(lambda: checked(driver))  # the real checks, of this machine
    assert driver.program.first_start.sheet is None
    start().until_idle()
    assert len(runs.started) == 1


def test_what_is_wrong_is_on_a_sheet_and_nothing_else_is(start, runs):
    runs.script = rows(FINE, FULL)
    driver = start()
    driver.until(lambda: driver.program.first_start.sheet is not None)
    sheet = driver.program.first_start.sheet
    said, where = sheet.informativeText().split("\n\n")
    assert said == f"Files: {FULL.detail}"
    assert "Show Logs" in where
    sheet.close()


@pytest.mark.parametrize("script", ["import os; os.abort()", "raise SystemExit(3)", "print('[1]')"])
def test_a_library_that_ends_the_process_is_said_to(start, runs, script):
    runs.script = script
    driver = start()
    driver.until(lambda: driver.program.first_start.sheet is not None)
    assert "Model library: " in driver.program.first_start.sheet.informativeText()
    driver.program.first_start.sheet.close()


def test_a_check_that_does_not_end_says_nothing_and_is_done_again_at_the_next_start(start, runs, monkeypatch):
    """As while the keychain asks the user something."""
    monkeypatch.setattr(helper_process, "_CHECK_PATIENCE_MS", 10)
    runs.script = "import time; time.sleep(60)"
    driver = start()
    driver.until(lambda: len(runs.started) == 1)
    driver.until(lambda: not runs.started[0]._process.running)
    driver.until_idle()
    assert driver.program.first_start.sheet is None
    assert not checked(driver)
    start().until(lambda: len(runs.started) == 2)


def test_a_check_that_cannot_begin_has_no_answer(qtbot, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    check, rows = SelfCheck(tmp_path), []
    check.ended.connect(rows.append)
    with qtbot.waitSignal(check.unanswered):
        check.start()
    assert rows == []


def test_a_program_that_ends_meanwhile_ends_it_too(start, runs):
    runs.script = "import time; time.sleep(60)"
    driver = start()
    driver.until(lambda: len(runs.started) == 1)
    driver.program.first_start.close()
    assert not checked(driver)


def test_a_checkout_looks_at_nothing(start, runs, monkeypatch):
    monkeypatch.setattr(paths, "bundle", lambda: None)
    start().until_idle()
    assert runs.started == []
