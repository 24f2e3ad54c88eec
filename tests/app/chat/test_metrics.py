"""Texts of draft depth, speed and acceptance, and the live meter behind them."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.conversation import MessageStatus, Role
from app.chat.metrics import (
    MEASURING,
    LiveMeter,
    Reading,
    depth_text,
    details_of,
    final_text,
    final_tooltip,
    first_word,
    live_text,
    live_tooltip,
)
from mtplx_engine.config import SamplerConfig
from mtplx_engine.ipc.protocol import DepthChosen, DepthReason
from mtplx_engine.stats import DecodeStats
from tests.support.trees import message


@pytest.mark.parametrize(
    ("depth", "reason", "expected", "words"),
    [
        (2, DepthReason.FASTEST, 1.409, "depth 2: expected 1.40x"),
        (2, DepthReason.FASTEST, None, "depth 2: the fastest here"),
        (0, DepthReason.PARKED, None, "parked: drafting does not pay here"),
        (0, DepthReason.PARKED, 0.997, "parked: drafting does not pay here (expected 0.99x)"),
        (0, DepthReason.PARKED, 1.04, "parked: drafting is not clearly faster here (expected 1.04x)"),
        (0, DepthReason.FASTEST, 1.04, "parked: drafting is not clearly faster here (expected 1.04x)"),
        (0, DepthReason.FASTEST, 1.0, "parked: drafting does not pay here (expected 1.00x)"),
        (0, DepthReason.TURNED_OFF, 0.6, "off: slower here, as a measurement on this machine found"),
        (3, DepthReason.CHOSEN, None, "depth 3: chosen by you"),
        (3, DepthReason.CHOSEN, 0.9, "depth 3: chosen by you (expected 0.90x)"),
        (0, DepthReason.CHOSEN, 1.4, "off: chosen by you"),
        (1, DepthReason.MEASURING, None, "depth 1: still measuring what pays"),
    ],
)
def test_the_reason_is_said_and_no_loss_is_rounded_away(depth, reason, expected, words):
    assert depth_text(DepthChosen(1, depth, reason, expected)) == words


@pytest.mark.parametrize("reason", list(DepthReason))
@pytest.mark.parametrize("depth", [0, 2])
def test_every_reason_has_words(depth, reason):
    assert depth_text(DepthChosen(1, depth, reason))


STATS = DecodeStats(
    prompt_tokens=1200,
    cached_tokens=1000,
    emitted=212,
    verify_steps=80,
    drafted=160,
    accepted=128,
    ttft_s=0.42,
    prefill_s=2.0,
    decode_s=5.0,
    decode_tokens=205,
    seed=7,
    depth="auto",
)
ANSWER = message(
    "a",
    "q",
    Role.ASSISTANT,
    model="SmolLM2",
    stats=STATS,
    thought_ms=3400,
    sampler=SamplerConfig(temperature=0.7, top_p=0.95, seed=7),
)


def test_everything_known_of_a_drafted_answer():
    assert details_of(ANSWER) == (
        ("Model", "SmolLM2"),
        ("Ended", "by itself"),
        ("Thought for", "3.4 s"),
        ("First word after", "0.4 s"),
        ("Question, new", "200 tokens · 100 tok/s"),
        ("Question, reused", "1,000 tokens"),
        ("Answer", "212 tokens"),
        ("Writing", "41 tok/s"),
        ("Accepted", "80 % of 160 drafted"),
        ("Tokens per step", "2.60"),
        ("Draft depth", "automatic"),
        ("Temperature", "0.7"),
        ("Top p", "0.95"),
        ("Seed", "7"),
    )


def test_the_first_word_tells_what_of_it_was_waiting():
    waited = dataclasses.replace(ANSWER, stats=dataclasses.replace(STATS, waited_s=39.5))
    assert dict(details_of(waited))["First word after"] == "39.9 s, 39.5 s of it waiting"


def test_what_was_not_measured_is_left_out():
    stopped = dataclasses.replace(ANSWER, status=MessageStatus.STOPPED, stats=DecodeStats(), sampler=None, thought_ms=0)
    names = [name for name, _ in details_of(stopped)]
    assert names == ["Model", "Ended", "Question, new", "Question, reused", "Answer", "Draft depth"]
    assert dict(details_of(stopped))["Ended"] == "stopped by you"
    assert details_of(message("q", None, status=MessageStatus.STREAMING)) == ()


def feed(meter, steps):
    for at_s, tokens, drafted, accepted in steps:
        meter.add(at_s=at_s, tokens=tokens, drafted=drafted, accepted=accepted)


def test_chunks_of_several_tokens_after_a_long_prefill():
    # 120 tokens in 40 chunks over 2.0 s after 3.0 s of prefill: not 20 (chunks), not 24 (with prefill).
    meter = LiveMeter()
    feed(meter, [(3.0 + i * 2.0 / 39, 3, 2, 2) for i in range(40)])
    reading = meter.reading()
    assert reading.tokens_per_second == pytest.approx(60, rel=0.05)
    assert reading.per_step == pytest.approx(3.0)
    assert reading.acceptance == pytest.approx(1.0)


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [(3.0, 200, 0, 0)],  # one event says nothing about speed, however many tokens it holds
        [(0.0, 1, 0, 0), (0.4, 30, 2, 2)],  # below half a second
        [(0.0, 1, 0, 0), (0.8, 7, 0, 0)],  # below eight tokens
        [(1.0, 9, 0, 0), (1.0, 9, 0, 0)],  # no time between them
    ],
)
def test_measuring_until_there_is_enough(steps):
    meter = LiveMeter()
    feed(meter, steps)
    assert meter.reading() is None
    assert live_text(meter.reading()) == MEASURING


def test_window_forgets_the_slow_beginning():
    meter = LiveMeter()
    feed(meter, [(i * 1.0, 1, 0, 0) for i in range(20)])
    feed(meter, [(19 + i * 0.1, 5, 0, 0) for i in range(1, 41)])
    assert meter.reading().tokens_per_second == pytest.approx(50, rel=0.02)


def test_slow_model_is_measured_over_a_longer_window():
    meter = LiveMeter()
    feed(meter, [(i * 2.0, 1, 0, 0) for i in range(12)])
    assert meter.reading().tokens_per_second == pytest.approx(0.5)
    assert live_text(meter.reading()) == "0.5 tok/s"


def test_plain_decoding_shows_speed_only():
    meter = LiveMeter()
    feed(meter, [(i * 0.05, 1, 0, 0) for i in range(40)])
    assert live_text(meter.reading()) == "20 tok/s"
    assert "per step:" not in live_tooltip(meter.reading())


def test_live_text_reads_like_the_design():
    reading = Reading(42.4, 2.61, 0.713, 412)
    assert live_text(reading) == "42 tok/s · 2.6 per step · 71 %"
    for word in ("tok/s:", "per step:", "71 % of 412 drafts"):
        assert word in live_tooltip(reading)


@given(
    st.lists(st.tuples(st.floats(0.001, 0.5), st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=200),
)
def test_figures_stay_within_what_was_counted(gaps):
    meter, at_s = LiveMeter(), 3.0
    for gap, drafted, accepted in gaps:
        at_s += gap
        kept = min(drafted, accepted)
        meter.add(at_s=at_s, tokens=1 + kept, drafted=drafted, accepted=kept)
    reading = meter.reading()
    if reading is not None:
        assert 0 < reading.tokens_per_second <= 9.001 / min(gap for gap, _, _ in gaps)
        if reading.per_step is not None:
            assert 1 <= reading.per_step <= 9
            assert 0 <= reading.acceptance <= 1


def test_final_line():
    stats = DecodeStats(
        prompt_tokens=400,
        cached_tokens=380,
        emitted=212,
        verify_steps=80,
        drafted=160,
        accepted=128,
        ttft_s=0.84,
        decode_s=5.0,
        decode_tokens=205,
    )
    assert final_text(stats) == "41 tok/s · 2.6 per step · 80 % · 212 tokens"
    tooltip = final_tooltip(stats)
    assert "First word after 0.8 s; question of 400 tokens, 380 of them reused." in tooltip
    assert "80 % of 160 drafts" in tooltip


@pytest.mark.parametrize(("steps", "few"), [(4, True), (49, True), (50, False), (500, False)])
def test_a_share_of_few_steps_says_so_in_the_line_and_every_tooltip_names_its_sample(steps, few):
    stats = DecodeStats(emitted=9, verify_steps=steps, drafted=4 * steps, accepted=steps)
    assert (f"25 % of only {4 * steps} drafts" in final_text(stats)) == few
    assert f"25 % of {4 * steps:,} drafts." in final_tooltip(stats)


def test_the_live_share_names_the_drafts_of_its_window():
    meter = LiveMeter()
    feed(meter, [(i * 0.05, 3, 4, 2) for i in range(40)])
    assert "50 % of 156 drafts" in live_tooltip(meter.reading())


@pytest.mark.parametrize(
    ("waited", "words"),
    [(None, "0.8 s"), (0.0, "0.8 s"), (0.04, "0.9 s"), (39.1, "39.9 s, 39.1 s of it waiting")],
)
def test_the_first_word_is_counted_from_send(waited, words):
    stats = DecodeStats(ttft_s=0.84, waited_s=waited)
    assert first_word(stats) == words
    assert f"First word after {words};" in final_tooltip(stats)
    assert first_word(DecodeStats(waited_s=3.0)) == ""


@pytest.mark.parametrize(
    ("stats", "line"),
    [
        (DecodeStats(), ""),
        (DecodeStats(emitted=1), "1 token"),
        (DecodeStats(emitted=3, decode_s=0.00003, decode_tokens=2, drafted=1, verify_steps=1), "3 tokens"),
        (DecodeStats(emitted=40, decode_s=0.0006, decode_tokens=39, plain_steps=39), "40 tokens"),
        (
            DecodeStats(emitted=9, decode_s=1.0, decode_tokens=8, drafted=8, accepted=4, verify_steps=4),
            "8.0 tok/s · 2.0 per step · 50 % of only 8 drafts · 9 tokens",
        ),
        (
            DecodeStats(emitted=1200, decode_s=10.0, decode_tokens=1199, plain_steps=1199),
            "120 tok/s · 1,200 tokens",
        ),
    ],
)
def test_final_line_claims_nothing_that_was_not_measured(stats, line):
    assert final_text(stats) == line
