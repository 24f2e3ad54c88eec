"""The decoding loop: prefill, then cycles of draft, verify, accept and commit.

State between cycles: the cache holds n tokens, one more is sampled but not yet forwarded ("pending"), and the drafter
holds the pairs up to (hidden state of token n-1, pending). `dispatch` queues a cycle on the device, `read` waits for
it and commits it. Plain decoding is depth 0 of the same code; there the next cycle may be queued before the current
one is read, since nothing can be rejected.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import mlx.core as mx

from mtplx_engine.acceptance import accept, accept_greedy
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.sampling import History, Shaper, draw_exponentials, finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mtplx_engine.cache.token_cache import TokenCache
    from mtplx_engine.config import SamplerConfig
    from mtplx_engine.draft.drafter import Draft, Drafter
    from mtplx_engine.models.target import Target


@dataclass(frozen=True, slots=True)
class Step:
    """The tokens that one cycle committed.

    Attributes:
        tokens: The accepted draft tokens and the recovered or bonus token, at least one.
        drafted: k, how many draft tokens were verified.
        accepted: How many of them were accepted; `len(tokens) == accepted + 1`.
    """

    tokens: tuple[int, ...]
    drafted: int
    accepted: int


class _Chances(NamedTuple):
    """The random numbers of a cycle's acceptance: a uniform for each draft token [k], and Exp(1) draws [V]."""

    uniforms: mx.array
    exponentials: mx.array


@dataclass(frozen=True, slots=True)
class _Flight:
    """A queued cycle: k, its start, its hiddens [k+1, H] and packed result [finite, accepted, token, *drafts]."""

    depth: int
    start: int
    hidden: mx.array
    packed: mx.array


