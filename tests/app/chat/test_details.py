"""The details say what was measured, and nothing that was not."""

from __future__ import annotations

import dataclasses

from app.chat.conversation import MessageStatus, Role
from app.chat.details import details_of
from mtplx_engine.config import SamplerConfig
from mtplx_engine.stats import DecodeStats
from tests.support.trees import message

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
    stopped = dataclasses.replace(
        ANSWER, status=MessageStatus.STOPPED, stats=DecodeStats(), sampler=None, thought_ms=0
    )
    names = [name for name, _ in details_of(stopped)]
    assert names == ["Model", "Ended", "Question, new", "Question, reused", "Answer", "Draft depth"]
    assert dict(details_of(stopped))["Ended"] == "stopped by you"
    assert details_of(message("q", None, status=MessageStatus.STREAMING)) == ()
