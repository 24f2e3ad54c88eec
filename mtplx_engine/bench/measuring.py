"""A whole measurement of a loaded model: what verifying costs, then plain decoding against each depth."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mtplx_engine import backend, conditions, results
from mtplx_engine.bench import contest, prompts
from mtplx_engine.bench.curves import WIDEST, CostMeter
from mtplx_engine.bench.methods import MlxLm, Ours
from mtplx_engine.cache import TokenCache
from mtplx_engine.config import AUTO_MAX_DEPTH, ChatMessage
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.measurement import Measurement
from mtplx_engine.models import fit
from mtplx_engine.subject import subject_of
from mtplx_engine.trials import Measured, TrialProgress

if TYPE_CHECKING:
    import threading
    from collections.abc import Generator, Iterator

    from mtplx_engine.config import DrafterKind
    from mtplx_engine.engine import Engine
    from mtplx_engine.measurement import MeasuredRun, Ratio, VerifyCurve
    from mtplx_engine.trials import Measure

_SHORT, _LONG = 256, 1024  # tokens in the cache for the curves, where the prompts are no longer
_SLACK = 64  # tokens; a filled prompt is a little shorter than is wanted
_CURVES = 0.1  # of the time, about


def measure(
    engine: Engine, request: Measure, cancelled: threading.Event
) -> Iterator[TrialProgress | Measured]:
    """Measure, and keep what was measured; Measured comes last, unless it is cancelled.

    Args:
        engine: Has loaded the model; what it has kept of chats is dropped.
        request: What to measure.
        cancelled: Ends it within a forward.

    Raises:
        EngineError: NO_MODEL; BAD_REQUEST for numbers that can never work; UNSUPPORTED when nothing drafts for the
            model; CONTEXT_OVERFLOW or TOO_BIG when it cannot take prompts so long.
    """
    drafter = _check(engine, request)
    before = conditions.now()
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
        subject=subject_of(engine.info, drafter),
        taken_ms=round(time.time() * 1000),
        kinds=request.kinds,
        context=request.context,
        tokens=request.tokens,
        temperature=request.temperature,
        runs=runs,
        curves=curves,
        cross_check=cross_check,
        before=before,
        after=conditions.now(),
        auto_depths=tuple(range(1, max(1, min(AUTO_MAX_DEPTH, engine.info.max_depth)) + 1)),
    )
    engine.depths.measurements.keep(measurement)
    yield Measured(request.generation, measurement)


def _check(engine: Engine, request: Measure) -> DrafterKind:
    """Check that a request can be measured, and return who drafts."""
    request.check()
    info, drafter = engine.info, engine.drafters().required(request.drafter)
    if request.context > info.context_window:
        sentence = (
            f"{request.context:,} tokens of context were asked for, and the model reads at most "
            f"{info.context_window:,}. Measure with fewer."
        )
        raise EngineError.of(
            ErrorInfo(
                ErrorKind.CONTEXT_OVERFLOW, sentence, tokens=request.context, window=info.context_window
            )
        )
    # Up to the usual context it has been judged when it was loaded, be it to load it anyway.
    need = engine.fit(request.context)
    if request.context > fit.CONTEXT and need.verdict is fit.Verdict.TOO_BIG:
        raise EngineError(
            ErrorKind.TOO_BIG,
            f"{request.context:,} tokens of context do not fit into memory: {need.in_words}. Measure with fewer.",
        )
    return drafter


def _curves(
    engine: Engine, drafter: DrafterKind, request: Measure, cancelled: threading.Event
) -> Generator[TrialProgress, None, tuple[VerifyCurve, ...] | None]:
    """Time forwards at two lengths of the cache; None when it is cancelled."""
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
    """Hold the contest of the depths; returns its runs and the cross-check, None when it is cancelled."""
    depths = request.depths or range(1, AUTO_MAX_DEPTH + 1)
    plain, reference = Ours(engine), MlxLm(engine, backend.policy().prefill_chunk)
    held = contest.Contest(
        base=plain,
        others=[Ours(engine, drafter, depth) for depth in sorted(set(depths))],
        questions=_questions(engine, request),
        temperature=request.temperature,
        tokens=request.tokens,
        reference=reference,
    )
    for step in held.hold(cancelled, pause_s=contest.PAUSE_S):
        if isinstance(step, contest.Outcome):
            runs = tuple(entry.run for entry in step.entries if entry.method != reference.name)
            return runs, results.decode_ratio(step.pairs(reference, plain))
        fraction = _CURVES + (1 - _CURVES) * step.fraction
        yield TrialProgress(request.generation, fraction, step.what, step.left_s)
    return None


def _questions(engine: Engine, request: Measure) -> list[contest.Question]:
    """Return a question for each pair: those of each kind in turn, so that all kinds see the same machine."""
    length = request.context - request.tokens
    return [
        contest.Question(prompt.id, kind, _filled(engine, prompt, length))
        for number in range(request.pairs)
        for kind in dict.fromkeys(request.kinds)
        for prompt in [prompts.of_kind(kind)[number % len(prompts.of_kind(kind))]]
    ]


def _filled(engine: Engine, prompt: prompts.Prompt, length: int) -> list[int]:
    return prompts.filled(prompt, length, lambda text: engine.encode((ChatMessage("user", text),)))
