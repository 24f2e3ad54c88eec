"""Faults that an engine could have, planted by replacing production functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx

from mtplx_engine import acceptance, decoding
from mtplx_engine.acceptance import DraftVerdict, accept, race, residual
from mtplx_engine.cache.layers import RecurrentState
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.decoding import Decoder
from mtplx_engine.draft import mtp_head
from mtplx_engine.sampling import History

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    Plant = Callable[[pytest.MonkeyPatch], None]


DRAFT_TEMPERATURE = 0.4
"""The sampler's, for `draft_temperature_ignored`."""


def no_residual(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused token is drawn again from p instead of (p - q)+."""
    monkeypatch.setattr(acceptance, "residual", lambda p, q: p)


def bonus_from_q(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a block without a refusal the next token comes from the drafter's last distribution."""

    def faulty(p: mx.array, q: mx.array, drafts: mx.array, *draws: mx.array) -> DraftVerdict:
        return accept(mx.concatenate([p[:-1], q[-1:]]) if drafts.size else p, q, drafts, *draws)

    monkeypatch.setattr(decoding, "accept", faulty)


def row_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draft is judged by the row that follows it."""

    def faulty(p: mx.array, *rest: mx.array) -> DraftVerdict:
        return accept(mx.concatenate([p[1:], p[-1:]]), *rest)

    monkeypatch.setattr(decoding, "accept", faulty)


def rollback_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused draft stays in the target's cache."""
    trim_to = TokenCache.trim_to

    def faulty(self: Decoder) -> decoding.Step:
        length = self._cache.length
        monkeypatch.setattr(TokenCache, "trim_to", lambda cache, n: trim_to(cache, min(n + 1, length)))
        step = read(self)
        monkeypatch.setattr(TokenCache, "trim_to", trim_to)
        return step

    read = Decoder.read
    monkeypatch.setattr(Decoder, "read", faulty)


def draft_temperature_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts are drawn at temperature 1 while their distribution is said to be the sampler's."""
    monkeypatch.setattr(mtp_head, "race", lambda q, exponentials: race(q**DRAFT_TEMPERATURE, exponentials))


def forced_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draft is kept."""
    monkeypatch.setattr(acceptance, "acceptance_probability", lambda p, q: mx.ones_like(p))


def argmax_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft is kept when it is the target's most probable token."""

    def faulty(p: mx.array, q: mx.array, drafts: mx.array, _: mx.array, exponentials: mx.array) -> DraftVerdict:
        accepted = decoding.accept_greedy(mx.argmax(p, axis=-1).astype(mx.int32), drafts).accepted
        q = mx.concatenate([q, mx.zeros_like(p[:1])])
        return DraftVerdict(accepted, race(residual(p[accepted], q[accepted]), exponentials))

    monkeypatch.setattr(decoding, "accept", faulty)


def shared_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """One uniform decides about all drafts of a block."""

    def faulty(p: mx.array, q: mx.array, drafts: mx.array, uniforms: mx.array, exponentials: mx.array) -> DraftVerdict:
        shared = mx.broadcast_to(uniforms[:1], uniforms.shape)
        return accept(p, q, drafts, shared, exponentials)

    monkeypatch.setattr(decoding, "accept", faulty)


def stale_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cycle uses the same random numbers."""
    split = Decoder._split_key
    monkeypatch.setattr(Decoder, "_split_key", lambda self: (*split(self)[:2], self._key))


def penalties_blind_to_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a verify step do not count the drafts before them."""

    def faulty(self: History, drafts: mx.array) -> History:
        return History(self.prompt, mx.broadcast_to(self.counts, (drafts.size + 1, self.counts.size)))

    monkeypatch.setattr(History, "rows", faulty)


def state_of_refused_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recurrent layer keeps what refused drafts did to its state."""

    def faulty(self: RecurrentState, surplus: int) -> None:
        self.offset -= surplus

    monkeypatch.setattr(RecurrentState, "trim", faulty)
