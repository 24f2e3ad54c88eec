"""The `Drafter` protocol, and a drafter that combines two."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mlx.core as mx

    from mtplx_engine.sampling import History, Shaper


class Draft(NamedTuple):
    """Draft tokens and the distributions q they were drawn from.

    Attributes:
        tokens: [k] int32, on device.
        distributions: [k, V] float32, row i is the distribution of token i; None when the tokens are the drafter's most
            probable ones and the target is greedy too, where only equality counts.
    """

    tokens: mx.array
    distributions: mx.array | None


class Drafter(Protocol):
    """Proposes the next tokens of a sequence.

    A drafter is given every committed token together with the target's hidden state before it: pair t is
    (hidden state of token t, token t+1). A true pair is one of committed tokens. It never sees more of the target.
    """

    @property
    def max_depth(self) -> int:
        """The largest depth that is worth asking for now; 0 while it has nothing to propose."""

    @property
    def pairs(self) -> int:
        """How many true pairs the drafter holds."""

    def begin(self, prompt: Sequence[int], pairs: int) -> int:
        """Start an answer with `pairs` pairs, fewer than the prompt has tokens; return how many are held now.

        The pairs that it holds already agree with the prompt up to there; only the token before the first pair may
        differ. A drafter that needs hidden states cannot make the pairs that it lacks; others always return `pairs`.
        """

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:
        """Append true pairs: hiddens [m, H] as the target returned them, and the m tokens after them."""

    def trim_to(self, pairs: int) -> None:
        """Drop all but the oldest `pairs` pairs."""

    def propose(self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None) -> Draft | None:
        """Draft up to `depth` tokens after the last pair.

        Args:
            depth: k, at least 1; at least one pair must be held.
            shaper: Gives the distribution to draw from, over the full vocabulary.
            history: The tokens before, the last pair's included; None when the distribution does not depend on them.
            key: Random key, or None to take the most probable token each time.

        Returns:
            From 1 to `depth` draft tokens, or None when it has none.
        """


class CombinedDrafter:
    """Drafts with `first`, and with `second` when that has nothing; both are given every true pair.

    `first` often has nothing to propose, as prompt lookup; `second` is the fallback, as the model's own head. Which of
    them proposes depends on the tokens alone, so that q stays the distribution the draft was drawn from.
    """

    def __init__(self, first: Drafter, second: Drafter) -> None:
        self.first = first
        self.second = second

    @property
    def max_depth(self) -> int:
        return max(self.first.max_depth, self.second.max_depth)

    @property
    def pairs(self) -> int:
        return min(self.first.pairs, self.second.pairs)

    def begin(self, prompt: Sequence[int], pairs: int) -> int:
        """Start an answer with the pairs that both have. See `Drafter.begin`."""
        held = min(self.first.begin(prompt, pairs), self.second.begin(prompt, pairs))
        self.trim_to(held)
        return held

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:
        self.first.extend(hidden, tokens)
        self.second.extend(hidden, tokens)

    def trim_to(self, pairs: int) -> None:
        self.first.trim_to(pairs)
        self.second.trim_to(pairs)

    def propose(self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None) -> Draft | None:
        draft = self.first.propose(depth, shaper, history, key)
        return draft or self.second.propose(depth, shaper, history, key)
