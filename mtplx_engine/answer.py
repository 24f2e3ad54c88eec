"""One answer as a stream of events: decode tokens, turn them into text, split it into thinking and answer, count."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import mlx.core as mx

from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import DepthChosen, Finished, PrefillProgress, Tokens
from mtplx_engine.stats import CycleCounter, FinishReason
from mtplx_engine.text.segments import Kind

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from mtplx_engine.decoding import Decoder, Step
    from mtplx_engine.depth_policy import DepthChooser
    from mtplx_engine.ipc.protocol import AnswerEvent, Generate
    from mtplx_engine.stats import DecodeStats
    from mtplx_engine.text.detokenizer import TextStream
    from mtplx_engine.text.segments import Segment, Segmenter


_CLEAR_EVERY = 256  # cycles between two returns of mlx's unused buffers


def answer_limit(max_tokens: int | None, prompt: int, window: int) -> int:
    """Return how many tokens an answer may have.

    Raises EngineError BAD_REQUEST for a max_tokens below 1; CONTEXT_OVERFLOW when the prompt fills the window.
    """
    if max_tokens is not None and max_tokens < 1:
        raise EngineError(ErrorKind.BAD_REQUEST, f"max_tokens is {max_tokens}, but must be at least 1.")
    if prompt >= window:
        sentence = (
            f"This chat is {prompt:,} tokens long, and the model reads at most {window:,}. "
            "Shorten the message or start a new chat."
        )
        raise EngineError.of(ErrorInfo(ErrorKind.CONTEXT_OVERFLOW, sentence, tokens=prompt, window=window))
    room = window - prompt
    return room if max_tokens is None else min(max_tokens, room)


def check_tokens(prompt: Sequence[int], vocabulary: int) -> None:
    """Check that all tokens of a prompt are in the vocabulary: for others mlx would read out of bounds.

    Raises EngineError BAD_REQUEST for one that is not.
    """
    found = next((token for token in prompt if not 0 <= token < vocabulary), None)
    if found is not None:
        raise EngineError(
            ErrorKind.BAD_REQUEST,
            f"The prompt has the token {found}, but the model has only {vocabulary:,} of them, so its tokenizer does "
            "not fit it. Get the model again.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Runs a new decoder, over the caches of the prefix, for one request."""

    request: Generate
    decoder: Decoder
    text: TextStream
    segments: Segmenter
    stats: AnswerStats
    depths: DepthChooser
    end_ids: frozenset[int]
    limit: int

    def run(self, prompt: list[int], reused: int, chunk: int, cancelled: threading.Event) -> Iterator[AnswerEvent]:
        """Yield the events of the answer; Finished is the last.

        Of the tokens `prompt`, at least one, the cache holds the first `reused`; the prefill takes `chunk` at a time.
        """
        self.stats.start_prefill()
        prefill = self.decoder.prefill(prompt, reused, chunk)
        yield self._progress(reused, prompt, reused)
        for held in prefill:
            yield self._progress(held, prompt, reused)
            if cancelled.is_set():
                break
        if cancelled.is_set():
            yield self._finished(FinishReason.CANCELLED)
        else:
            yield from self._decode(cancelled)

    def _decode(self, cancelled: threading.Event) -> Iterator[AnswerEvent]:
        decoder, stats = self.decoder, self.stats
        reason: FinishReason | None = None
        previous: float | None = None
        cycles = 0
        decoder.dispatch(self._next_depth(in_flight=0))
        yield from self._depth_news()
        while reason is None:
            queued = decoder.can_queue_ahead and self._room(in_flight=1) > 0
            if queued and (queued := self._next_depth(in_flight=1) == 0):
                decoder.dispatch(0)
            step = decoder.read()
            now = stats.now()
            tokens, text, reason = self._take(step)
            stats.cycle(step, len(tokens))
            if previous is not None:
                self.depths.record(step.drafted, step.accepted, now - previous)
            previous, cycles = now, cycles + 1
            if reason is None and cancelled.is_set():
                reason = FinishReason.CANCELLED
            if reason is None and not queued:
                decoder.dispatch(self._next_depth(in_flight=0))
            said, thought, marks = self._divide(self.segments.push(text))
            if tokens:
                accepted = min(step.accepted, len(tokens))
                yield Tokens(self.request.generation, tokens, said, step.drafted, accepted, now, thought, marks)
            yield from self._depth_news()
            if cycles % _CLEAR_EVERY == 0:
                mx.clear_cache()
        yield self._finished(reason)

    def _take(self, step: Step) -> tuple[tuple[int, ...], str, FinishReason | None]:
        """Return the tokens of a step that belong to the answer, their text, and why it ends here, if it does."""
        kept: list[int] = []
        pieces: list[str] = []
        for index, token in enumerate(step.tokens):
            if token in self.end_ids:
                return tuple(kept), "".join(pieces), FinishReason.END
            kept.append(token)
            pieces.append(self.text.push(token, accepted=index < step.accepted))
            if self.text.stopped:
                return tuple(kept), "".join(pieces), FinishReason.STOP
            if self.stats.emitted + len(kept) >= self.limit:
                return tuple(kept), "".join(pieces), FinishReason.LENGTH
        return tuple(kept), "".join(pieces), None

    def _room(self, in_flight: int) -> int:
        return self.limit - self.stats.emitted - in_flight

    def _next_depth(self, in_flight: int) -> int:
        return max(0, min(self.depths.next(), self.decoder.max_depth, self._room(in_flight) - 1))

    def _depth_news(self) -> Iterator[DepthChosen]:
        if (choice := self.depths.changed(self.decoder.max_depth)) is not None:
            yield DepthChosen(self.request.generation, choice.depth, choice.reason, choice.expected)

    def _progress(self, held: int, prompt: list[int], reused: int) -> PrefillProgress:
        return PrefillProgress(self.request.generation, held, len(prompt), reused)

    def _finished(self, reason: FinishReason) -> Finished:
        rest = self.segments.push(self.text.finish()) + self.segments.finish()
        said, thought, marks = self._divide(rest)
        cut = self.text.cut
        return Finished(self.request.generation, reason, self.stats.stats(cut), said, thought, cut, marks)

    def _divide(self, segments: list[Segment]) -> tuple[str, str, tuple[int, ...]]:
        """Return the answer's text, the thinking, and the run lengths of the answer's text (see `Tokens.marks`)."""
        said = [segment for segment in segments if segment.kind is Kind.ANSWER]
        thought = "".join(segment.text for segment in segments if segment.kind is Kind.THINKING)
        if said or thought:
            self.stats.text_shown()
        accepted = b"".join(self.text.accepted(segment.start, len(segment.text)) for segment in said)
        return "".join(segment.text for segment in said), thought, _runs(accepted)


