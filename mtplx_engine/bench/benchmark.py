"""The paired A/B benchmark, the cost curve of the verify step, and `measure`, which runs both for a model."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import mlx.core as mx

from mtplx_engine import backend
from mtplx_engine.bench import prompts
from mtplx_engine.bench.methods import MlxLm, Ours, slots
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import AUTO_MAX_DEPTH, ChatMessage, SamplerConfig
from mtplx_engine.decoding import Decoder
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import Measured, TrialProgress
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import LEAST_PAIRS, MeasuredRun, Measurement, VerifyCurve
from mtplx_engine.models import memory_fit
from mtplx_engine.sampling import Shaper
from mtplx_engine.util import system

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Generator, Iterator, Sequence

    from mtplx_engine.bench.methods import Method, Slot, TimedAnswer
    from mtplx_engine.config import DrafterKind
    from mtplx_engine.draft.drafter import Drafter
    from mtplx_engine.engine import Engine
    from mtplx_engine.ipc.protocol import Measure
    from mtplx_engine.measure.measurement import PromptKind, Ratio
    from mtplx_engine.models.target import Target


PAUSE_S = 0.2  # before each answer, so that the system catches up on deferred work


@dataclass(frozen=True, slots=True)
class BenchmarkPrompt:
    """The prompt of one pair."""

    prompt: str
    kind: PromptKind
    ids: list[int]


class Progress(NamedTuple):
    """Progress of a benchmark: 0..1 of its time, the next step, and the seconds left, None when unknown."""

    fraction: float
    what: str
    left_s: float | None


class Entry(NamedTuple):
    """One answer of a benchmark, by the method of this name.

    `run.identical` compares its tokens with those of the base in the same pair.
    """

    method: str
    tokens: tuple[int, ...]
    run: MeasuredRun


class BenchmarkRuns(NamedTuple):
    """The answers of a benchmark, in the order in which they were generated."""

    entries: tuple[Entry, ...]

    def pairs(self, base: Method, method: Method) -> list[tuple[MeasuredRun, MeasuredRun]]:
        """Return the runs of two methods on the same prompts, the base's first in each pair."""
        based = {entry.run.pair: entry.run for entry in self.entries if entry.method == base.name}
        runs = [entry.run for entry in self.entries if entry.method == method.name]
        return [(based[run.pair], run) for run in runs if run.pair in based]


