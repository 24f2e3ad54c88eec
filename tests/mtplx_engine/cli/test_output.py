"""The console writes nothing that could steer a terminal, and statistics say what was measured and nothing else."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.cli import output
from mtplx_engine.cli.output import Console
from mtplx_engine.stats import DecodeStats, FinishReason

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


DRAFTED = DecodeStats(emitted=128, verify_steps=49, drafted=110, accepted=78, decode_tokens=126, decode_s=3.0)


@pytest.mark.parametrize(
    ("stats", "reason", "text"),
    [
        (DRAFTED, FinishReason.END, "42 tok/s · 2.6 per step · 71 % of drafts kept · 128 tokens"),
        (
            DRAFTED,
            FinishReason.CANCELLED,
            "42 tok/s · 2.6 per step · 71 % of drafts kept · 128 tokens · stopped",
        ),
        (DecodeStats(emitted=9, decode_tokens=8, decode_s=2.5), FinishReason.STOP, "3.2 tok/s · 9 tokens"),
        (DecodeStats(emitted=1), FinishReason.LENGTH, "1 token · cut off at the limit"),
        (DecodeStats(), FinishReason.END, "0 tokens"),
    ],
)
def test_figures(stats: DecodeStats, reason: FinishReason, text: str) -> None:
    assert output.stats_text(stats, reason) == text
