"""Compares the caches that an engine keeps between answers with those of a fresh prefill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np

from mtplx_engine.cache.token_cache import TokenCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mtplx_engine.draft.draft_model import DraftModelDrafter
    from mtplx_engine.draft.mtp_head import MTPDrafter
    from mtplx_engine.models.target import Target

    CachingDrafter = MTPDrafter | DraftModelDrafter


def check_caches(
    target: Target,
    tokens: Sequence[int],
    cache: TokenCache,
    drafter: CachingDrafter | None,
    new_drafter: Callable[[], CachingDrafter],
) -> None:
    """Assert that target and drafter hold exactly `tokens`, bit for bit as after a fresh prefill.

    Args:
        target: The target.
        tokens: What the cache should hold.
        cache: The target's.
        drafter: The drafter, or None when nothing was drafted; what it has not written yet is written.
        new_drafter: Makes an empty drafter of the same kind.
    """
    fresh = TokenCache(target.new_layers())
    hidden = target.forward(mx.array(list(tokens), mx.int32), fresh) if tokens else None
    _check_equal(cache, fresh)
    if drafter is None:
        return
    expected = new_drafter()
    expected.begin(tokens, 0)
    if hidden is not None and len(tokens) > 1:
        expected.extend(hidden[:-1], tokens[1:])
        expected.flush()
    drafter.flush()
    _check_equal(drafter.cache, expected.cache)


def _check_equal(cache: TokenCache, fresh: TokenCache) -> None:
    assert cache.length == fresh.length
    if not fresh.length:
        return
    pairs = zip(cache.contents(), fresh.contents(), strict=True)
    for number, (held, expected) in enumerate(pairs):
        bits, expected_bits = np.array(held).view(np.uint32), np.array(expected).view(np.uint32)
        differing = np.unique(np.argwhere(bits != expected_bits)[:, 2])
        assert differing.size == 0, f"array {number} differs at positions {differing.tolist()}"