def _runs(accepted: bytes) -> tuple[int, ...]:
    lengths = [len(list(run)) for _, run in groupby(accepted)]
    return (0, *lengths) if accepted[:1] == b"\1" else tuple(lengths)


class AnswerStats:
    """Counts the tokens and measures the times of one answer; its clock starts when it is constructed.

    For the numbers see `stats.DecodeStats`.
    """

    def __init__(
        self,
        prompt_tokens: int,
        cached_tokens: int,
        seed: int,
        depth: str,
        clock: Callable[[], float] = time.perf_counter,
        *,
        drafter: str = "",
    ) -> None:
        self._counter = CycleCounter()
        self._fixed = (prompt_tokens, cached_tokens, seed, depth)
        self._clock = clock
        self._drafter = drafter
        self._start = clock()
        self._prefill_start = self._start
        self._first_cycle: float | None = None
        self._first_event: float | None = None
        self._first_emitted = 0
        self._last_event: float | None = None
        self._first_text: float | None = None
        self._positions: list[int | None] = []  # of each token, its draft position; None when it was not drafted

    @property
    def emitted(self) -> int:
        return self._counter.emitted

    def now(self) -> float:
        return self._clock() - self._start

    def start_prefill(self) -> None:
        self._prefill_start = self._clock()

    def cycle(self, step: Step, kept: int) -> None:
        """Count a cycle of which the first `kept` tokens are emitted."""
        now = self._clock()
        credited = min(step.accepted, kept)
        self._counter.add(tokens=kept, drafted=step.drafted, accepted=credited)
        self._positions += [*range(credited), *[None] * (kept - credited)]
        if self._first_cycle is None:
            self._first_cycle = now
        if kept:  # a cycle of which nothing is emitted is no event
            self._last_event = now
            if self._first_event is None:
                self._first_event, self._first_emitted = now, self.emitted

    def text_shown(self) -> None:
        """Note that text is visible now, for TTFT."""
        if self._first_text is None:
            self._first_text = self._clock()

    def stats(self, cut: int = 0) -> DecodeStats:
        """Return the statistics so far, without the newest `cut` tokens: those of a stop string."""
        counted = self._counter.stats()
        accepted_at = list(counted.accepted_at)
        for position in self._positions[len(self._positions) - cut :]:
            if position is not None:
                accepted_at[position] -= 1
        prompt_tokens, cached_tokens, seed, depth = self._fixed
        prefilled, first, last = self._first_cycle, self._first_event, self._last_event
        return replace(
            counted,
            prompt_tokens=prompt_tokens,
            cached_tokens=cached_tokens,
            emitted=counted.emitted - cut,
            accepted=sum(accepted_at),
            accepted_at=tuple(accepted_at),
            ttft_s=None if self._first_text is None else self._first_text - self._start,
            prefill_s=None if prefilled is None else prefilled - self._prefill_start,
            decode_s=None if first is None or last is None or last == first else last - first,
            decode_tokens=max(0, counted.emitted - cut - self._first_emitted),
            seed=seed,
            depth=depth,
            drafter=self._drafter if counted.drafted else "",
        )
