"""The methods that a benchmark compares (our engine at a depth, mlx-lm), and the order of their runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import mlx.core as mx
from mlx_lm.generate import stream_generate
from mlx_lm.sample_utils import make_logits_processors, make_sampler
from mlx_lm.tokenizer_utils import TokenizerWrapper

from mtplx_engine.config import SamplerConfig
from mtplx_engine.ipc.protocol import Finished, Generate, Tokens
from mtplx_engine.stats import DecodeStats

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from mtplx_engine.config import DraftCore, DrafterKind
    from mtplx_engine.engine import Engine


_WARM_UP_TOKENS = 16
_THEIR_CHUNK = 2048  # prompt tokens per forward, mlx-lm's default
_NEVER = -100.0  # a bias that keeps answers from ending early, so that all runs have the same length


class TimedAnswer(NamedTuple):
    """One answer of one method.

    Attributes:
        wall_s: Seconds from the call to the last token.
        stats: Counts and times; mlx-lm counts no steps.
        peak_bytes: Peak memory of mlx meanwhile, with the model.
    """

    tokens: tuple[int, ...]
    wall_s: float
    stats: DecodeStats
    peak_bytes: int


class Method(Protocol):
    """A way of decoding.

    Attributes:
        name: As in "mtp depth 3"; no two of a benchmark have the same.
        title: For the progress line, as in "depth 3".
        depth: Draft tokens per verify step, 0 for plain decoding.
    """

    name: str
    title: str
    depth: int

    def run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> TimedAnswer | None:
        """Answer prompt number `prompt` (`ids`) with exactly `tokens` tokens; None soon after it is cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class Slot:
    """One run in the order of a benchmark; the answer of a warm-up is dropped."""

    method: Method
    prompt: int
    tokens: int
    warm_up: bool


def slots(methods: Sequence[Method], prompts: int, tokens: int) -> list[Slot]:
    """Return a short warm-up of every method, then all of them on each prompt, each time starting with another one."""
    order = [Slot(method, 0, min(tokens, _WARM_UP_TOKENS), warm_up=True) for method in methods]
    for prompt in range(prompts):
        shift = prompt % len(methods)
        turned = (*methods[shift:], *methods[:shift])
        order += [Slot(method, prompt, tokens, warm_up=False) for method in turned]
    return order


class _CancelledError(Exception):
    """Raised in a callback to leave mlx-lm's prefill, which has no way to cancel."""


class MlxLm:
    """`mlx_lm.stream_generate` on the engine's weights; cancelling works after each `chunk` prompt tokens."""

    name = "mlx-lm"
    title = "plain mlx-lm"
    depth = 0

    def __init__(self, engine: Engine, chunk: int = _THEIR_CHUNK) -> None:
        self._model = engine.model
        self._chunk = chunk

    def run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> TimedAnswer | None:
        try:
            return self._run(prompt, ids, temperature, tokens, cancelled)
        except _CancelledError:
            return None

    def _run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> TimedAnswer:
        def check(*_progress: int) -> None:
            if cancelled.is_set():
                raise _CancelledError

        # Seeded by the prompt, as ours is.
        mx.random.seed(prompt)
        mx.reset_peak_memory()
        started = time.perf_counter()
        times: list[float] = []
        emitted: list[int] = []
        for response in stream_generate(
            self._model.target.model,
            TokenizerWrapper(self._model.tokenizer),
            ids,
            max_tokens=tokens,
            sampler=make_sampler(temperature),
            logits_processors=make_logits_processors(dict.fromkeys(self._model.end_ids, _NEVER)),
            prefill_step_size=self._chunk,
            prompt_progress_callback=check,
        ):
            check()
            emitted.append(response.token)
            times.append(time.perf_counter())
        stats = DecodeStats(
            prompt_tokens=len(ids),
            emitted=len(emitted),
            decode_s=times[-1] - times[0],
            decode_tokens=len(times) - 1,
            seed=prompt,
        )
        return TimedAnswer(tuple(emitted), times[-1] - started, stats, mx.get_peak_memory())


class Ours:
    """Our engine with one drafter at one depth, or plain decoding without a drafter."""

    def __init__(self, engine: Engine, drafter: DrafterKind | None = None, depth: int = 0) -> None:
        self.name = f"{drafter} depth {depth}" if drafter else "depth 0"
        self.title = f"depth {depth}" if drafter else "plain decoding"
        self.depth = depth
        self._engine = engine
        self._drafter: DraftCore = drafter or "off"

    def run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> TimedAnswer | None:
        """Answer with the engine, without a cached prefix."""
        bias = tuple((token, _NEVER) for token in sorted(self._engine.model.end_ids))
        sampler = SamplerConfig(
            temperature=temperature,
            logit_bias=bias,
            seed=prompt,
            speculative_depth=self.depth,
            draft_core=self._drafter,
        )
        self._engine.forget()
        mx.reset_peak_memory()
        emitted: list[int] = []
        stats = DecodeStats()
        started = time.perf_counter()
        request = Generate(0, (), sampler, max_tokens=tokens)
        for event in self._engine.generate_ids(request, ids, cancelled):
            if isinstance(event, Tokens):
                emitted += event.token_ids
            elif isinstance(event, Finished):
                stats = event.stats
        wall_s = time.perf_counter() - started
        if cancelled.is_set():
            return None
        return TimedAnswer(tuple(emitted), wall_s, stats, mx.get_peak_memory())