@dataclass(frozen=True, slots=True)
class PairedBenchmark:
    """Methods that answer the same prompts in turn.

    Attributes:
        base: The method that the others are compared with.
        prompts: One for each pair; all answers have `tokens` tokens.
        reference: A method that takes part in only as many pairs as a range needs.
    """

    base: Method
    others: Sequence[Method]
    prompts: Sequence[BenchmarkPrompt]
    temperature: float
    tokens: int
    reference: Method | None = None

    def run(
        self,
        cancelled: threading.Event,
        *,
        pause_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> Iterator[Progress | BenchmarkRuns]:
        """Let all methods answer all prompts in turn; BenchmarkRuns comes last, unless it is cancelled.

        Cancelling works within a forward. `pause_s` seconds pass before each answer, by the monotonic `clock`.
        """
        order = self._order()
        answers: list[tuple[Slot, TimedAnswer]] = []
        timer = _Timer(order, clock)
        for slot in order:
            yield Progress(timer.fraction, self._step(slot), timer.left_s)
            if cancelled.wait(pause_s):
                return
            ids = self.prompts[slot.prompt].ids
            answer = slot.method.run(slot.prompt, ids, self.temperature, slot.tokens, cancelled)
            if answer is None:
                return
            timer.count()
            if not slot.warm_up:
                answers.append((slot, answer))
        based = {slot.prompt: answer.tokens for slot, answer in answers if slot.method is self.base}
        yield BenchmarkRuns(tuple(self._entry(slot, answer, based[slot.prompt]) for slot, answer in answers))

    def _order(self) -> list[Slot]:
        methods = [self.base, *self.others, *([self.reference] if self.reference else [])]
        order = slots(methods, len(self.prompts), self.tokens)
        return [slot for slot in order if slot.method is not self.reference or slot.prompt < LEAST_PAIRS]

    def _step(self, slot: Slot) -> str:
        return "warming up" if slot.warm_up else f"{slot.method.title}, {self.prompts[slot.prompt].kind}"

    def _entry(self, slot: Slot, answer: TimedAnswer, based: tuple[int, ...]) -> Entry:
        prompt = self.prompts[slot.prompt]
        compared = slot.method is not self.base and self.temperature == 0
        run = MeasuredRun(
            pair=slot.prompt,
            prompt=prompt.prompt,
            kind=prompt.kind,
            depth=slot.method.depth,
            wall_s=answer.wall_s,
            stats=answer.stats,
            peak_bytes=answer.peak_bytes,
            identical=answer.tokens == based if compared else None,
        )
        return Entry(slot.method.name, answer.tokens, run)


class _Timer:
    """Estimates the time left from the mean times of each method so far.

    Attributes:
        fraction: 0..1 of the time; never falls.
        left_s: Seconds that the slots left take; None until the first that is no warm-up.
    """

    def __init__(self, order: Sequence[Slot], clock: Callable[[], float]) -> None:
        self._order = order
        self._clock = clock
        self._start = self._last = clock()
        self._done = 0
        self._times: dict[str, list[float]] = {}
        self.fraction = 0.0
        self.left_s: float | None = None

    def count(self) -> None:
        now = self._clock()
        slot = self._order[self._done]
        if not slot.warm_up:
            self._times.setdefault(slot.method.name, []).append(now - self._last)
        self._last = now
        self._done += 1
        if self._times:
            means = {name: statistics.fmean(times) for name, times in self._times.items()}
            usual = statistics.fmean(means.values())
            self.left_s = sum(means.get(slot.method.name, usual) for slot in self._order[self._done :])
            passed = now - self._start
            self.fraction = max(self.fraction, passed / (passed + self.left_s) if passed else 0.0)


WIDEST = 8
_REPEATS = 5
_DRAFTS = 4  # tokens of a timed draft
_GREEDY = SamplerConfig(temperature=0.0)


class CostMeter:
    """Times forwards of a model, and drafts for it by a drafter that has the pairs of all cached tokens."""

    def __init__(
        self,
        target: Target,
        cache: TokenCache,
        drafter: Drafter,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._target = target
        self._cache = cache
        self._drafter = drafter
        self._clock = clock
        self._shaper = Shaper(_GREEDY, target.vocabulary)

    def read(self, text: Sequence[int], length: int, chunk: int) -> Iterator[int]:
        """Prefill a text by forwards of `chunk` tokens until `length` of its tokens are cached.

        Returns:
            An iterator over the number of cached tokens, one item a forward; stopping it ends the prefill.
        """
        decoder = Decoder(self._target, self._cache, self._drafter, _GREEDY, seed=0)
        return decoder.prefill(text[: length + 1], self._cache.length, chunk)

    def curve(self, tokens: Sequence[int], cancelled: threading.Event) -> VerifyCurve | None:
        """Time forwards over the first 1, 2, ... of 8 tokens, in turn, and restore cache and drafter.

        `tokens` are the continuation of the cached text. None soon after it is cancelled.
        """
        forwards: list[list[float]] = [[] for _ in range(WIDEST)]
        drafts: list[float] = []
        for repeat in range(_REPEATS + 1):
            for width in range(1, WIDEST + 1):
                if cancelled.is_set():
                    return None
                seconds = self._forward_s(mx.array(list(tokens[:width]), mx.int32))
                if repeat:  # the first round warms up
                    forwards[width - 1].append(seconds)
            draft_s = self._draft_s(*tokens[:2])
            if repeat and draft_s is not None:
                drafts.append(draft_s)
        return VerifyCurve(
            context=self._cache.length,
            seconds=tuple(map(statistics.median, forwards)),
            draft_s=statistics.median(drafts) if drafts else None,
        )

    def _forward_s(self, tokens: mx.array) -> float:
        length = self._cache.length
        mx.eval(tokens)
        started = self._clock()
        _hidden, logits = self._target.verify(tokens, self._cache, strict=False)
        mx.eval(logits)
        seconds = self._clock() - started
        self._cache.trim_to(length)
        return seconds

    def _draft_s(self, token: int, following: int) -> float | None:
        """Return seconds per drafted token after two others; None where the drafter proposes nothing."""
        length, pairs = self._cache.length, self._drafter.pairs
        hidden, _logits = self._target.verify(mx.array([token], mx.int32), self._cache, strict=False)
        mx.eval(hidden)
        self._drafter.extend(hidden, [following])
        started = self._clock()
        draft = self._drafter.propose(_DRAFTS, self._shaper, None, None) if self._drafter.max_depth else None
        if draft is not None:
            mx.eval(draft.tokens)
        seconds = self._clock() - started
        self._drafter.trim_to(pairs)
        self._cache.trim_to(length)
        return None if draft is None else seconds / draft.tokens.size


_SHORT, _LONG = 256, 1024  # tokens in the cache for the curves, where the prompts are no longer
_SLACK = 64  # tokens; a filled prompt is a little shorter than asked for
_CURVES = 0.1  # share of the time, about


def measure(engine: Engine, request: Measure, cancelled: threading.Event) -> Iterator[TrialProgress | Measured]:
    """Measure a model and store the measurement; Measured comes last, unless it is cancelled within a forward.

    The prefix cache of the engine is dropped.

    Raises:
        EngineError: NO_MODEL; BAD_REQUEST for numbers that can never work; UNSUPPORTED when nothing drafts for the
            model; CONTEXT_OVERFLOW or TOO_BIG when it cannot take prompts so long.
    """
    drafter = _check(engine, request)
    before = system.system_state()
    engine.forget()
    try:
        curves = yield from _curves(engine, drafter, request, cancelled)
        found = None if curves is None else (yield from _runs(engine, drafter, request, cancelled))
    finally:
        engine.forget()
    if curves is None or found is None:
        return
    runs, cross_check = found
    measurement = Measurement(
        subject=engine.info.benchmark_subject(drafter),
        taken_ms=round(time.time() * 1000),
        kinds=request.kinds,
        context=request.context,
        tokens=request.tokens,
        temperature=request.temperature,
        runs=runs,
        curves=curves,
        cross_check=cross_check,
        before=before,
        after=system.system_state(),
        auto_depths=tuple(range(1, max(1, min(AUTO_MAX_DEPTH, engine.info.max_depth)) + 1)),
    )
    engine.depths.measurements.keep(measurement)
    yield Measured(request.generation, measurement)


def _check(engine: Engine, request: Measure) -> DrafterKind:
    request.check()
    info, drafter = engine.info, engine.drafters().required(request.drafter)
    if request.context > info.context_window:
        sentence = (
            f"{request.context:,} tokens of context were asked for, and the model reads at most "
            f"{info.context_window:,}. Measure with fewer."
        )
        raise EngineError.of(
            ErrorInfo(ErrorKind.CONTEXT_OVERFLOW, sentence, tokens=request.context, window=info.context_window)
        )
    # Up to the usual context memory was checked at loading, even if it was loaded anyway.
    need = engine.fit(request.context)
    if request.context > memory_fit.CONTEXT and need.verdict is memory_fit.MemoryVerdict.TOO_BIG:
        raise EngineError(
            ErrorKind.TOO_BIG,
            f"{request.context:,} tokens of context do not fit into memory: {need.in_words}. Measure with fewer.",
        )
    return drafter


def _curves(
    engine: Engine, drafter: DrafterKind, request: Measure, cancelled: threading.Event
) -> Generator[TrialProgress, None, tuple[VerifyCurve, ...] | None]:
    """Measure cost curves at two lengths of the cache; returns None when cancelled."""
    room = engine.info.context_window - WIDEST - 1
    longest = min(max(_LONG, request.context), room)
    text = _filled(engine, prompts.of_kind(request.kinds[0])[0], longest + _SLACK)
    longest = min(longest, len(text) - WIDEST - 1)
    chunk = backend.policy().prefill_chunk
    target = engine.model.target
    meter = CostMeter(target, TokenCache(target.new_layers()), engine.drafters().new(drafter))
    curves = []
    for length in sorted({min(_SHORT, longest), longest}):
        for read in meter.read(text, length, chunk):
            fraction = _CURVES * read / longest
            yield TrialProgress(request.generation, fraction, "what verifying costs", None)
            if cancelled.is_set():
                return None
        curve = meter.curve(text[length:], cancelled)
        if curve is None:
            return None
        curves.append(curve)
    return tuple(curves)


def _runs(
    engine: Engine, drafter: DrafterKind, request: Measure, cancelled: threading.Event
) -> Generator[TrialProgress, None, tuple[tuple[MeasuredRun, ...], Ratio | None] | None]:
    """Run the benchmark of the depths; returns its runs and the cross-check, None when cancelled."""
    depths = request.depths or range(1, AUTO_MAX_DEPTH + 1)
    plain, reference = Ours(engine), MlxLm(engine, backend.policy().prefill_chunk)
    benchmark = PairedBenchmark(
        base=plain,
        others=[Ours(engine, drafter, depth) for depth in sorted(set(depths))],
        prompts=_prompts(engine, request),
        temperature=request.temperature,
        tokens=request.tokens,
        reference=reference,
    )
    for step in benchmark.run(cancelled, pause_s=PAUSE_S):
        if isinstance(step, BenchmarkRuns):
            runs = tuple(entry.run for entry in step.entries if entry.method != reference.name)
            return runs, results.decode_ratio(step.pairs(reference, plain))
        fraction = _CURVES + (1 - _CURVES) * step.fraction
        yield TrialProgress(request.generation, fraction, step.what, step.left_s)
    return None


def _prompts(engine: Engine, request: Measure) -> list[BenchmarkPrompt]:
    """Return a prompt for each pair, the kinds in turn, so that all kinds see the same state of the machine."""
    length = request.context - request.tokens
    return [
        BenchmarkPrompt(prompt.id, kind, _filled(engine, prompt, length))
        for number in range(request.pairs)
        for kind in dict.fromkeys(request.kinds)
        for prompt in [prompts.of_kind(kind)[number % len(prompts.of_kind(kind))]]
    ]


def _filled(engine: Engine, prompt: prompts.Prompt, length: int) -> list[int]:
    return prompts.filled(prompt, length, lambda text: engine.encode((ChatMessage("user", text),)))
