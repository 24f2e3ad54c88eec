"""What is kept of an answer when its text is gone: figures, and nothing that says what it was about."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from mtplx_engine.config import SamplerConfig

if TYPE_CHECKING:
    from datetime import date

    from mtplx_engine.stats import DecodeStats, FinishReason

_LAW: Final = (
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "draft_core",
    "verify_core",
)


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """One answer in figures; one that is written on after Stop counts as another.

    Attributes:
        ended_ms: Wall clock in ms since 1970, UTC.
        day: The date on the person's calendar when it ended.
        model: Name of the model.
        revision: Of its repository, "" when it is not known.
        quantization: How its weights are stored, as in "4-bit, group 64".
        speed_key: Stands for the model's files and the machine, as in `ModelInfo.speed_key`.
        backend: Device, dtype and BLAS in words.
        chip: Name of the processor, "" when the system does not tell.
        memory: Bytes that the machine has.
        system: Name and version of the operating system.
        sampler: How tokens were chosen, as `sampler_words` says it.
        reason: Why it ended.
        version: Of MTPLX.
        stats: Counts and times; here `ttft_s` is the whole time since the question was sent.
    """

    ended_ms: int
    day: date
    model: str
    revision: str
    quantization: str
    speed_key: str
    backend: str
    chip: str
    memory: int
    system: str
    sampler: str
    reason: FinishReason
    version: str
    stats: DecodeStats


def sampler_words(sampler: SamplerConfig) -> str:
    """Return in short how tokens are chosen, as in "temperature=0.7, top_p=0.95"; of a bias only that there is one."""
    usual = SamplerConfig()
    changed = {
        each.name for each in fields(sampler) if getattr(sampler, each.name) != getattr(usual, each.name)
    }
    words = [f"temperature={sampler.temperature:g}"]
    words += [f"{name}={getattr(sampler, name)}" for name in _LAW if name in changed]
    return ", ".join(words + ["logit_bias"] * bool(sampler.logit_bias))
