"""Figures of answers for tests, and a month of them for pictures."""

from __future__ import annotations

import dataclasses
import random
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from app.chat.metrics import AnswerRecord
from mtplx_engine.stats import DecodeStats, FinishReason

if TYPE_CHECKING:
    from collections.abc import Iterator


DAY = date(2026, 3, 14)
STATS = DecodeStats(
    prompt_tokens=200,
    cached_tokens=50,
    emitted=101,
    verify_steps=40,
    plain_steps=1,
    drafted=80,
    accepted=60,
    accepted_at=(35, 25),
    ttft_s=0.5,
    prefill_s=0.25,
    decode_s=2.0,
    decode_tokens=100,
    depth="auto",
    drafter="mtp",
)
_BASE = AnswerRecord(
    ended_ms=1_773_478_800_000,
    day=DAY,
    model="Toy",
    revision="abc123",
    quantization="4-bit, group 64",
    speed_key="key",
    backend="CPU, float32, OpenBLAS",
    chip="Toy chip",
    memory=16 << 30,
    system="Linux 6.1",
    sampler="temperature=0.7",
    reason=FinishReason.END,
    version="0.1.0",
    stats=STATS,
)


def figures(stats: dict[str, object] | None = None, **fields: object) -> AnswerRecord:
    """Return an answer of 50 tok/s, unless `stats` and `fields` say otherwise."""
    return dataclasses.replace(_BASE, stats=dataclasses.replace(STATS, **(stats or {})), **fields)


# Name, tokens per second without drafting, how much faster with it, share of drafts accepted.
_MODELS = (
    ("Qwen3.5 4B", 27.0, 1.6, 0.74),
    ("SmolLM2 135M", 118.0, 1.15, 0.52),
    ("Gemma 3 12B", 9.0, 1.4, 0.66),
)
# How often a text is asked for that is so easy to draft.
_EASE = {1.0: 5, 1.25: 4, 1.1: 1, 0.85: 1, 1.5: 1}


def month(last: date, days: int = 30) -> Iterator[AnswerRecord]:
    """Return what somebody asks three models in a month, fewer at weekends and nothing on some days."""
    chance = random.Random(5)
    for back in range(days - 1, -1, -1):
        day = last - timedelta(days=back)
        busy = 3 if day.weekday() >= 5 else 14
        for number in range(0 if back in (11, 18) else chance.randint(busy // 3, busy)):
            yield _answer(chance, day, number)


def _answer(chance: random.Random, day: date, number: int) -> AnswerRecord:
    name, plain, gain, accepted_share = chance.choices(_MODELS, (6, 3, 1))[0]
    ease = chance.choices(list(_EASE), list(_EASE.values()))[0] * chance.uniform(0.85, 1.15)
    emitted = int(chance.lognormvariate(5.3, 0.7)) + 12
    steps = int(emitted / (1 + 2 * accepted_share * min(ease, 1.3)))
    drafted, accepted = 2 * steps, min(emitted - steps, 2 * steps)
    prompt = int(chance.lognormvariate(6.2, 1.2)) + 20
    speed = plain * (1 + (gain - 1) * ease) * chance.uniform(0.92, 1.05)
    prefill_s = prompt / (plain * chance.uniform(9, 12))
    first = min(accepted, int(steps * 0.85))
    return figures(
        {
            "prompt_tokens": prompt,
            "cached_tokens": 0,
            "emitted": emitted,
            "verify_steps": steps,
            "drafted": drafted,
            "accepted": accepted,
            "accepted_at": (first, accepted - first),
            "ttft_s": prefill_s + 0.05,
            "prefill_s": prefill_s,
            "decode_s": emitted / speed,
            "decode_tokens": emitted - 1,
        },
        ended_ms=int(datetime(day.year, day.month, day.day, 9 + number % 12, tzinfo=UTC).timestamp()) * 1000,
        day=day,
        model=name,
        speed_key=f"key of {name}",
    )
