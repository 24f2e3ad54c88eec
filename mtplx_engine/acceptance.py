"""The acceptance rule of speculative sampling: accepted, recovered and bonus tokens.

Leviathan et al. 2023 (arXiv 2211.17192), section 2.3 and appendix A.1, and Chen et al. 2023 (arXiv 2302.01318),
algorithm 2 and theorem 1: a draft token d drawn from q is accepted with probability min(1, p(d)/q(d)); at the first
rejection the recovered token is drawn from the normalised (p - q)+; when none is rejected the bonus token is drawn
from the last target row. The tokens then follow p exactly, whatever q is.

Everything is generic in dtype and takes its randomness as arguments, so that the output distribution can be enumerated
in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import mlx.core as mx
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from mtplx_engine.config import SamplerConfig


_ROUNDING = 0.01  # how far from 1 a distribution in half precision may sum


class DraftVerdict(NamedTuple):
    """The result of a verify step, int32 scalars on device.

    `accepted` counts the accepted draft tokens, 0..k; `token` is the recovered one after a rejection, else the bonus.
    """

    accepted: mx.array
    token: mx.array


def acceptance_probability(p: mx.array, q: mx.array) -> mx.array:
    """Return min(1, p/q) elementwise; a draft that q cannot produce (q = 0) is rejected."""
    return mx.where(q > 0, mx.minimum(p / mx.where(q > 0, q, 1), 1), 0)


def residual(p: mx.array, q: mx.array) -> mx.array:
    """Return the unnormalised distribution (p - q)+ of the recovered token, [..., V].

    Where rounding leaves no mass at all (p and q agree to the last bit but one), it is p itself, the limit.
    """
    rest = mx.maximum(p - q, 0)
    return mx.where(rest.sum(axis=-1, keepdims=True) > 0, rest, p)


def race(weights: mx.array, exponentials: mx.array) -> mx.array:
    """Draw an index with probability proportional to `weights`, [..., V] -> [...].

    An exponential race: of independent Exp(1) arrival times divided by their weights, the i-th is first with
    probability w_i / sum(w). It is the Gumbel-max trick (-log of an Exp(1) variable is a standard Gumbel one) without
    the logarithms. Unlike a cumulative sum it keeps full relative precision for rare tokens.
    """
    arrival = mx.where(weights > 0, exponentials / mx.where(weights > 0, weights, 1), mx.inf)
    return mx.argmin(arrival, axis=-1).astype(mx.int32)


def accept(p: mx.array, q: mx.array, drafts: mx.array, uniforms: mx.array, exponentials: mx.array) -> DraftVerdict:
    """Accept or reject k draft tokens from left to right, by Leviathan et al. 2023, algorithm 1.

    Args:
        p: [k+1, V] target rows; row i is the distribution after the first i draft tokens.
        q: [k, V] the distributions from which the draft tokens were really drawn.
        drafts: [k] int32 draft tokens.
        uniforms: [k] independent uniforms in [0, 1), one a position.
        exponentials: [V] independent Exp(1) draws for the recovered or bonus token.
    """
    if not drafts.size:  # plain decoding: the rule below says the same with forty operations more
        return DraftVerdict(mx.array(0, mx.int32), race(p[0], exponentials))
    at = drafts[:, None]
    p_draft = mx.take_along_axis(p[:-1], at, axis=-1)[:, 0]
    q_draft = mx.take_along_axis(q, at, axis=-1)[:, 0]
    kept = uniforms < acceptance_probability(p_draft, q_draft)
    accepted = _leading(kept)
    # Past the last draft q is zero, and the residual of the bonus row is that row itself.
    q_padded = mx.concatenate([q, mx.zeros_like(p[:1])], axis=0)
    return DraftVerdict(accepted, race(residual(p[accepted], q_padded[accepted]), exponentials))


def accept_greedy(best: mx.array, drafts: mx.array) -> DraftVerdict:
    """Accept draft tokens [k] at temperature 0 while they equal the target's choices `best` [k+1], both int32."""
    accepted = _leading(best[:-1] == drafts)
    return DraftVerdict(accepted, best[accepted])


def _leading(kept: mx.array) -> mx.array:
    return mx.cumprod(kept.astype(mx.int32)).sum().astype(mx.int32)


def speculative_output_marginal(target_p: ArrayLike, draft_q: ArrayLike, config: SamplerConfig) -> NDArray[np.float64]:
    """Return the distribution of the output token at a drafted position, by enumerating every draft.

    Built from the same functions that decoding uses, in float64: the sum over drafts d of
    q(d) [a(d) at d + (1 - a(d)) residual], as in Leviathan et al. 2023, appendix A.1. It equals the target's
    distribution whatever that of the draft is.

    Args:
        target_p: [..., V] the target's distribution; at temperature 0 only its largest entry counts.
        draft_q: [..., V] the distribution that the draft is drawn from.
        config: The sampler; with drafting off (depth 0 or core "off") nothing is drafted.

    Raises:
        ValueError: The shapes differ, an entry is negative or not finite, or a row does not sum to 1.
    """
    p, q = np.asarray(target_p, np.float64), np.asarray(draft_q, np.float64)
    if p.shape != q.shape or not p.shape or not p.size:
        raise ValueError(f"target_p has shape {p.shape}, draft_q {q.shape}; both must be [..., V]")
    if not (np.isfinite(p).all() and np.isfinite(q).all() and p.min() >= 0 and q.min() >= 0):
        raise ValueError("probabilities must be finite and not negative")
    if config.greedy:
        p = np.eye(p.shape[-1])[p.argmax(axis=-1)]
    if config.draft_core == "off" or config.speculative_depth == 0:
        return p
    for total in (*p.sum(axis=-1).flat, *q.sum(axis=-1).flat):
        if abs(total - 1) > _ROUNDING:
            raise ValueError(f"a row of probabilities must sum to 1, but these sum to {total:g}")
    with mx.stream(mx.cpu):  # the only device that has float64
        p_rows, q_rows = mx.array(p, mx.float64), mx.array(q, mx.float64)
        kept = acceptance_probability(p_rows, q_rows)
        rest = residual(p_rows, q_rows)
        refused = (q_rows * (1 - kept)).sum(axis=-1, keepdims=True)
        law = q_rows * kept + refused * rest / rest.sum(axis=-1, keepdims=True)
        return np.array(law)
