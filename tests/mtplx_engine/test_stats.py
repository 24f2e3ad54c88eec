"""The rates follow vLLM's definitions, and what was not measured has none."""

from __future__ import annotations

import pytest

from mtplx_engine.stats import DecodeStats, FinishReason


def test_rates_by_their_definitions() -> None:
    stats = DecodeStats(
        prompt_tokens=120,
        cached_tokens=20,
        emitted=61,
        verify_steps=20,
        drafted=60,
        accepted=40,
        accepted_at=(18, 14, 8),
        prefill_s=0.5,
        decode_s=1.5,
        decode_tokens=60,
    )
    assert stats.acceptance_rate == pytest.approx(40 / 60)
    assert stats.mean_acceptance_length == pytest.approx(1 + 40 / 20)
    assert stats.prefill_tps == pytest.approx(200)
    assert stats.decode_tps == pytest.approx(40)


@pytest.mark.parametrize("name", ["acceptance_rate", "mean_acceptance_length", "prefill_tps", "decode_tps"])
@pytest.mark.parametrize(
    "stats",
    [
        DecodeStats(),
        DecodeStats(prompt_tokens=5, cached_tokens=5, prefill_s=0.1, decode_s=0.1, decode_tokens=0),
        DecodeStats(prompt_tokens=5, emitted=1, plain_steps=1),
        DecodeStats(prompt_tokens=5, decode_tokens=3, prefill_s=0.0, decode_s=0.0),
    ],
)
def test_what_was_not_measured_is_not_a_number(stats: DecodeStats, name: str) -> None:
    assert getattr(stats, name) is None


def test_the_reasons_are_the_words_of_the_command_line() -> None:
    assert [str(reason) for reason in FinishReason] == ["end", "stop", "length", "cancelled"]


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [("", "mtp", "mtp"), ("mtp", "", "mtp"), ("", "", ""), ("mtp", "mtp", "mtp")],
)
def test_an_answer_in_two_parts_was_drafted_by_whoever_drafted_any_of_it(first: str, second: str, whole: str) -> None:
    assert DecodeStats(drafter=first).followed_by(DecodeStats(drafter=second)).drafter == whole
