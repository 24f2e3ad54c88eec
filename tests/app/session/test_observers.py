"""Which answers leave figures, and what of them."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from datetime import datetime
from types import SimpleNamespace

import pytest

from app.chat import generation
from app.chat.metrics import final_tooltip, sampler_text
from app.chat.settings import ChatSettings
from app.session.observers import StatsRecorder
from mtplx_engine.config import SamplerConfig
from mtplx_engine.stats import DecodeStats, FinishReason
from mtplx_engine.util import system
from tests.support.fake_services import MODEL

STATS = DecodeStats(emitted=9, decode_tokens=8, verify_steps=3, drafted=6, accepted=5, drafter="mtp", depth="auto")
KNOWN = dataclasses.replace(MODEL, revision="abc", quantization="4-bit", speed_key="key")


@pytest.fixture
def kept(bench):
    """A bench with a keeper, and the figures that it keeps."""
    StatsRecorder(bench.line, bench.store)
    bench.link.become_ready(KNOWN)
    return bench.store.figures


def test_an_answer_leaves_its_figures_after_it_is_written(bench, kept):
    bench.ask("Count", "One", stats=STATS)
    (made,) = kept
    assert (made.model, made.revision, made.quantization, made.speed_key) == ("Toy", "abc", "4-bit", "key")
    assert (made.reason, made.stats) == (FinishReason.END, STATS)
    assert (made.backend, made.version) == (MODEL.backend, importlib.metadata.version("mtplx"))
    assert (made.memory, made.chip) == (system.this_machine().memory, system.chip_name())
    assert made.sampler == "temperature=0.7, repetition_penalty=1.1"
    assert made.day == datetime.fromtimestamp(made.ended_ms / 1000).astimezone().date()
    assert [name for name, *_ in bench.store.calls[-2:]] == ["finish_answer", "add_stats"]


def test_nothing_of_an_answer_but_figures_is_kept(bench, kept):
    bench.ask("What is my secret?", "A very secret thing.", stats=STATS)
    words = repr(kept[0])
    assert "secret" not in words
    assert bench.session.chat_id not in words
    assert bench.answer.id not in words


@pytest.mark.parametrize("reason", FinishReason)
def test_the_reason_is_the_engines(bench, kept, reason):
    bench.ask("Count", "One", reason=reason, stats=STATS)
    assert [made.reason for made in kept] == [reason]


def test_a_stopped_answer_leaves_what_the_engine_counted(bench, kept):
    bench.actions.send("A long story")
    bench.link.say("Once")
    bench.session.stop()
    assert kept == []
    bench.link.finish(FinishReason.CANCELLED, stats=STATS)
    assert [(made.reason, made.stats) for made in kept] == [(FinishReason.CANCELLED, STATS)]


def test_each_part_of_an_answer_that_is_written_on_counts_for_itself(bench, kept):
    bench.ask("A long story", "Once upon a time", reason=FinishReason.LENGTH, stats=STATS)
    bench.actions.resume(bench.answer.id)
    more = dataclasses.replace(STATS, emitted=4)
    bench.link.say(" there was")
    bench.link.finish(stats=more)
    assert bench.answer.stats.emitted == 13
    assert [made.stats.emitted for made in kept] == [9, 4]


def test_the_time_to_the_first_word_begins_at_send(bench, kept, monkeypatch):
    now_s = 100.0
    monkeypatch.setattr(generation, "time", SimpleNamespace(monotonic=lambda: now_s))
    bench.line.hold("Measuring…")
    bench.actions.send("Count")
    now_s += 39.5
    bench.line.release()
    bench.link.say("One")
    now_s += 5.0
    bench.link.finish(stats=dataclasses.replace(STATS, ttft_s=0.5))
    assert (bench.answer.stats.ttft_s, bench.answer.stats.waited_s) == (0.5, 39.5)
    assert "First word after 40.0 s, 39.5 s of it waiting" in final_tooltip(bench.answer.stats)
    assert (kept[0].stats.ttft_s, kept[0].stats.waited_s) == (40.0, None)


def test_a_stopped_answer_that_waited_says_so_too(bench, kept, monkeypatch):
    now_s = 100.0
    monkeypatch.setattr(generation, "time", SimpleNamespace(monotonic=lambda: now_s))
    bench.store.hold = True
    bench.actions.send("Count")
    now_s += 7.0
    bench.store.release()
    bench.link.say("One")
    bench.session.stop()
    bench.link.finish(FinishReason.CANCELLED, stats=dataclasses.replace(STATS, ttft_s=1.0))
    assert (bench.answer.stats.first_word_s, kept[0].stats.ttft_s) == (8.0, 8.0)


def test_answers_that_failed_or_have_no_token_leave_nothing(bench, kept):
    bench.actions.send("One?")
    bench.link.fail()
    bench.actions.send("Two?")
    bench.link.say("2")
    bench.link.fail()
    bench.actions.send("Three?")
    bench.session.stop()
    bench.link.finish(FinishReason.CANCELLED, stats=DecodeStats(prompt_tokens=9))
    bench.actions.send("Four?")
    bench.link.die()
    assert kept == []


def test_another_chats_sampler_is_told(bench, kept):
    sampler = SamplerConfig(temperature=0.0, seed=7, logit_bias=((5, 1.0),))
    bench.session.set_settings(ChatSettings(sampler=sampler))
    bench.ask("Count", "One", stats=STATS)
    assert kept[0].sampler == "temperature=0, logit_bias"


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (SamplerConfig(), "temperature=0.7"),
        (SamplerConfig(temperature=1, top_p=0.95, top_k=40), "temperature=1, top_p=0.95, top_k=40"),
        (SamplerConfig(min_p=0.05, verify_core="strict"), "temperature=0.7, min_p=0.05, verify_core=strict"),
    ],
)
def test_a_sampler_is_told_in_short(sampler, words):
    assert sampler_text(sampler) == words
