"""`mtplx tune`, `check` and `bench`: reports, exit codes, quiet when stopped, refused before a model is loaded."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from mtplx_engine import backend
from mtplx_engine.cli.main import FAILED, INTERRUPTED, WRONG_USE, main
from mtplx_engine.cli.measure import render_check
from mtplx_engine.engine import Engine
from mtplx_engine.measure.store import MeasurementStore
from tests.support import engine_runs, tiny_folder
from tests.support.fake_host import ScriptedEngine
from tests.support.fake_script import Script
from tests.support.measurements import measurement, report

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.ipc.protocol import CheckExactness, Measure


class TuneEngine(ScriptedEngine):
    """Keeps what it finds, as the real one does, and notes what it was asked."""

    def __init__(self, script: Script, data: Path | None = None) -> None:
        super().__init__(script)
        self.requests: list[Measure] = []
        self.anyway = False
        self._data = data

    def load(self, *arguments, **more):
        self.anyway = more["anyway"]
        return super().load(*arguments, **more)

    def measure(self, request, cancelled):
        self.requests.append(request)
        if self._data is not None:
            MeasurementStore(self._data).keep(self._script.measurement)
        return super().measure(request, cancelled)


def tune(engine: ScriptedEngine, data: Path, *arguments: str) -> int:
    with patch("mtplx_engine.host.measure", type(engine).measure):
        return main(["tune", "--model", str(data), "--data-dir", str(data), *arguments], lambda: engine)


def test_a_measurement_is_printed_as_a_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(TuneEngine(Script(), tmp_path), tmp_path) == 0
    out, err = capsys.readouterr()
    assert "Whole request at depth 3: 2.00–2.00x over 3 pairs." in out
    assert "depth 3, chat" in err
    assert "left (10%)" in err
    assert "cannot be written" not in err


def test_what_is_to_come_is_said_before_it_takes_its_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = TuneEngine(Script(), tmp_path)
    tune(engine, tmp_path, "--kinds", "code", "chat", "--context", "192", "--draft-model", str(tmp_path))
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("30 answers of 128 tokens")
    assert "1024, 8192, 32768 tokens of context only" in second
    assert engine.requests[0].drafter == "draft_model"
    assert tune(engine, tmp_path, "--pairs", "99999999") == WRONG_USE
    assert len(engine.requests) == 1
    assert "at most 1,000 pairs" in capsys.readouterr().err


def test_json_is_the_whole_measurement_and_what_it_comes_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(TuneEngine(Script(), tmp_path), tmp_path, "--json") == 0
    body = json.loads(capsys.readouterr().out)
    kept = MeasurementStore(tmp_path).all()[0]
    assert body["measurement"] == json.loads(json.dumps(dataclasses.asdict(kept)))
    assert body["results"]["winner"] == 3
    [depth] = body["results"]["depths"]
    assert depth["verdict"] == "faster"
    assert sum(depth["histogram"]) == depth["verify_steps"]
    assert sum(depth["acceptance"]) == pytest.approx(depth["accepted"] / depth["verify_steps"])
    assert depth["by_kind"]["chat"]["pairs"] == 3


def test_a_loss_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(TuneEngine(Script(measurement=measurement(0.6, 0.6, 0.6))), tmp_path) == 0
    out, err = capsys.readouterr()
    assert "0.60x: slower" in out
    assert "; drafting is turned off there." in out
    assert "cannot be written" in err  # this engine kept nothing


def test_options_become_the_request(tmp_path: Path) -> None:
    engine = TuneEngine(Script())
    options = "--kinds code copy code --context 8192 --pairs 4 --depths 3 1 3 --tokens 32 --temp 0.5 --anyway"
    assert tune(engine, tmp_path, *options.split()) == 0
    [request] = engine.requests
    assert [kind.value for kind in request.kinds] == ["code", "copy-edit"]
    assert (request.context, request.pairs, request.depths) == (8192, 4, (1, 3))
    assert (request.tokens, request.temperature) == (32, 0.5)
    assert engine.anyway


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--pairs", "2"], "take 3 or more"),
        (["--tokens", "8"], "take 16 or more"),
        (["--context", "100"], "no room for a prompt"),
        (["--temp", "9"], "temperature is 9.0"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_a_model_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    engine = TuneEngine(Script(load_error="It was loaded."))
    assert tune(engine, tmp_path, *arguments) == WRONG_USE
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--kinds", "gossip"], ["--depths", "9"], ["--pairs", "0"]])
def test_an_impossible_option_is_a_usage_error(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        tune(TuneEngine(Script()), tmp_path, *arguments)
    assert ended.value.code == WRONG_USE


class StoppedTuneEngine(ScriptedEngine):
    """Somebody presses Ctrl-C when it begins to load, or to measure."""

    def __init__(self, script: Script, *, loading: bool) -> None:
        super().__init__(script)
        self._loading = loading

    def load(self, *arguments, **more):
        if self._loading:
            signal.raise_signal(signal.SIGINT)
        return super().load(*arguments, **more)

    def measure(self, request, cancelled):
        for event in super().measure(request, cancelled):
            yield event
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("loading", [True, False])
def test_ctrl_c_ends_a_measurement_quietly_at_any_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, loading: bool
) -> None:
    engine = StoppedTuneEngine(Script(trial_s=600, load_s=600 if loading else 0), loading=loading)
    assert tune(engine, tmp_path) == INTERRUPTED
    out, err = capsys.readouterr()
    assert out == ""
    assert all("(" in line for line in err.splitlines()[1:])  # what was to come, and how far it was
    assert MeasurementStore(tmp_path).all() == ()


def test_a_failed_measurement_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(TuneEngine(Script(trial_error="Nothing drafts for this model.")), tmp_path) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "Nothing drafts for this model."


def test_a_real_model_is_measured_then_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtplx_engine.bench.benchmark.PAUSE_S", 0.0)
    monkeypatch.setattr(backend, "prepare", lambda: None)  # mlx has been imported long since
    tiny_folder.write(tmp_path)
    arguments = ["tune", "--model", str(tmp_path), "--data-dir", str(tmp_path)]
    options = ["--kinds", "maths", "--context", "128", "--tokens", "16", "--depths", "1"]
    assert main([*arguments, *options], Engine) == 0
    assert "depth 1" in capsys.readouterr().out
    engine = Engine()
    key = engine_runs.load(engine, tmp_path).speed_key
    assert MeasurementStore(tmp_path).latest(key) is not None
    assert main([*arguments, "--forget"], Engine) == 0
    assert "is forgotten" in capsys.readouterr().out
    assert MeasurementStore(tmp_path).all() == ()
    assert main([*arguments, "--forget"], Engine) == 0
    assert "Nothing is kept" in capsys.readouterr().out
    assert main([*arguments, "--forget", "--json"], Engine) == 0
    assert json.loads(capsys.readouterr().out)["forgotten"] is False


def test_forgetting_prints_no_advice_of_libraries(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    tiny_folder.write(tmp_path / "tiny")
    command = [sys.executable, "-I", "-m", "mtplx_engine.cli.main", "tune", "--forget"]
    command += ["--model", str(tmp_path / "tiny"), "--data-dir", str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("Nothing is kept of tiny on this machine.\n", "")


class CheckEngine(ScriptedEngine):
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
    engine = CheckEngine(Script())
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


def test_a_fault_has_an_exit_code_and_something_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = CheckEngine(Script(report=report(p_value=1e-12)))
    assert check(engine, tmp_path) == FAILED
    out = capsys.readouterr().out
    assert "Drafting changes what this model says here, which is a fault." in out
    assert "--depth 0" in out


def test_json_is_the_report_and_its_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(CheckEngine(Script()), tmp_path, "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["verdict"] == "same within rounding"
    assert body["report"]["greedy_same"] == 8
    assert body["report"]["subject"]["model"] == report().subject.model


def test_nothing_is_told_of_what_was_not_tried() -> None:
    text = render_check(replace(report(), p_value=None))
    assert "too few to tell" in text
    assert "drawn at random or more" not in text
    assert "None" not in text
    assert "parted" not in text
    assert "2 parted where two words were equally likely" in render_check(report(greedy_same=6, greedy_ties=2))


def test_draws_that_tell_nothing_are_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(CheckEngine(Script(report=report(p_value=None))), tmp_path) == FAILED
    assert "too few words were drawn at random to tell. Take more --draws" in capsys.readouterr().out
    assert check(CheckEngine(Script(report=report(p_value=1e-4))), tmp_path) == FAILED
    out = capsys.readouterr().out
    assert "odder than chance makes them in 99 of 100. Check again" in out
    assert "in fewer than one of 100 checks" in out
    assert "p = 0.0001" in out


def test_a_draft_model_that_is_named_drafts(tmp_path: Path) -> None:
    engine = CheckEngine(Script())
    check(engine, tmp_path, "--draft-model", str(tmp_path))
    check(engine, tmp_path)
    assert [request.drafter for request in engine.requests] == ["draft_model", "stock"]


@pytest.mark.parametrize("arguments", [("--beginnings", "100000"), ("--draws", "100001")])
def test_what_would_never_end_does_not_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str]
) -> None:
    engine = CheckEngine(Script())
    assert check(engine, tmp_path, *arguments) == WRONG_USE
    assert not engine.requests
    assert "1 to 1,000 beginnings and 1 to 100,000 draws" in capsys.readouterr().err


class StoppedCheckEngine(ScriptedEngine):
    """Somebody presses Ctrl-C while it checks."""

    def check(self, request, cancelled):
        for event in super().check(request, cancelled):
            yield event
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_a_check_quietly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(StoppedCheckEngine(Script(trial_s=600)), tmp_path) == INTERRUPTED
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err


def test_a_failed_check_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(CheckEngine(Script(trial_error="It broke; try again.")), tmp_path) == FAILED
    assert capsys.readouterr().err.endswith("It broke; try again.\n")
    assert check(CheckEngine(Script(trial_error="It broke; try again.")), tmp_path, "--json") == FAILED
    assert json.loads(capsys.readouterr().out)["message"] == "It broke; try again."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--prompts", "0"], "'0' is not a whole number above 0"),
        (["--prompts", "-3"], "'-3' is not a whole number above 0"),
        (["--prompts", "50"], "there are 18 prompts, not 50"),
        (["--tokens", "3"], "3 tokens are too few"),
        (["--depths", "9"], "invalid choice: 9"),
        (["--drafters", "guess"], "invalid choice: 'guess'"),
        (["--data-dir", ""], "it is empty"),
    ],
)
def test_an_impossible_bench_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *arguments])
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
