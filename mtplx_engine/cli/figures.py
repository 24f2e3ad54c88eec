"""The line of figures under an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.stats import FinishReason

if TYPE_CHECKING:
    from mtplx_engine.stats import DecodeStats

_ENDINGS = {
    FinishReason.LENGTH: "cut off at the limit",
    FinishReason.CANCELLED: "stopped",
}


def text(stats: DecodeStats, reason: FinishReason) -> str:
    """Return the figures, as in "42 tok/s · 2.6 per step · 71 % of drafts kept · 128 tokens".

    Plain decoding has no steps and drafts to speak of; an answer of one token has no speed.
    """
    parts = []
    if stats.decode_tps is not None:
        parts.append(
            f"{stats.decode_tps:.0f} tok/s" if stats.decode_tps >= 10 else f"{stats.decode_tps:.2g} tok/s"
        )
    if stats.mean_acceptance_length is not None and stats.acceptance_rate is not None:
        parts.append(f"{stats.mean_acceptance_length:.1f} per step")
        parts.append(f"{100 * stats.acceptance_rate:.0f} % of drafts kept")
    parts.append("1 token" if stats.emitted == 1 else f"{stats.emitted} tokens")
    if reason in _ENDINGS:
        parts.append(_ENDINGS[reason])
    return " · ".join(parts)
