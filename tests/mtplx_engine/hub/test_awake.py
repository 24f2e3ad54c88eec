"""A Mac is kept awake for as long as a download lasts, and no longer."""

from __future__ import annotations

import os
import platform

import pytest

from mtplx_engine.hub import awake


class Program:
    """Stands for macOS's program; notes what it was told."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def start(self, arguments: list[str]) -> Program:
        self.said.append(arguments)
        return self

    def terminate(self) -> None:
        self.said.append("end")

    def wait(self) -> int:
        self.said.append("ended")
        return 0


STARTED = ["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())]


def test_it_lasts_as_long_as_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    program = Program()
    with awake.kept(program.start):
        assert program.said == [STARTED]
    assert program.said == [STARTED, "end", "ended"]


def test_it_ends_after_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    program = Program()
    with pytest.raises(KeyError), awake.kept(program.start):
        raise KeyError
    assert program.said == [STARTED, "end", "ended"]


def test_without_the_program_the_download_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")

    def missing(_: list[str]) -> Program:
        raise FileNotFoundError

    done = []
    with awake.kept(missing):
        done.append(True)
    assert done


def test_other_machines_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    program = Program()
    with awake.kept(program.start):
        assert program.said == []
    assert program.said == []
