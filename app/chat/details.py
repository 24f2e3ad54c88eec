"""Everything that is known of how an answer came to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.chat.conversation import MessageStatus
from app.chat.meters import first_word, measured_speed, speed
from app.translate import tr
from mtplx_engine.words import percent

if TYPE_CHECKING:
    from app.chat.conversation import Message
    from mtplx_engine.config import SamplerConfig
    from mtplx_engine.stats import DecodeStats


def details_of(message: Message) -> tuple[tuple[str, str], ...]:
    """Return names and values, as they are shown; what was not measured is left out."""
    rows = [(tr("Model"), message.model), (tr("Ended"), _reason(message.status))]
    if message.thought_ms:
        rows.append((tr("Thought for"), _seconds(message.thought_ms / 1000)))
    if message.stats is not None:
        rows += _figures(message.stats)
    if message.sampler is not None:
        rows += _sampling(message.sampler)
    return tuple((name, value) for name, value in rows if value)


def _figures(stats: DecodeStats) -> list[tuple[str, str]]:
    fresh = stats.prompt_tokens - stats.cached_tokens
    reading = tr("{count} tokens").format(count=f"{fresh:,}")
    if stats.prefill_tps is not None:
        reading += f" · {speed(stats.prefill_tps)} tok/s"
    writing = measured_speed(stats)
    rows = [
        (tr("First word after"), first_word(stats)),
        (tr("Question, new"), reading),
        (tr("Question, reused"), tr("{count} tokens").format(count=f"{stats.cached_tokens:,}")),
        (tr("Answer"), tr("{count} tokens").format(count=f"{stats.emitted:,}")),
        (tr("Writing"), "" if writing is None else f"{speed(writing)} tok/s"),
    ]
    if stats.acceptance_rate is not None and stats.mean_acceptance_length is not None:
        share = tr("{share} of {count} drafted").format(
            share=percent(stats.acceptance_rate), count=f"{stats.drafted:,}"
        )
        rows += [(tr("Accepted"), share), (tr("Tokens per step"), f"{stats.mean_acceptance_length:.2f}")]
    rows.append((tr("Draft depth"), tr("automatic") if stats.depth == "auto" else stats.depth))
    return rows


def _sampling(sampler: SamplerConfig) -> list[tuple[str, str]]:
    return [
        (tr("Temperature"), f"{sampler.temperature:g}"),
        (tr("Top p"), f"{sampler.top_p:g}" if sampler.top_p < 1 else ""),
        (tr("Top k"), str(sampler.top_k) if sampler.top_k else ""),
        (tr("Min p"), f"{sampler.min_p:g}" if sampler.min_p else ""),
        (tr("Seed"), "" if sampler.seed is None else str(sampler.seed)),
    ]


def _reason(status: MessageStatus) -> str:
    return {
        MessageStatus.DONE: tr("by itself"),
        MessageStatus.STOPPED: tr("stopped by you"),
        MessageStatus.LENGTH: tr("at the length limit"),
        MessageStatus.INTERRUPTED: tr("interrupted when MTPLX closed"),
        MessageStatus.ERROR: tr("with an error"),
    }.get(status, "")


def _seconds(seconds: float) -> str:
    return tr("{seconds} s").format(seconds=f"{seconds:.1f}")
