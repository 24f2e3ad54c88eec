"""Speed, acceptance and counts of answers: live measurement, records for the history, and their texts. No Qt."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from app.chat.conversation import MessageStatus
from app.i18n import marked, tr
from mtplx_engine.config import SamplerConfig
from mtplx_engine.ipc.protocol import DepthReason
from mtplx_engine.measure.measurement import FEW_STEPS, times
from mtplx_engine.stats import CycleCounter
from mtplx_engine.util.formatting import percent

if TYPE_CHECKING:
    from datetime import date

    from app.chat.conversation import Message
    from mtplx_engine.ipc.protocol import DepthChosen
    from mtplx_engine.stats import DecodeStats, FinishReason


_SAMPLING_FIELDS: Final = (
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
class AnswerRecord:
    """Statistics of one answer; a continuation after Stop counts as another answer.

    Attributes:
        ended_ms: Wall clock in ms since 1970, UTC.
        day: Local date when it ended.
        revision: Revision of its repository, "" when unknown.
        quantization: How its weights are stored, as in "4-bit, group 64".
        speed_key: Key of the model's files and the machine, as in `ModelInfo.speed_key`.
        backend: Device, dtype and BLAS as text.
        chip: Name of the processor, "" when unknown.
        memory: Memory of the machine in bytes.
        system: Name and version of the operating system.
        version: Of MTPLX.
        stats: Counts and times; here `ttft_s` includes the time in the queue.
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


def sampler_text(sampler: SamplerConfig) -> str:
    """Return the sampling settings in short, as in "temperature=0.7, top_p=0.95"; of a bias only that there is one."""
    usual = SamplerConfig()
    changed = {each.name for each in fields(sampler) if getattr(sampler, each.name) != getattr(usual, each.name)}
    words = [f"temperature={sampler.temperature:g}"]
    words += [f"{name}={getattr(sampler, name)}" for name in _SAMPLING_FIELDS if name in changed]
    return ", ".join(words + ["logit_bias"] * bool(sampler.logit_bias))


_DEEP = {
    DepthReason.MEASURING: marked("depth {depth}: still measuring what pays"),
    DepthReason.FASTEST: marked("depth {depth}: the fastest here"),
    DepthReason.CHOSEN: marked("depth {depth}: chosen by you"),
    DepthReason.REPEATABLE: marked("depth {depth}: kept, so that the seed gives the same text again"),
}
_PLAIN = {
    DepthReason.MEASURING: marked("not drafting: still measuring what pays"),
    DepthReason.FASTEST: marked("parked: drafting does not pay here"),
    DepthReason.PARKED: marked("parked: drafting does not pay here"),
    DepthReason.TURNED_OFF: marked("off: slower here, as a measurement on this machine found"),
    DepthReason.CHOSEN: marked("off: chosen by you"),
    DepthReason.REPEATABLE: marked("off: kept, so that the seed gives the same text again"),
    DepthReason.NO_DRAFTER: marked("plain decoding: this model has nothing to draft with"),
}
_GAINS_LITTLE = marked("parked: drafting is not clearly faster here")
# Only these reasons are about speed.
_PARKED = (DepthReason.FASTEST, DepthReason.PARKED)
_BY_SPEED = (*_PARKED, DepthReason.MEASURING)


def depth_text(chosen: DepthChosen) -> str:
    """Return one line, as in "depth 2: expected 1.40x" or "parked: drafting does not pay here (expected 0.93x)"."""
    expected = "" if chosen.expected is None else times(chosen.expected)
    if chosen.depth and expected and chosen.reason is DepthReason.FASTEST:
        return tr("depth {depth}: expected {expected}").format(depth=chosen.depth, expected=expected)
    words = _DEEP if chosen.depth and chosen.reason in _DEEP else _PLAIN
    says_no_loss = (chosen.expected or 0.0) > 1 and not chosen.depth and chosen.reason in _PARKED
    why = tr(_GAINS_LITTLE if says_no_loss else words[chosen.reason]).format(depth=chosen.depth)
    if expected and (chosen.depth or chosen.reason in _BY_SPEED):
        return tr("{why} (expected {expected})").format(why=why, expected=expected)
    return why


