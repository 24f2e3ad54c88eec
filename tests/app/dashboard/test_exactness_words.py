"""A check of exactness in words: what it found, and never a 0 for what is not 0."""

from __future__ import annotations

from app.dashboard import result_text
from app.i18n import said
from app.palette import Tone
from mtplx_engine.measure import sentences
from tests.support.measurements import report


def told(found):
    return {said(about): said(told_) for about, told_ in sentences.compared(found)}


def test_what_is_small_is_not_nothing():
    assert told(report(distance=3e-7))["Chances of the next word"].startswith("3e-07 apart at most")
    assert told(report(distance=0.0))["Chances of the next word"].startswith("0 apart at most")


def test_answers_that_part_where_they_may():
    assert told(report())["Answers at temperature 0"] == "8 of 8 word for word the same"
    assert told(report(greedy_same=7, greedy_ties=1))["Answers at temperature 0"] == (
        "7 of 8 word for word the same, 1 parted where two words were equally likely"
    )


def test_drawn_words():
    assert told(report(p_value=0.4))["Words drawn at random"] == (
        "4,000; chance alone makes them as odd as that in 40% of checks"
    )
    assert told(report(p_value=1e-9))["Words drawn at random"].endswith(
        "in fewer than one of 1,000,000 checks"
    )
    assert told(report(p_value=None))["Words drawn at random"] == "too few to tell"


def test_only_a_fault_asks_for_something():
    assert result_text.advice(report()) == ""
    assert "mtplx doctor" in result_text.advice(report(p_value=1e-9))
    assert "Check again" in result_text.advice(report(p_value=1e-4))


def test_draws_that_tell_nothing_are_said_with_doubt():
    for p_value in (None, 1e-4):
        words, tone = result_text.exactness(report(p_value=p_value))
        assert tone is Tone.DOUBT
        assert words.startswith("Nothing differed, but")
    assert "about 6% of the words" in said(sentences.limits(report()))
    assert "drawn at random" not in said(sentences.limits(report(p_value=None)))
