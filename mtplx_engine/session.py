"""What is kept between two answers, and from where the next prompt goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.cache import TokenCache
    from mtplx_engine.config import DrafterKind
    from mtplx_engine.draft.drafter import Drafter


class Start(NamedTuple):
    """Where a prompt goes on.

    Attributes:
        reused: How many of its tokens the caches hold.
        branch: Where it left what they held before, when that is well past `reused`; else 0.
    """

    reused: int
    branch: int


@dataclass(slots=True)
class Session:
    """The caches of one model.

    Attributes:
        cache: The target's.
        drafter: None when answers are not drafted; else it knows the pairs of all tokens that the cache holds.
        tokens: Those tokens.
        kind: What the drafter is.
    """

    cache: TokenCache
    drafter: Drafter | None
    tokens: list[int] = field(default_factory=list)
    kind: DrafterKind | None = None

    def begin(self, prompt: Sequence[int]) -> Start:
        """Trim the caches to what they share with a prompt of at least one token.

        A drafter's next pair needs the hidden of the last token before it: where no checkpoint knows it, one shared
        token is forwarded again; and so is everything from the first pair that it lacks.
        """
        shared = _shared(self.tokens, prompt)
        reused = self.cache.reachable(min(shared, len(prompt) - 1))
        if self.drafter is not None:
            hidden = self.cache.hidden_at(reused)
            held = self.drafter.begin(prompt, max(0, reused - 1))
            if hidden is not None and held == reused - 1:
                self.drafter.extend(hidden, prompt[reused : reused + 1])
            else:
                reused = self.cache.reachable(held)
                self.drafter.trim_to(reused)
        self.cache.trim_to(reused)
        return Start(reused, shared if reused + 1 < shared else 0)


def _shared(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the length of the common prefix."""
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length
