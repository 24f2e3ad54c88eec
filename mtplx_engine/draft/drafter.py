"""What the decoding loop asks of a drafter."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import mlx.core as mx

    from mtplx_engine.sampling import History, Shaper


class Draft(NamedTuple):
    """Draft tokens and the laws they were drawn from.

    Attributes:
        tokens: [k] int32, on device.
        laws: [k, V] float32, row i is the law of token i; None when the tokens are the drafter's best guesses and
            the target is greedy too, where only equality counts.
    """

    tokens: mx.array
    laws: mx.array | None


class Drafter(Protocol):
    """Proposes the tokens that follow.

    A drafter is told every committed token together with the target's hidden state before it: pair t is
    (H_t, token t+1). It never sees more of the target than that.
    """

    @property
    def max_depth(self) -> int:
        """The largest depth that is worth asking for."""
        ...

    @property
    def pairs(self) -> int:
        """How many true pairs the drafter holds."""
        ...

    def extend(self, hidden: mx.array, tokens: mx.array) -> None:
        """Append true pairs: hidden [m, H] after the final norm, tokens [m] that follow them."""
        ...

    def trim_to(self, pairs: int) -> None:
        """Forget all but the oldest `pairs` pairs."""
        ...

    def propose(self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None) -> Draft:
        """Draft `depth` tokens after the last pair.

        Args:
            depth: k, at least 1; at least one pair must be held.
            shaper: The law to draw from, over the full vocabulary.
            history: What came before, the last pair's token included; None when the law does not depend on it.
            key: Random key, or None to take the most probable token each time.
        """
        ...