WINDOW_S = 3.0
ENOUGH_S = 0.5
ENOUGH_TOKENS = 8
ENOUGH_WRITING_S = 0.05  # of a whole answer, measured from its first token on
_LEAST_WAIT_S = 0.05  # a shorter wait is not shown
MEASURING = marked("measuring…")


@dataclass(frozen=True, slots=True)
class Reading:
    """Live speed and acceptance of the last seconds.

    Attributes:
        tokens_per_second: Decode speed over the window.
        per_step: Mean acceptance length, 1 + A / V; None for plain decoding.
        acceptance: A / D, 0..1; None for plain decoding.
        drafted: D, the sample of the acceptance.
    """

    tokens_per_second: float
    per_step: float | None = None
    acceptance: float | None = None
    drafted: int = 0


@dataclass(frozen=True, slots=True)
class _Step:
    at_s: float
    tokens: int
    drafted: int
    accepted: int


class LiveMeter:
    """Counts an answer while it is written: all of it, and its last `WINDOW_S` seconds for speed and acceptance.

    The oldest step of the window only marks its start: its tokens came before the measured time, which keeps prefill
    out of the speed. The window reaches further back while it would hold fewer than `ENOUGH_TOKENS`.
    """

    def __init__(self) -> None:
        self._all = CycleCounter()
        self._steps: deque[_Step] = deque()
        self._tokens = 0  # of all steps but the oldest

    def add(self, *, at_s: float, tokens: int, drafted: int, accepted: int) -> None:
        """Count one decode cycle that ended `at_s` seconds after the request; `drafted` is 0 for a plain step."""
        self._all.add(tokens=tokens, drafted=drafted, accepted=accepted)
        if self._steps:
            self._tokens += tokens
        self._steps.append(_Step(at_s, tokens, drafted, accepted))
        while len(self._steps) > 2 and self._enough_without_oldest():
            self._steps.popleft()
            self._tokens -= self._steps[0].tokens

    def stats(self) -> DecodeStats:
        return self._all.stats()

    def reading(self) -> Reading | None:
        """Return speed and acceptance of the last seconds; None while there are too few tokens."""
        if len(self._steps) < 2:
            return None
        span = self._steps[-1].at_s - self._steps[0].at_s
        if span < ENOUGH_S or self._tokens < ENOUGH_TOKENS:
            return None
        counted = list(self._steps)[1:]
        verify_steps = sum(1 for step in counted if step.drafted)
        if not verify_steps:
            return Reading(self._tokens / span)
        accepted = sum(step.accepted for step in counted)
        drafted = sum(step.drafted for step in counted)
        return Reading(self._tokens / span, 1 + accepted / verify_steps, accepted / drafted, drafted)

    def _enough_without_oldest(self) -> bool:
        second, last = self._steps[1], self._steps[-1]
        return last.at_s - second.at_s >= WINDOW_S and self._tokens - second.tokens >= ENOUGH_TOKENS


def live_text(reading: Reading | None) -> str:
    """Return the live metrics, as in "42 tok/s · 2.6 per step · 71 %"."""
    if reading is None:
        return tr(MEASURING)
    return " · ".join(_rates(reading.tokens_per_second, reading.per_step, reading.acceptance))


def final_text(stats: DecodeStats) -> str:
    """Return the line under a finished answer, as in "41 tok/s · 2.6 per step · 71 % · 212 tokens".

    After few verify steps it tells of how many drafted tokens the share is.
    """
    enough = stats.drafted >= ENOUGH_TOKENS
    parts = _rates(
        measured_speed(stats),
        stats.mean_acceptance_length if enough else None,
        stats.acceptance_rate if enough else None,
    )
    if enough and stats.verify_steps < FEW_STEPS:
        parts[-1] = tr("{share} of only {count} drafts").format(share=parts[-1], count=stats.drafted)
    if stats.emitted:
        parts.append(_tokens(stats.emitted))
    return " · ".join(parts)


