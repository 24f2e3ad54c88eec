"""The launchers and the layout, with the interpreter and the wheels that people get: the twin that was just built."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from mtplx_bundle.layout import Layout
from tests.support import tiny_app

pytestmark = pytest.mark.packaging

TWIN = Layout(Path(__file__).resolve().parents[2] / "build" / "twin" / "MTPLX.app")
FACTS = """
import json, site, sys
import mtplx_engine  # as it would be found in a folder of PYTHONPATH
print(json.dumps({
    "path": sys.path, "executable": sys.executable, "user": site.ENABLE_USER_SITE, "isolated": sys.flags.isolated,
    "writes": not sys.dont_write_bytecode, "utf8": sys.flags.utf8_mode,
}))
"""


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)), env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_interpreter_sees_nothing_but_the_app(tmp_path):
    (tmp_path / "mtplx_engine.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "startup.py").write_text("raise SystemExit('started')")
    facts = json.loads(
        run(
            TWIN.interpreter,
            "-c",
            FACTS,
            PYTHONPATH=str(tmp_path),
            PYTHONHOME=str(tmp_path),
            PYTHONSTARTUP=str(tmp_path / "startup.py"),
            HOME=str(tmp_path),
            LC_ALL="C",
        )
    )
    assert all(Path(entry).is_relative_to(TWIN.root) for entry in facts["path"])
    assert facts["executable"] == str(TWIN.interpreter)
    assert facts["user"] is False
    assert facts["isolated"] == 1
    assert facts["writes"] is False
    assert facts["utf8"] == 1


def test_the_number_that_an_old_finder_adds_is_no_option():
    assert run(TWIN.command, "-psn_0_12345", "--version") == run(TWIN.command, "--version")


def test_the_command_is_there_by_whatever_way_it_is_called(tmp_path):
    link = tmp_path / "mtplx"
    link.symlink_to(TWIN.command)
    assert run(TWIN.command, "--version") == run(link, "--version")


def test_a_child_is_started_with_the_same_interpreter():
    child = "[sys.executable, '-I', '-c', 'import sys; print(sys.prefix)']"
    code = f"import subprocess, sys; print(subprocess.check_output({child}, text=True))"
    assert run(TWIN.interpreter, "-c", code).strip() == str(TWIN.resources)


def test_ctrl_c_is_heard():
    code = "import time; print('ready', flush=True); time.sleep(60)"
    with subprocess.Popen([TWIN.interpreter, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == -signal.SIGINT


def test_an_app_without_its_interpreter_says_so(tmp_path):
    lonely = tiny_app.put(tmp_path / "MTPLX.app" / "Contents" / "MacOS" / "MTPLX", TWIN.executable.read_bytes())
    lonely.chmod(0o755)
    done = subprocess.run([lonely], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("MTPLX is incomplete (interpreter: ")


def test_what_starts_first_is_compiled_and_holds_no_path_of_the_builder():
    compiled = TWIN.site / "app" / "__pycache__" / "application.cpython-311.pyc"
    data = compiled.read_bytes()
    assert data[4:8] == (1).to_bytes(4, "little")  # by the hash of the source, which nobody looks up again
    assert str(TWIN.root).encode() not in data


def test_a_tokenizer_of_a_model_is_still_there_though_the_model_is_not():
    code = """
import json, transformers
missing = False
try:
    import transformers.models.qwen2.modeling_qwen2
except ModuleNotFoundError:
    missing = True
print(json.dumps([missing, transformers.Qwen2Tokenizer.__module__, transformers.Qwen2Config().model_type]))
"""
    assert json.loads(run(TWIN.interpreter, "-c", code)) == [
        True,
        "transformers.models.qwen2.tokenization_qwen2",
        "qwen2",
    ]
