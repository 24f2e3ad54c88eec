"""`mtplx check`: one verdict, its figures, an exit code, and quiet when it is stopped."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from mtplx_engine.cli.check import render
from mtplx_engine.cli.main import FAILED, INTERRUPTED, WRONG_USE, main
from tests.support.fake_host import ScriptedEngine
from tests.support.fake_script import Script
from tests.support.measurements import report

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.ipc.protocol import CheckExactness


class Asked(ScriptedEngine):
    """Notes what it was asked."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.requests: list[CheckExactness] = []

    def check(self, request, cancelled):
        self.requests.append(request)
        return super().check(request, cancelled)


def check(engine: ScriptedEngine, data: Path, *arguments: str) -> int:
    with patch("mtplx_engine.host.check", type(engine).check):
        return main(["check", "--model", str(data), "--data-dir", str(data), *arguments], lambda: engine)


def test_a_sound_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = Asked(Script())
    assert check(engine, tmp_path, "--beginnings", "8", "--draws", "200") == 0
    [request] = engine.requests
    assert (request.prefixes, request.samples) == (8, 200)
    out, err = capsys.readouterr()
    assert "The same within rounding" in out
    assert "3e-07 apart at most, of 1; rounding explains 0.002; 32 places after 8 beginnings" in out
    assert "8 of 8 word for word the same" in out
    assert "2,000 gave 1800, 1000, 500 tokens at draft positions 1 to 3 and 700 bonus tokens, p = 0.4" in out
    assert "as odd as that in 40% of checks" in out
    assert "about 6% of the words drawn at random" in out
    assert "14% of the bonus tokens" in out
    assert "cannot show" in out
    assert len(out.splitlines()) == 10
    assert err.startswith("8 beginnings, 200 draws\n")
    assert "90%" in err


def test_a_fault_has_an_exit_code_and_something_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = Asked(Script(report=report(p_value=1e-12)))
    assert check(engine, tmp_path) == FAILED
    out = capsys.readouterr().out
    assert "Drafting changes what this model says here, which is a fault." in out
    assert "--depth 0" in out


def test_json_is_the_report_and_its_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(Asked(Script()), tmp_path, "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["verdict"] == "same within rounding"
    assert body["report"]["greedy_same"] == 8
    assert body["report"]["subject"]["model"] == report().subject.model


def test_nothing_is_told_of_what_was_not_tried() -> None:
    text = render(replace(report(), p_value=None))
    assert "too few to tell" in text
    assert "drawn at random or more" not in text
    assert "None" not in text
    assert "parted" not in text
    assert "2 parted where two words were equally likely" in render(report(greedy_same=6, greedy_ties=2))


def test_draws_that_tell_nothing_are_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(Asked(Script(report=report(p_value=None))), tmp_path) == FAILED
    assert "too few words were drawn at random to tell. Take more --draws" in capsys.readouterr().out
    assert check(Asked(Script(report=report(p_value=1e-4))), tmp_path) == FAILED
    out = capsys.readouterr().out
    assert "odder than chance makes them in 99 of 100. Check again" in out
    assert "in fewer than one of 100 checks" in out
    assert "p = 0.0001" in out


def test_a_draft_model_that_is_named_drafts(tmp_path: Path) -> None:
    engine = Asked(Script())
    check(engine, tmp_path, "--draft-model", str(tmp_path))
    check(engine, tmp_path)
    assert [request.drafter for request in engine.requests] == ["draft_model", "stock"]


@pytest.mark.parametrize("arguments", [("--beginnings", "100000"), ("--draws", "100001")])
def test_what_would_never_end_does_not_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str]
) -> None:
    engine = Asked(Script())
    assert check(engine, tmp_path, *arguments) == WRONG_USE
    assert not engine.requests
    assert "1 to 1,000 beginnings and 1 to 100,000 draws" in capsys.readouterr().err


class Pressed(ScriptedEngine):
    """Somebody presses Ctrl-C while it checks."""

    def check(self, request, cancelled):
        for event in super().check(request, cancelled):
            yield event
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_it_quietly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(Pressed(Script(trial_s=600)), tmp_path) == INTERRUPTED
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err


def test_a_failure_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(Asked(Script(trial_error="It broke; try again.")), tmp_path) == FAILED
    assert capsys.readouterr().err.endswith("It broke; try again.\n")
    assert check(Asked(Script(trial_error="It broke; try again.")), tmp_path, "--json") == FAILED
    assert json.loads(capsys.readouterr().out)["message"] == "It broke; try again."
