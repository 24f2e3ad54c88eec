"""From logits to the target distribution: bias, penalties, filters, temperature.

One `Shaper` serves plain decoding, every verified row and the drafter alike. The filters run in mlx-lm's order: top_p
(nucleus sampling, Holtzman et al. 2020), then min_p (Nguyen et al. 2024, arXiv 2407.01082), then top_k (Fan et al.
2018), on the probabilities before the temperature; the temperature is applied last. The repetition penalty is that of
CTRL (Keskar et al. 2019, section 4.1); presence and frequency penalty are those of OpenAI's API.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mlx.core as mx

from mtplx_engine.acceptance import speculative_output_marginal
from mtplx_engine.config import SamplerConfig

# Others import the sampler's settings and the enumerated output distribution from here.
__all__ = ["History", "SamplerConfig", "Shaper", "draw_exponentials", "finite", "speculative_output_marginal"]


@dataclass(frozen=True, slots=True)
class History:
    """Occurrences of tokens in prompt and answer, for the penalties.

    Attributes:
        prompt: [V] bool, whether the prompt holds each token.
        counts: [..., V] float32, how often the answer holds each token.
    """

    prompt: mx.array
    counts: mx.array

    @classmethod
    def of_prompt(cls, tokens: mx.array, vocabulary: int) -> History:
        """Start an answer to a prompt, tokens [n]."""
        seen = mx.zeros((vocabulary,), mx.bool_)
        if tokens.size:
            seen[tokens] = True
        return cls(seen, mx.zeros((vocabulary,), mx.float32))

    def after(self, tokens: mx.array) -> History:
        """Add tokens [m] of the answer to a history without rows."""
        return History(self.prompt, self.counts.at[tokens].add(1.0))

    def rows(self, drafts: mx.array) -> History:
        """Return k+1 rows: row i has also seen the first i of the drafts [k]."""
        if not drafts.size:
            return History(self.prompt, self.counts[None])
        steps = mx.zeros((drafts.size + 1, self.counts.shape[-1]), mx.float32)
        steps = steps.at[mx.arange(1, drafts.size + 1), drafts].add(1.0)
        return History(self.prompt, self.counts + mx.cumsum(steps, axis=0))

    def among(self, ids: mx.array) -> History:
        """Return the history restricted to the token ids [D] of a draft vocabulary."""
        return History(self.prompt[ids], self.counts[..., ids])


class Shaper:
    """Turns logits [..., V] into the distribution that a sampler configuration asks for.

    `ids` [D] are the token ids of the columns when only a part of the vocabulary is drafted; None for all.
    """

    def __init__(self, config: SamplerConfig, vocabulary: int, ids: mx.array | None = None) -> None:
        self._config = config
        self._ids = ids
        self._bias: mx.array | None = None
        pairs = [(token, bias) for token, bias in config.logit_bias if token < vocabulary]
        if pairs:
            tokens, biases = zip(*pairs, strict=True)
            bias = mx.zeros((vocabulary,), mx.float32).at[mx.array(tokens)].add(mx.array(biases))
            self._bias = bias if ids is None else bias[ids]

    def restricted(self, vocabulary: int, ids: mx.array) -> Shaper:
        """Return a shaper with the same settings over the draft vocabulary `ids`."""
        return Shaper(self._config, vocabulary, ids)

    def adjust(self, logits: mx.array, history: History | None) -> mx.array:
        """Apply bias and penalties to logits [..., V] and return them in float32."""
        logits = logits.astype(mx.float32)
        if self._bias is not None:
            logits = logits + self._bias
        if history is None:
            return logits
        if self._ids is not None:
            history = history.among(self._ids)
        config = self._config
        if config.repetition_penalty != 1.0:
            seen = history.prompt | (history.counts > 0)
            penalty = config.repetition_penalty
            logits = mx.where(seen, mx.where(logits > 0, logits / penalty, logits * penalty), logits)
        if config.presence_penalty != 0.0:
            logits = logits - config.presence_penalty * (history.counts > 0)
        if config.frequency_penalty != 0.0:
            logits = logits - config.frequency_penalty * history.counts
        return logits

    def distribution(self, adjusted: mx.array) -> mx.array:
        """Return the distribution [..., V], float32, of logits from `adjust`; for temperatures above 0 only."""
        config = self._config
        logprobs = adjusted
        if config.top_p < 1 or config.min_p > 0 or config.top_k > 0:
            logprobs = adjusted - mx.logsumexp(adjusted, axis=-1, keepdims=True)
        if config.top_p < 1:
            logprobs = _keep_top_p(logprobs, config.top_p)
        if config.min_p > 0:
            floor = mx.max(logprobs, axis=-1, keepdims=True) + math.log(config.min_p)
            logprobs = mx.where(logprobs < floor, -mx.inf, logprobs)
        if 0 < config.top_k < logprobs.shape[-1]:
            least = mx.min(mx.topk(logprobs, config.top_k, axis=-1), axis=-1, keepdims=True)
            logprobs = mx.where(logprobs < least, -mx.inf, logprobs)
        return mx.softmax(logprobs / config.temperature, axis=-1, precise=True)


def _keep_top_p(logprobs: mx.array, top_p: float) -> mx.array:
    """Keep the fewest most probable tokens whose mass reaches top_p; ties at the border are all kept."""
    ordered = mx.sort(logprobs, axis=-1)
    probs = mx.exp(ordered)
    above = mx.cumsum(probs, axis=-1, reverse=True, inclusive=False)
    total = above[..., :1] + probs[..., :1]
    dropped = (above >= top_p * total)[..., :-1].sum(axis=-1, keepdims=True)  # never the most probable one
    return mx.where(logprobs < mx.take_along_axis(ordered, dropped, axis=-1), -mx.inf, logprobs)


def finite(adjusted: mx.array) -> mx.array:
    """Return a bool scalar: whether every row [..., V] is free of NaN and +inf and has some finite logit."""
    highest, total = mx.max(adjusted, axis=-1), mx.sum(adjusted, axis=-1)
    return ((mx.abs(highest) < mx.inf) & (total == total)).all()  # noqa: PLR0124 - NaN differs from itself


def draw_exponentials(shape: tuple[int, ...], key: mx.array) -> mx.array:
    """Draw Exp(1) variables, float32, never 0.

    From -log(1 - u): mlx's uniforms are finest near 0 (steps of 2^-32), and small arrival times are what decides a
    race. An exact 0 would let a token of any weight win, so it counts as half a step.
    """
    uniforms = mx.maximum(mx.random.uniform(shape=shape, key=key), 2.0**-33)
    return -mx.log1p(-uniforms)
