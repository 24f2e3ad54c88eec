"""A child process does its work, and never outlives its parent."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.util import child_process
from tests.support import leaks

if TYPE_CHECKING:
    from pathlib import Path


def test_it_runs_a_module_and_keeps_what_it_writes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert child_process.run("platform", ["--terse"], log) == 0
    assert sys.platform in log.read_text().lower()
    assert child_process.run("no_such_module", [], log) == 1
    assert "no_such_module" in log.read_text()


def test_the_environment_is_added_to(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "import os; print(os.environ['EXTRA'], bool(os.environ['PATH']))"
    assert child_process.run("timeit", ["-n1", "-r1", code], log, environment={"EXTRA": "more"}) == 0
    assert "more True" in log.read_text()


def test_when_the_tick_raises_the_child_is_ended(tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    before = leaks.child_processes()
    with pytest.raises(KeyboardInterrupt):
        child_process.run("timeit", ["-n1", "-r1", "import time; time.sleep(60)"], tmp_path / "log", stop)
    assert leaks.child_processes() == before


def test_a_killed_parent_takes_the_child_with_it(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child = f"import time; file = open({str(fifo)!r}, 'w'); file.write('up'); file.flush(); time.sleep(60)"
    parent = f"""
from pathlib import Path
from mtplx_engine.util import child_process
child_process.run("timeit", ["-n1", "-r1", {child!r}], Path({str(tmp_path / "log")!r}))
"""
    with (
        subprocess.Popen([sys.executable, "-I", "-c", parent]) as process,
        fifo.open("rb", buffering=0) as pipe,
    ):
        assert pipe.read(2) == b"up"
        process.kill()
        assert pipe.read(1) == b""  # comes only when the child that holds the other end is gone
