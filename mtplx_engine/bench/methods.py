"""The ways of decoding that are compared: plain mlx-lm, and our loop at each depth, on the same weights."""

from __future__ import annotations

import math
import threading
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
    from mtplx_engine.config import DraftCore, DrafterKind
    from mtplx_engine.engine import Engine

_NEVER = -100.0  # a bias that keeps answers from ending early, so that all runs have the same length


class MlxLm:
    """`mlx_lm.stream_generate` on the engine's weights."""

    name = BASELINE

    def __init__(self, engine: Engine) -> None:
        self._model = engine.model

    def run(self, prompt: int, ids: list[int], temperature: float, tokens: int) -> Run:
        """Answer with plain mlx-lm."""
        # Seeded by the prompt, as ours is.
        mx.random.seed(prompt)
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
        ):
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
        )


class Ours:
    """Our engine with one drafter at one depth, or decoding plainly without one."""

    def __init__(self, engine: Engine, drafter: DrafterKind | None = None, depth: int = 0) -> None:
        self.name = f"{drafter} depth {depth}" if drafter else PLAIN
        self._engine = engine
        self._depth = depth
        self._drafter: DraftCore = drafter or "off"

    def run(self, prompt: int, ids: list[int], temperature: float, tokens: int) -> Run:
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
        emitted: list[int] = []
        stats = DecodeStats()
        started = time.perf_counter()
        request = Generate(0, (), sampler, max_tokens=tokens)
        for event in self._engine.generate_ids(request, ids, threading.Event()):
            if isinstance(event, Tokens):
                emitted += event.token_ids
            elif isinstance(event, Finished):
                stats = event.stats
        wall_s = time.perf_counter() - started
        # The engine's own clock: an event is handed out only after the next cycle has been queued.
        decode_s = stats.decode_s or math.nan
        return Run(self.name, prompt, tuple(emitted), wall_s, decode_s, stats.decode_tokens, stats)
