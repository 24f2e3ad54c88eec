"""Whatever is written comes out without what could steer a terminal, our own colours apart."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.cli.output import Console

DIM, PLAIN = "\x1b[2m", "\x1b[0m"
EVIL = "a\x1b]0;title\x07b\x9b2Jc\rd\x08e\x7f\tf"
SEEN = "a]0;titleb2Jcde\tf"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_names_of_others_in_our_lines() -> None:
    terminal = Terminal()
    console = Console(terminal)
    console.line(EVIL)
    console.dim(EVIL)
    console.write(EVIL)
    assert terminal.getvalue() == f"{SEEN}\n{DIM}{SEEN}{PLAIN}\n{SEEN}"


def test_only_what_a_model_wrote_goes_on_unchanged_elsewhere() -> None:
    log = io.StringIO()
    console = Console(log)
    console.line(EVIL)
    console.dim(EVIL)
    console.write(EVIL)
    assert log.getvalue() == f"{SEEN}\n{SEEN}\n{EVIL}"


@given(st.text())
def test_no_control_character_passes(text: str) -> None:
    terminal = Terminal()
    Console(terminal).line(text)
    shown = terminal.getvalue()
    assert not [c for c in shown if (ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160]
