"""Records a decoder from outside: the rows of its verify steps and the distributions of its drafts."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unittest import mock

import mlx.core as mx
import numpy as np

from mtplx_engine import acceptance, decoding
from mtplx_engine.acceptance import DraftVerdict
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.draft import mtp_head
from tests.support.tiny import decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from mtplx_engine.config import SamplerConfig
    from mtplx_engine.draft.drafter import Drafter
    from mtplx_engine.models.target import Target


@dataclass(frozen=True, slots=True)
class Verified:
    """One verify step.

    Attributes:
        context: The tokens before the first draft: prompt, answer so far.
        drafts: The draft tokens, k of them.
        logits: [k+1, V] of the target.
        distribution: [k+1, V], the target's distributions that the rule was given; its choices [k+1] when greedy.
        q: [k, V], the drafts' distributions that the rule was given; None when greedy.
        raced: Of each draft the weights [D] that it was drawn by and which of them won; empty when none was drawn.
    """

    context: tuple[int, ...]
    drafts: tuple[int, ...]
    logits: NDArray[np.float32]
    distribution: NDArray[np.generic]
    q: NDArray[np.float32] | None
    raced: tuple[tuple[NDArray[np.float32], int], ...]


@dataclass(slots=True)
class _Notes:
    """What happens while a decoder runs; `forced` tokens, if any, are emitted in the place of its own."""

    forced: list[int] = field(default_factory=list)
    raced: list[tuple[mx.array, mx.array]] = field(default_factory=list)
    inputs: list[mx.array] = field(default_factory=list)
    logits: list[mx.array] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    drawn: list[tuple[tuple[mx.array, mx.array], ...]] = field(default_factory=list)
    distributions: list[mx.array] = field(default_factory=list)
    qs: list[mx.array | None] = field(default_factory=list)

    @contextmanager
    def taken(self, target: Target) -> Iterator[None]:
        """Stand between the decoder and what it calls."""
        verify = target.verify

        def noted_verify(tokens: mx.array, cache: TokenCache, *, strict: bool) -> tuple[mx.array, mx.array]:
            self.starts.append(cache.length)
            hidden, logits = verify(tokens, cache, strict=strict)
            self.inputs.append(tokens)
            self.logits.append(logits)
            self.drawn.append(tuple(self.raced))
            self.raced.clear()
            return hidden, logits

        def noted_accept(p: mx.array, q: mx.array, drafts: mx.array, *draws: mx.array) -> DraftVerdict:
            self.distributions.append(p)
            self.qs.append(q)
            return self._verdict() or acceptance.accept(p, q, drafts, *draws)

        def noted_accept_greedy(best: mx.array, drafts: mx.array) -> DraftVerdict:
            self.distributions.append(best)
            self.qs.append(None)
            return self._verdict() or acceptance.accept_greedy(best, drafts)

        def noted_race(weights: mx.array, exponentials: mx.array) -> mx.array:
            winner = acceptance.race(weights, exponentials)
            self.raced.append((weights, winner))
            return winner

        with (
            mock.patch.object(target, "verify", noted_verify),
            mock.patch.object(decoding, "accept", noted_accept),
            mock.patch.object(decoding, "accept_greedy", noted_accept_greedy),
            mock.patch.object(mtp_head, "race", noted_race),
        ):
            yield

    def _verdict(self) -> DraftVerdict | None:
        if not self.forced:
            return None
        return DraftVerdict(mx.array(0, mx.int32), mx.array(self.forced.pop(0), mx.int32))


def verify_steps(
    target: Target,
    drafter: Drafter,
    prompt: Sequence[int],
    config: SamplerConfig,
    *,
    seed: int,
    max_tokens: int,
) -> tuple[list[Verified], int]:
    """Answer a prompt through the production loop.

    Returns:
        Its verify steps that had drafts, and how many of these were accepted.
    """
    notes = _Notes()
    with notes.taken(target):
        answer = decode(target, drafter, prompt, config, seed=seed, max_tokens=max_tokens)
    text = (*prompt, *answer.tokens)
    steps = [
        Verified(
            text[: start + 1],
            tuple(inputs.tolist()[1:]),
            np.array(logits),
            np.array(distribution),
            None if q is None else np.array(q),
            tuple((np.array(weights), int(winner)) for weights, winner in drawn),
        )
        for start, inputs, logits, distribution, q, drawn in zip(
            notes.starts, notes.inputs, notes.logits, notes.distributions, notes.qs, notes.drawn, strict=True
        )
        if inputs.size > 1
    ]
    return steps, answer.finished.stats.accepted


class PlainRows:
    """What plain decoding makes of any text: the decoder at depth 0, whose tokens are given to it one by one."""

    def __init__(self, target: Target, prompt: Sequence[int], config: SamplerConfig) -> None:
        self._target = target
        self._prompt = tuple(prompt)
        self._config = config
        self._rows: dict[tuple[int, ...], tuple[NDArray[np.float32], NDArray[np.generic]]] = {}

    def after(self, text: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.generic]]:
        """Return the logits [V] after a text that begins with the prompt, and their distribution [V] or choice []."""
        if text not in self._rows:
            self._decode(text)
        return self._rows[text]

    def _decode(self, text: tuple[int, ...]) -> None:
        path = text[len(self._prompt) :]
        notes = _Notes(forced=[*path])
        decoder = decoding.Decoder(self._target, TokenCache(self._target.new_layers()), None, self._config, seed=0)
        list(decoder.prefill(self._prompt, 0, chunk=64))
        with notes.taken(self._target):
            for _ in range(len(path) + 1):
                decoder.dispatch(0)
                decoder.read()
        for length, (logits, distribution) in enumerate(zip(notes.logits, notes.distributions, strict=True)):
            prefix = (*self._prompt, *path[:length])
            self._rows[prefix] = np.array(logits)[0], np.array(distribution)[0]
