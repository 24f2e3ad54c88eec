"""The statistics of `test_statistics.py` see what they are for: each planted fault is wrong within 2000 answers.

A fault is planted by replacing production functions; then the same test runs on cases of the same kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx
import pytest

from mtplx_engine import acceptance, decoding
from mtplx_engine.acceptance import Verdict, accept, race, residual
from mtplx_engine.cache import RecurrentState, TokenCache
from mtplx_engine.config import SamplerConfig
from mtplx_engine.decoding import Decoder
from mtplx_engine.draft import chain
from mtplx_engine.sampling import History
from tests.support import toy_answers
from tests.support.loop_case import Case, run

if TYPE_CHECKING:
    from collections.abc import Callable

    Plant = Callable[[pytest.MonkeyPatch], None]

STAGES, LEAST = (400, 1000, 2000), 1000
CASE = Case(SamplerConfig(temperature=0.7, speculative_depth=2))
COLD = Case(SamplerConfig(temperature=0.4, speculative_depth=2))
DEEP = Case(SamplerConfig(temperature=1.0, speculative_depth=3))
PENALISED = Case(SamplerConfig(temperature=1.0, frequency_penalty=2.0, speculative_depth=2), "distorted")


def _no_residual(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused token is drawn again from p instead of (p - q)+."""
    monkeypatch.setattr(acceptance, "residual", lambda p, q: p)


def _bonus_from_q(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a block without a refusal the next token comes from the drafter's last law."""

    def faulty(p: mx.array, q: mx.array, drafts: mx.array, *draws: mx.array) -> Verdict:
        return accept(mx.concatenate([p[:-1], q[-1:]]) if drafts.size else p, q, drafts, *draws)

    monkeypatch.setattr(decoding, "accept", faulty)


def _row_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draft is judged by the row that follows it."""

    def faulty(p: mx.array, *rest: mx.array) -> Verdict:
        return accept(mx.concatenate([p[1:], p[-1:]]), *rest)

    monkeypatch.setattr(decoding, "accept", faulty)


def _rollback_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
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


def _draft_temperature_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts are drawn at temperature 1 while their law is said to be the sampler's."""
    temperature = COLD.config.temperature
    monkeypatch.setattr(chain, "race", lambda q, exponentials: race(q**temperature, exponentials))


def _forced_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draft is kept."""
    monkeypatch.setattr(acceptance, "acceptance_probability", lambda p, q: mx.ones_like(p))


def _argmax_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft is kept when it is the target's most probable token."""

    def faulty(p: mx.array, q: mx.array, drafts: mx.array, _: mx.array, exponentials: mx.array) -> Verdict:
        accepted = decoding.accept_greedy(mx.argmax(p, axis=-1).astype(mx.int32), drafts).accepted
        q = mx.concatenate([q, mx.zeros_like(p[:1])])
        return Verdict(accepted, race(residual(p[accepted], q[accepted]), exponentials))

    monkeypatch.setattr(decoding, "accept", faulty)


def _shared_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """One uniform decides about all drafts of a block."""

    def faulty(
        p: mx.array, q: mx.array, drafts: mx.array, uniforms: mx.array, exponentials: mx.array
    ) -> Verdict:
        shared = mx.broadcast_to(uniforms[:1], uniforms.shape)
        return accept(p, q, drafts, shared, exponentials)

    monkeypatch.setattr(decoding, "accept", faulty)


def _stale_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cycle uses the same random numbers."""
    split = Decoder._split_key
    monkeypatch.setattr(Decoder, "_split_key", lambda self: (*split(self)[:2], self._key))


def _penalties_blind_to_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a verify step do not count the drafts before them."""

    def faulty(self: History, drafts: mx.array) -> History:
        return History(self.prompt, mx.broadcast_to(self.counts, (drafts.size + 1, self.counts.size)))

    monkeypatch.setattr(History, "rows", faulty)


@pytest.mark.parametrize(
    ("plant", "case"),
    [
        (_no_residual, CASE),
        (_bonus_from_q, CASE),
        (_row_off_by_one, CASE),
        (_rollback_off_by_one, CASE),
        (_draft_temperature_ignored, COLD),
        (_forced_accept, CASE),
        (_argmax_accept, CASE),
        (_shared_uniform, DEEP),
        (_stale_key, CASE),
        (_penalties_blind_to_drafts, PENALISED),
    ],
    ids=lambda value: value.__name__[1:] if callable(value) else "",
)
def test_planted_fault_is_called_wrong(monkeypatch: pytest.MonkeyPatch, plant: Plant, case: Case) -> None:
    plant(monkeypatch)
    outcome = run(case, STAGES, LEAST).outcome
    print(outcome)
    assert outcome.wrong, outcome


def _state_of_refused_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recurrent layer keeps what refused drafts did to its state."""

    def faulty(self: RecurrentState, surplus: int) -> None:
        self.offset -= surplus

    monkeypatch.setattr(RecurrentState, "trim", faulty)


@pytest.mark.long
@pytest.mark.parametrize("plant", [_state_of_refused_drafts, _no_residual])
def test_planted_fault_is_seen_in_the_trained_toys_answers(
    monkeypatch: pytest.MonkeyPatch, plant: Plant
) -> None:
    plant(monkeypatch)
    config = SamplerConfig(temperature=0.4, speculative_depth=2)
    result, _ = toy_answers.run("The name of the file", config, STAGES, LEAST)
    assert result.outcome.wrong, result.outcome


@pytest.mark.long
@pytest.mark.parametrize("case", [CASE, COLD, DEEP, PENALISED], ids=["plain", "cold", "deep", "penalised"])
def test_without_a_fault_the_same_case_is_fine(case: Case) -> None:
    outcome = run(case, STAGES, LEAST).outcome
    print(outcome)
    assert not outcome.wrong, outcome
