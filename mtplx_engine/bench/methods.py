"""The ways of decoding that are compared: plain mlx-lm, and our loop at each depth, on the same weights."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import mlx.core as mx
from mlx_lm.generate import stream_generate
from mlx_lm.sample_utils import make_logits_processors, make_sampler
from mlx_lm.tokenizer_utils import TokenizerWrapper

from mtplx_engine.bench.run import BASELINE, PLAIN, Run
from mtplx_engine.config import SamplerConfig
from mtplx_engine.protocol import Finished, Generate, Tokens
from mtplx_engine.stats import DecodeStats

if TYPE_CHECKING:
    import threading

    from mtplx_engine.config import DraftCore, DrafterKind
    from mtplx_engine.engine import Engine

_THEIR_CHUNK = 2048  # prompt tokens per forward, mlx-lm's default
_NEVER = -100.0  # a bias that keeps answers from ending early, so that all runs have the same length


class _CancelledError(Exception):
    """Leads out of a prefill of mlx-lm's, which cannot be told to stop."""


class MlxLm:
    """`mlx_lm.stream_generate` on the engine's weights.

    Args:
        engine: Has loaded the model.
        chunk: Prompt tokens per forward; it can be cancelled after each.
    """

    name = BASELINE

    def __init__(self, engine: Engine, chunk: int = _THEIR_CHUNK) -> None:
        self._model = engine.model
        self._chunk = chunk

    def run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> Run | None:
        """Answer with plain mlx-lm."""
        try:
            return self._run(prompt, ids, temperature, tokens, cancelled)
        except _CancelledError:
            return None

    def _run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> Run:
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
        return Run(
            self.name,
            prompt,
            tuple(emitted),
            times[-1] - started,
            times[-1] - times[0],
            len(times) - 1,
            None,
            mx.get_peak_memory(),
        )


class Ours:
    """Our engine with one drafter at one depth, or decoding plainly without one."""

    def __init__(self, engine: Engine, drafter: DrafterKind | None = None, depth: int = 0) -> None:
        self.name = f"{drafter} depth {depth}" if drafter else PLAIN
        self._engine = engine
        self._depth = depth
        self._drafter: DraftCore = drafter or "off"

    def run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> Run | None:
        """Answer with the engine, reading the prompt from its first token."""
        bias = tuple((token, _NEVER) for token in sorted(self._engine.model.end_ids))
        sampler = SamplerConfig(
            temperature=temperature,
            logit_bias=bias,
            seed=prompt,
            speculative_depth=self._depth,
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
        # The engine's own clock: an event is handed out only after the next cycle has been queued.
        decode_s = stats.decode_s or math.nan
        return Run(
            self.name,
            prompt,
            tuple(emitted),
            wall_s,
            decode_s,
            stats.decode_tokens,
            stats,
            mx.get_peak_memory(),
        )
