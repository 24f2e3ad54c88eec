"""Odd numbers and names from files are refused or cleaned, so that all that is left can be shown."""

from __future__ import annotations

import math
import unicodedata
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import validation
from app.chat.conversation import Role
from app.chat.validation import LATEST_MS, OutOfBoundsError
from mtplx_engine.stats import DecodeStats
from tests.support.chats import chat, message

BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(st.integers(), st.integers(-14, 14))
def test_every_number_is_a_time_that_any_zone_shows(moment_ms: int, hours: int) -> None:
    shown = validation.shown_ms(moment_ms)
    assert datetime.fromtimestamp(shown / 1000, tz=timezone(timedelta(hours=hours))).year in range(1969, 10_000)
    assert (shown == moment_ms) == (0 <= moment_ms <= LATEST_MS)


@pytest.mark.parametrize("moment", [-1, LATEST_MS + 1, 2**63 - 1])
def test_dates_that_no_calendar_shows_are_refused(moment: int) -> None:
    with pytest.raises(OutOfBoundsError, match="date"):
        validation.check_chat(chat("c", moment))
    with pytest.raises(OutOfBoundsError, match="date"):
        validation.check_message(message("m", created_ms=moment))


def test_only_questions_and_answers_are_messages_of_a_chat() -> None:
    validation.check_message(message("m", role=Role.ASSISTANT, created_ms=LATEST_MS))
    with pytest.raises(OutOfBoundsError, match="neither a question nor an answer"):
        validation.check_message(message("m", role=Role.SYSTEM))


@pytest.mark.parametrize(
    "stats",
    [
        DecodeStats(emitted=-5),
        DecodeStats(prompt_tokens=2**31),
        DecodeStats(accepted_at=(3, -1)),
        DecodeStats(accepted_at=(1,) * 9),
        DecodeStats(ttft_s=1e-278),
        DecodeStats(waited_s=-1.0),
        DecodeStats(waited_s=math.inf),
        DecodeStats(decode_s=-1.0),
        DecodeStats(prefill_s=1e12),
        DecodeStats(seed=2**63),
        DecodeStats(depth="9"),
        DecodeStats(depth="x" * 400),
    ],
    ids=str,
)
def test_figures_that_nobody_measured_are_refused(stats: DecodeStats) -> None:
    with pytest.raises(OutOfBoundsError, match="figures"):
        validation.check_stats(stats)


def test_figures_of_an_answer_pass() -> None:
    validation.check_stats(DecodeStats(9, 1, 8, 3, 0, 9, 5, (3, 2), 0.5, 0.0, None, 7, 2**63 - 1, "auto"))


@given(st.text(st.characters() | st.sampled_from(BIDI_CONTROLS + "\n\t\x07")))
def test_names_are_one_line_that_reads_as_it_looks(text: str) -> None:
    for clean, longest in ((validation.clean_title, 500), (validation.clean_name, 255)):
        line = clean(text)
        assert len(line) <= longest
        assert not any(unicodedata.category(char) in ("Cc", "Cs") or char in BIDI_CONTROLS for char in line)
        assert clean(line) == line


def test_a_title_is_never_empty_and_names_are_cut() -> None:
    assert validation.clean_title(" \n") == validation.clean_title("\u202e") == "New chat"
    assert validation.clean_title("\u202egpj.tac") == "gpj.tac"
    assert validation.clean_name("x" * 400) == "x" * 255
    assert validation.clean_name("👩\u200d👧") == "👩\u200d👧"
