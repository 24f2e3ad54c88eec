"""Two drafters as one: the first proposes when it can, otherwise the second."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mlx.core as mx

    from mtplx_engine.draft.drafter import Draft, Drafter
    from mtplx_engine.sampling import History, Shaper


class CombinedDrafter:
    """Asks `first`, and `second` when it has nothing; both are told every true pair.

    Which of them proposes depends on the text alone, so each draft's law is the one it was drawn from.

    Args:
        first: Often has nothing to propose, as prompt lookup.
        second: The one to fall back on, as the model's own head.
    """

    def __init__(self, first: Drafter, second: Drafter) -> None:
        self.first = first
        self.second = second

    @property
    def max_depth(self) -> int:
        """The largest depth that is worth asking either of them for."""
        return max(self.first.max_depth, self.second.max_depth)

    @property
    def pairs(self) -> int:
        """How many true pairs both hold."""
        return min(self.first.pairs, self.second.pairs)

    def begin(self, prompt: Sequence[int], pairs: int) -> int:
        """Begin an answer with the pairs that both have. See `Drafter.begin`."""
        held = min(self.first.begin(prompt, pairs), self.second.begin(prompt, pairs))
        self.trim_to(held)
        return held

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:
        """Append true pairs to both."""
        self.first.extend(hidden, tokens)
        self.second.extend(hidden, tokens)

    def trim_to(self, pairs: int) -> None:
        """Forget all but the oldest `pairs` pairs of both."""
        self.first.trim_to(pairs)
        self.second.trim_to(pairs)

    def propose(
        self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None
    ) -> Draft | None:
        """Return the draft of the first that has one. See `Drafter.propose`."""
        draft = self.first.propose(depth, shaper, history, key)
        return draft or self.second.propose(depth, shaper, history, key)
