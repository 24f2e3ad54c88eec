"""What the decoding loop asks of a drafter."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        """The largest depth that is worth asking for now; 0 while it has nothing to propose."""
        ...

    @property
    def pairs(self) -> int:
        """How many true pairs the drafter holds."""
        ...

    def begin(self, prompt: Sequence[int], pairs: int) -> int:
        """Begin an answer to a prompt.

        Args:
            prompt: The token ids.
            pairs: How many pairs it shall hold, fewer than the prompt has tokens. Its own first ones, as far as it
                has so many, are those of the prompt; the token before the first pair may be another.

        Returns:
            How many it holds now. A drafter that needs hidden states cannot make the pairs that it lacks; the others
            always return `pairs`.
        """
        ...

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:
        """Append true pairs: hidden [m, H] as the target returned them, the m tokens that follow them."""
        ...

    def trim_to(self, pairs: int) -> None:
        """Forget all but the oldest `pairs` pairs."""
        ...

    def propose(
        self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None
    ) -> Draft | None:
        """Draft up to `depth` tokens after the last pair.

        Args:
            depth: k, at least 1; at least one pair must be held.
            shaper: The law to draw from, over the full vocabulary.
            history: What came before, the last pair's token included; None when the law does not depend on it.
            key: Random key, or None to take the most probable token each time.

        Returns:
            From 1 to `depth` draft tokens, or None when it has none.
        """
        ...
