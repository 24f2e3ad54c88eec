"""Measurements and checks as text: each verdict, no ratio that looks better than it is, never a 0 for what is not 0."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dashboard import result_text
from app.i18n import said
from app.palette import Tone
from mtplx_engine.measure import results, sentences
from mtplx_engine.measure.measurement import PromptKind
from mtplx_engine.util.system import Power, SystemState
from tests.support.measurements import CALM, measurement, report


def best(found):
    return results.results_of(found).headline


def say(what):
    """Return a sentence as the window shows it."""
    return lambda *given: said(what(*given))


def told(*ratios, **fields):
    return result_text.headline(measurement(*ratios, **fields))


@pytest.mark.parametrize(
    ("ratios", "words", "tone"),
    [
        ((2.0, 1.9, 2.1), "2.00x faster", Tone.GOOD),
        ((1.62, 1.55, 1.7), "1.62x faster", Tone.GOOD),
        ((1.004, 1.003, 1.006), "Less than 1 % faster", Tone.GOOD),
        ((0.6, 0.58, 0.62), "0.60x: slower", Tone.BAD),
        ((0.996, 0.99, 0.999), "0.99x: slower", Tone.BAD),
        ((0.97, 1.01, 1.06), "No clear difference, 1.01x (0.97–1.06x)", None),
        ((1.0, 1.0, 1.0), "No clear difference, 1.00x (1.00–1.00x)", None),
        ((1.5, 1.6), "Too few pairs, 1.55x (1.50–1.60x)", None),
    ],
)
def test_the_headline(ratios, words, tone):
    found = told(*ratios)
    assert (found.text, found.tone) == (words, tone)


def test_what_it_means_in_time_and_for_which_chats():
    assert told(1.62, 1.62, 1.62).note == "38 % less waiting in chats up to 1k tokens (chat)"
    assert told(1.004, 1.004, 1.004).note == "In chats up to 1k tokens (chat)"
    assert told(1.0, 1.0, 1.0, context=99_999, kinds=tuple(PromptKind)).note == (
        "Some answers came faster and some slower in chats longer than 32k tokens (all kinds); drafting goes on by "
        "what it sees in each chat."
    )
    assert told(0.6, 0.6, 0.6).note == (
        "67 % more waiting in chats up to 1k tokens (chat); drafting is turned off there."
    )


def test_slower_that_turns_nothing_off_says_why():
    more = "67 % more waiting in chats up to 1k tokens (copy-edit)."
    untried = told(0.6, 0.6, 0.6, depth=8, auto_depths=(1, 2, 3, 4), kinds=(PromptKind.COPY,))
    assert (untried.text, untried.tone) == ("0.60x: slower", Tone.BAD)
    assert untried.note == f"Other depths were not tried, so nothing is turned off: {more}"
    lifted = told(0.6, 0.6, 0.6, lifted=True, kinds=(PromptKind.COPY,))
    assert lifted.note == f"It drafts all the same, as you wanted: {more}"


def test_answers_of_different_length_are_not_compared():
    found = measurement(2.0, 2.0, 2.0)
    cut = tuple(
        dataclasses.replace(run, stats=dataclasses.replace(run.stats, emitted=50)) if run.depth else run
        for run in found.runs
    )
    assert result_text.headline(dataclasses.replace(found, runs=cut)).text == "Nothing to compare"


@given(st.floats(0.2, 5.0))
def test_no_ratio_is_rounded_across_one(ratio):
    words = told(ratio, ratio, ratio).text
    number = float(words.partition("x")[0]) if words[0].isdigit() else None
    if ratio < 1:
        assert words.endswith("slower")
        assert number < 1
    elif number is not None:
        assert words.endswith("faster")
        assert 1 < number <= ratio + 1e-9


def test_the_ratios_are_named_and_have_ranges():
    words = say(sentences.whole_request)(best(measurement(1.5, 1.6, 1.55)))
    assert words.startswith("Whole request at depth 3: 1.50–1.60x over 3 pairs. Writing alone: 1.7")


def test_acceptance_has_its_ceiling_and_its_sample():
    found = best(measurement(1.5, 1.5, 1.5))
    assert say(sentences.per_step)(found) == "2.6 of 4 tokens per step"
    assert say(sentences.kept)(found) == "54 % of 207 drafts kept"
    few = best(measurement(1.5))
    assert say(sentences.kept)(few).endswith("only 23 steps, so this may change")


def test_a_gap_between_expected_and_measured_is_explained():
    found = measurement(2.0, 2.0, 2.0)
    assert say(sentences.expected)(best(found)) == "expected 2.39x, measured 2.50x in writing alone"
    assert say(sentences.explanation)(best(found), found) == (
        "The whole request gains less than the writing alone: reading the prompt, which takes 17 % of a plain answer's "
        "time, is not made faster."
    )


def test_where_nothing_drafted_was_kept_no_gain_is_told():
    found = measurement(0.5, 0.5, 0.5, accepted_at=(0, 0, 0))
    assert say(sentences.per_step)(best(found)) == "1.0 of 4 tokens per step"
    assert say(sentences.kept)(best(found)) == "0 % of 540 drafts kept"
    assert told(0.5, 0.5, 0.5, accepted_at=(0, 0, 0)).text == "0.50x: slower"


def test_memory_with_and_without():
    found = results.results_of(measurement(1.5, 1.5, 1.5))
    assert say(sentences.memory)(found.headline, found.plain) == ("430 MB with drafting, 400 MB without (30 MB more)")
    unknown = dataclasses.replace(found.headline, peak_bytes=0)
    assert say(sentences.memory)(unknown, found.plain) == ""
    for more in (0, 1, 300_000):  # bytes that nobody sees in the two sizes
        hardly = dataclasses.replace(found.headline, peak_bytes=found.plain.peak_bytes + more)
        assert say(sentences.memory)(hardly, found.plain) == "400 MB with drafting, 400 MB without"


def test_identical_answers_or_the_first_that_differs():
    same, other = measurement(1.5, 1.5, 1.5), measurement(1.5, 1.5, 1.5, differing=1)
    assert say(sentences.identical)(best(same), same) == "identical 3/3"
    assert say(sentences.identical)(best(other), other) == "identical 2/3; the first that differs: chat-0"
    sampled = dataclasses.replace(
        same, temperature=0.7, runs=tuple(dataclasses.replace(run, identical=None) for run in same.runs)
    )
    assert say(sentences.identical)(best(sampled), sampled).startswith("not compared at temperature 0.7")


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.05, ""),
        (0.95, ""),
        (1.06, "MTPLX decodes plainly 1.06x as fast as mlx-lm does (1.06–1.06x over 3 pairs)."),
        (
            0.9,
            (
                "MTPLX decodes plainly 0.90x as fast as mlx-lm does (0.90–0.90x over 3 pairs). Against that, drafting "
                "gains less than is said here."
            ),
        ),
    ],
)
def test_the_cross_check_is_told_when_it_differs_by_more_than_five_percent(ratio, words):
    told_, tone = result_text.cross_check(measurement(1.5, 1.5, 1.5, cross_check=ratio))
    assert told_ == words
    assert (tone == "warning") == (ratio == 0.9)
    assert result_text.cross_check(measurement(1.5, 1.5, 1.5))[0] == ""


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (CALM, ""),
        (SystemState(), ""),
        (SystemState(low_power=True), "Measured under pressure: low-power mode."),
        (SystemState(power=Power.BATTERY), "Measured under pressure: on battery."),
        (SystemState(thermal="slowed to 80 %"), "Measured under pressure: heat: slowed to 80 %."),
        (SystemState(load=3.0, cores=8), ""),
        (SystemState(load=9.2, cores=8), "Measured under pressure: other programs at work."),
        (SystemState(load=3.0), "Measured under pressure: other programs at work."),
    ],
)
def test_pressure_is_marked(before, words):
    assert say(sentences.pressure)(measurement(1.5, 1.5, 1.5, before=before)) == words


def test_what_is_not_known_is_said_to_be_so():
    found = measurement(1.5, 1.5, 1.5, before=SystemState())
    assert say(sentences.conditions)(found) == "power unknown, load unknown"


def test_where_it_was_measured():
    what, where = map(said, sentences.provenance(measurement(1.5, 1.5, 1.5, kinds=(PromptKind.CODE,))))
    assert what == "Toy · float32 · drafts for itself (MTP) · up to 1k · 61 tokens each · temperature 0"
    assert where == "Test Chip · 16.0 GB memory · CPU, float32, OpenBLAS · TestOS 1 · MTPLX 0.1.0"


def test_drafting_that_is_off_says_where_why_and_since_when():
    short, long = measurement(0.6, 0.6, 0.6), measurement(0.6, 0.6, 0.6, context=8192)
    assert result_text.turned_off((short,)) == "off in chats up to 1k tokens: slower here (measured 29 Nov)"
    assert result_text.turned_off((long, short)) == (
        "off in chats up to 1k tokens, in chats up to 8k tokens: slower here (measured 29 Nov)"
    )
    assert result_text.turned_off(()) == ""


# ---------------------------------------------------------------- exactness


def compared(found):
    return {said(about): said(value) for about, value in sentences.compared(found)}


def test_what_is_small_is_not_nothing():
    assert compared(report(distance=3e-7))["Chances of the next word"].startswith("3e-07 apart at most")
    assert compared(report(distance=0.0))["Chances of the next word"].startswith("0 apart at most")


def test_answers_that_part_where_they_may():
    assert compared(report())["Answers at temperature 0"] == "8 of 8 word for word the same"
    assert compared(report(greedy_same=7, greedy_ties=1))["Answers at temperature 0"] == (
        "7 of 8 word for word the same, 1 parted where two words were equally likely"
    )


def test_drawn_words():
    assert compared(report(p_value=0.4))["Words drawn at random"] == (
        "4,000; chance alone makes them as odd as that in 40% of checks"
    )
    assert compared(report(p_value=1e-9))["Words drawn at random"].endswith("in fewer than one of 1,000,000 checks")
    assert compared(report(p_value=None))["Words drawn at random"] == "too few to tell"


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
