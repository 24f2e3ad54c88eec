"""The exact distribution of a tiny model's answers, by the chain rule, with a second sampler written in numpy."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from mtplx_engine.config import SamplerConfig
    from mtplx_engine.models.target import Target

    Floats = NDArray[np.float64]


def adjusted_logits(logits: ArrayLike, config: SamplerConfig, prompt: Sequence[int], answer: Sequence[int]) -> Floats:
    """Return logits [V] with bias and penalties in float64, token by token as `SamplerConfig` documents them."""
    z = np.array(logits, np.float64)
    for token, bias in config.logit_bias:
        if token < z.size:
            z[token] += bias
    for token in {*prompt, *answer}:
        z[token] *= 1 / config.repetition_penalty if z[token] > 0 else config.repetition_penalty
    for token in set(answer):
        z[token] -= config.presence_penalty + config.frequency_penalty * list(answer).count(token)
    return z


def filtered_distribution(adjusted: Floats, config: SamplerConfig) -> Floats:
    """Return the distribution [V] of adjusted logits: top_p, min_p, top_k at temperature 1, then the temperature.

    Tokens that tie with the last one that a filter keeps are kept too.
    """
    z = adjusted - adjusted.max()
    p = np.exp(z) / np.exp(z).sum()
    kept = np.ones(z.size, bool)
    if config.top_p < 1:
        above = np.array([p[p > own].sum() for own in p])
        kept &= (above < config.top_p) | (above == 0)
    if config.min_p > 0:
        kept &= z >= math.log(config.min_p)
    if 0 < config.top_k < z.size:
        kept &= z >= np.sort(np.where(kept, z, -np.inf))[-config.top_k]
    weights = np.where(kept, np.exp(z / config.temperature), 0)
    distribution: Floats = weights / weights.sum()
    return distribution


def next_token_distribution(
    logits: ArrayLike, config: SamplerConfig, prompt: Sequence[int], answer: Sequence[int]
) -> Floats:
    """Return the distribution [V] of the next token after a prompt and a part of its answer."""
    return filtered_distribution(adjusted_logits(logits, config, prompt, answer), config)


def prefix_logits(target: Target, prompt: Sequence[int], length: int) -> Floats:
    """Return the logits after the prompt and every answer of `length` tokens, [V] * length + [V].

    Plain forwards of the whole text through mlx-lm's own model, without a cache.
    """
    vocabulary = target.vocabulary
    prefixes = itertools.product(range(vocabulary), repeat=length)
    texts = mx.array([[*prompt, *prefix] for prefix in prefixes], mx.int32)
    rows = target.model(texts)[:, -1]
    return np.array(rows, np.float64).reshape((vocabulary,) * (length + 1))


def joint_distribution(target: Target, prompt: Sequence[int], config: SamplerConfig, length: int) -> Floats:
    """Return the distribution of the first `length` tokens of an answer, [V] * length."""
    distribution = np.ones(())
    for position in range(length):
        logits = prefix_logits(target, prompt, position)
        rows = np.empty_like(logits)
        for prefix in np.ndindex(logits.shape[:-1]):
            rows[prefix] = next_token_distribution(logits[prefix], config, prompt, prefix)
        distribution = distribution[..., None] * rows
    return distribution


def likely_answers(
    target: Target, prompt: Sequence[int], config: SamplerConfig, length: int, width: int
) -> dict[tuple[int, ...], float]:
    """Return the probabilities of `width` answers of `length` tokens that a beam search finds, for large V."""
    beam: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(length):
        rows = target.model(mx.array([[*prompt, *answer] for answer in beam], mx.int32))[:, -1]
        grown = {}
        for (answer, probability), logits in zip(beam.items(), np.array(rows, np.float64), strict=True):
            distribution = next_token_distribution(logits, config, prompt, answer)
            for token in np.argsort(-distribution)[:width].tolist():
                grown[*answer, token] = probability * float(distribution[token])
        beam = dict(sorted(grown.items(), key=lambda item: -item[1])[:width])
    return beam