class Decoder:
    """Decodes one sequence.

    Args:
        drafter: None for plain decoding only; must hold the pairs of the cached prefix. `cache` may hold such a prefix.
        branch: The length of the prefix shared with what was cached before; the next prompt may well branch off
            there too, so a cache that cannot go back to any length keeps a checkpoint. 0 for none.

    Attributes:
        forwarded: The tokens whose keys and values are in the cache.
    """

    def __init__(
        self,
        target: Target,
        cache: TokenCache,
        drafter: Drafter | None,
        config: SamplerConfig,
        seed: int,
        *,
        branch: int = 0,
    ) -> None:
        self.forwarded: list[int] = []
        self._target = target
        self._cache = cache
        self._drafter = drafter
        self._config = config
        self._shaper = Shaper(config, target.vocabulary)
        self._history: History | None = None
        self._key = mx.random.key(seed)
        self._pending = mx.array(0, mx.int32)
        self._unread: deque[_Flight] = deque()
        self._branch = branch
        self._newest: tuple[int, mx.array] | None = None  # start and hiddens of the newest forward
        self._prompt_length = 0
        self._last_known = 0

    def prefill(self, prompt: Sequence[int], reused: int, chunk: int) -> Iterator[int]:
        """Prefill a prompt: iterating forwards all of it but its last token, which becomes the pending one.

        Each step forwards a chunk and yields how many tokens the cache holds. To stop iterating ends the answer there.

        Args:
            prompt: The token ids, at least one.
            reused: How many of them the cache holds already, at most len(prompt) - 1.
            chunk: Tokens per forward.
        """
        tokens = mx.array(list(prompt), mx.int32)
        self.forwarded = list(prompt[:reused])
        self._prompt_length = len(prompt)
        if self._config.needs_history:
            self._history = History.of_prompt(tokens, self._target.vocabulary)
        self._pending, self._last_known = tokens[-1], prompt[-1]
        return self._forward_chunks(prompt, tokens, chunk)

    def _forward_chunks(self, prompt: Sequence[int], tokens: mx.array, chunk: int) -> Iterator[int]:
        last, start = len(prompt) - 1, len(self.forwarded)
        while start < last:
            end = min(start + chunk, last)
            if start < self._branch < end:
                end = self._branch
            hidden = self._target.forward(tokens[start:end], self._cache)
            if self._drafter is not None:
                self._drafter.extend(hidden, prompt[start + 1 : end + 1])
            mx.eval(hidden, self._cache.arrays())
            self.forwarded.extend(prompt[start:end])
            self._newest = start, hidden
            if end in {self._branch, last}:
                self._checkpoint()
            yield end
            start = end

    @property
    def max_depth(self) -> int:
        """The deepest draft that the next cycle can use: 0 without a drafter, or while it holds no pair."""
        ready = self._drafter is not None and self._drafter.pairs > 0
        return self._drafter.max_depth if self._drafter is not None and ready else 0

    @property
    def can_queue_ahead(self) -> bool:
        """Whether a cycle may be dispatched before the one in flight is read."""
        return len(self._unread) == 1 and self._unread[0].depth == 0

    def dispatch(self, depth: int) -> None:
        """Queue a cycle with at most `depth` draft tokens; it must not exceed `max_depth`."""
        start = self._cache.length
        draft_key, accept_key, self._key = self._split_key()
        inputs, draft = self._pending[None], None
        if depth and self._drafter is not None:
            draft = self._drafter.propose(depth, self._shaper, self._history, draft_key)
        if draft is not None:
            mx.async_eval(draft.tokens)  # runs while the larger verify graph is being built
            inputs = mx.concatenate([inputs, draft.tokens])
        chances = self._chances(inputs.size - 1, accept_key)
        strict = self._config.verify_core == "strict"
        hidden, logits = self._target.verify(inputs, self._cache, strict=strict)
        packed, token = self._judge(logits, draft, chances)
        mx.async_eval(packed)
        self._pending = token
        if draft is None and self._history is not None:
            self._history = self._history.after(token[None])
        self._unread.append(_Flight(inputs.size - 1, start, hidden, packed))

    def read(self) -> Step:
        """Wait for the oldest queued cycle and commit it; the only host sync of a cycle.

        Raises EngineError NON_FINITE when a target row holds NaN or no finite logit.
        """
        flight = self._unread.popleft()
        is_finite, accepted, token, *drafts = cast("list[int]", flight.packed.tolist())
        if not is_finite:
            raise non_finite(flight.start + 1)
        tokens = (*drafts[:accepted], token)
        self.forwarded.extend((self._last_known, *drafts[:accepted]))
        self._last_known = token
        self._newest = flight.start, flight.hidden
        if flight.depth:
            self._cache.trim_to(flight.start + 1 + accepted)
            if self._history is not None:
                self._history = self._history.after(mx.array(tokens, mx.int32))
        if self._drafter is not None:
            self._drafter.extend(flight.hidden[: accepted + 1], tokens)
        return Step(tokens, flight.depth, accepted)

    def settle(self, kept: int) -> None:
        """End the answer: trim cache and drafter to the prompt and the first `kept` tokens of the answer.

        Queued cycles and tokens committed past that are dropped. The newest kept token may not be in the cache yet;
        `forwarded` lists those that are.
        """
        self._unread.clear()
        del self.forwarded[self._prompt_length + kept :]
        self._cache.trim_to(len(self.forwarded))
        if self._drafter is not None:
            self._drafter.trim_to(min(self._drafter.pairs, max(0, len(self.forwarded) - 1)))
        self._checkpoint()

    def _checkpoint(self) -> None:
        if self._newest is not None:
            start, hidden = self._newest
            row = self._cache.length - 1 - start
            if 0 <= row < hidden.shape[0]:
                self._cache.checkpoint(hidden[row : row + 1])

    def _chances(self, drafted: int, key: mx.array | None) -> _Chances | None:
        """Draw the random numbers of a cycle, the [V] ones ahead of its forward; None when greedy.

        On a CPU mlx blocks once about a hundred operations are queued. The fewer of them come after the forward, the
        more of the forward still runs while the next cycle is built.
        """
        if key is None:
            return None
        uniform_key, exponential_key = mx.random.split(key)
        exponentials = draw_exponentials((self._target.vocabulary,), exponential_key)
        mx.async_eval(exponentials)
        return _Chances(mx.random.uniform(shape=(drafted,), key=uniform_key), exponentials)

    def _judge(self, logits: mx.array, draft: Draft | None, chances: _Chances | None) -> tuple[mx.array, mx.array]:
        """Turn the logits [k+1, V] of a verify step into its packed result and the next pending token."""
        drafts = mx.array([], mx.int32) if draft is None else draft.tokens
        history = self._history and self._history.rows(drafts)
        adjusted = self._shaper.adjust(logits, history)
        if chances is None:
            verdict = accept_greedy(mx.argmax(adjusted, axis=-1).astype(mx.int32), drafts)
        else:
            p = self._shaper.distribution(adjusted)
            q = (
                mx.zeros((0, p.shape[-1]), p.dtype)
                if draft is None or draft.distributions is None
                else draft.distributions
            )
            verdict = accept(p, q, drafts, *chances)
        head = mx.stack([finite(adjusted).astype(mx.int32), verdict.accepted, verdict.token])
        return mx.concatenate([head, drafts]), verdict.token

    def _split_key(self) -> tuple[mx.array | None, mx.array | None, mx.array]:
        """Return keys for drafting and accepting, None when greedy, and the key of the next cycle."""
        if self._config.greedy:
            return None, None, self._key
        draft_key, accept_key, rest = mx.random.split(self._key, 3)
        return draft_key, accept_key, rest


def non_finite(token: int) -> EngineError:
    """Return the error for a row of logits that holds NaN or no finite logit, after so many tokens."""
    return EngineError(
        ErrorKind.NON_FINITE,
        f"The model produced numbers that are not finite at token {token}; the answer stops here. "
        "Ask again; if it happens again, the model's files may be damaged: get the model again.",
    )