def measured_speed(stats: DecodeStats) -> float | None:
    """Return the decode speed in tokens per second; None for too few tokens."""
    is_enough = stats.decode_tokens >= ENOUGH_TOKENS and (stats.decode_s or 0.0) >= ENOUGH_WRITING_S
    return stats.decode_tps if is_enough else None


def live_tooltip(reading: Reading | None, depth: DepthChosen | None = None) -> str:
    if reading is None:
        lines = [tr("The speed shows after half a second and eight tokens.")]
    else:
        speed_line = tr("tok/s: tokens per second over the last {seconds} seconds of writing.")
        lines = [
            speed_line.format(seconds=f"{WINDOW_S:.0f}"),
            *_draft_lines(reading.acceptance, reading.drafted),
        ]
    if depth is not None:
        lines.append(tr("Drafting – {why}.").format(why=depth_text(depth)))
    return "\n".join(lines)


def final_tooltip(stats: DecodeStats) -> str:
    """Return an explanation of the metrics under an answer, with the time to the first token."""
    lines = []
    if measured_speed(stats) is not None:
        lines.append(tr("tok/s: tokens per second while writing, reading the question not counted."))
    lines += _draft_lines(stats.acceptance_rate, stats.drafted)
    if stats.ttft_s is not None:
        reused = tr(", {count} of them reused").format(count=f"{stats.cached_tokens:,}")
        lines.append(
            tr("First word after {time}; question of {tokens}{reused}.").format(
                time=first_word(stats),
                tokens=_tokens(stats.prompt_tokens),
                reused=reused if stats.cached_tokens else "",
            )
        )
    return "\n".join(lines)


def first_word(stats: DecodeStats) -> str:
    """Return the time from Send to the first token and its share in the queue; "" when unknown."""
    if stats.first_word_s is None:
        return ""
    took = tr("{seconds} s").format(seconds=f"{stats.first_word_s:.1f}")
    waited = stats.waited_s or 0.0
    if waited < _LEAST_WAIT_S:
        return took
    return tr("{time}, {seconds} s of it waiting").format(time=took, seconds=f"{waited:.1f}")


def _tokens(count: int) -> str:
    return tr("1 token") if count == 1 else tr("{count} tokens").format(count=f"{count:,}")


def _draft_lines(acceptance: float | None, drafted: int) -> list[str]:
    if acceptance is None:
        return [tr("Plain decoding: the model drafts nothing ahead.")]
    return [
        tr("per step: tokens that one step of the model yields on average, the kept drafted ones and one more."),
        tr("%: how many of the drafted tokens the model kept: {share} of {count} drafts.").format(
            share=percent(acceptance), count=f"{drafted:,}"
        ),
    ]


def _rates(tokens_per_second: float | None, per_step: float | None, acceptance: float | None) -> list[str]:
    parts = []
    if tokens_per_second is not None:
        parts.append(tr("{speed} tok/s").format(speed=speed(tokens_per_second)))
    if per_step is not None and acceptance is not None:
        parts += [tr("{count} per step").format(count=f"{per_step:.1f}"), percent(acceptance)]
    return parts


def speed(tokens_per_second: float) -> str:
    """Return tokens per second with two significant digits: a slow model is never "0.0"."""
    if tokens_per_second >= 9.95:
        return f"{tokens_per_second:,.0f}"
    return f"{tokens_per_second:.1f}" if tokens_per_second >= 0.95 else f"{tokens_per_second:.2g}"


def details_of(message: Message) -> tuple[tuple[str, str], ...]:
    """Return the rows of the details of an answer, name and value; unmeasured ones are left out."""
    rows = [(tr("Model"), message.model), (tr("Ended"), _reason(message.status))]
    if message.thought_ms:
        rows.append((tr("Thought for"), _seconds(message.thought_ms / 1000)))
    if message.stats is not None:
        rows += _stats_rows(message.stats)
    if message.sampler is not None:
        rows += _sampler_rows(message.sampler)
    return tuple((name, value) for name, value in rows if value)


def _stats_rows(stats: DecodeStats) -> list[tuple[str, str]]:
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


def _sampler_rows(sampler: SamplerConfig) -> list[tuple[str, str]]:
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
