"""The figures under an answer say what was measured and nothing else."""

from __future__ import annotations

import pytest

from mtplx_engine.cli import output
from mtplx_engine.stats import DecodeStats, FinishReason

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
