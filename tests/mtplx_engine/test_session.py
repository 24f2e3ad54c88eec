"""From where a prompt goes on, whatever the cache can reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import mlx.core as mx
import pytest

from mtplx_engine.session import Session, Start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.cache import TokenCache
    from mtplx_engine.draft.drafter import Drafter

TOKENS = [1, 2, 3, 4, 5, 6, 7, 8]


class Reach:
    """A cache that can go back to some lengths only, and knows the hidden at some of them."""

    def __init__(self, lengths: set[int], hiddens: tuple[int, ...] = ()) -> None:
        self.lengths = lengths | {0}
        self.hiddens = {length: mx.full((1, 2), length) for length in hiddens}
        self.trimmed_to = -1

    def reachable(self, length: int) -> int:
        return max(known for known in self.lengths if known <= length)

    def hidden_at(self, length: int) -> mx.array | None:
        return self.hiddens.get(length)

    def trim_to(self, length: int) -> None:
        self.trimmed_to = length


class Pairs:
    """A drafter that notes what it is told, and holds no more pairs than it had."""

    def __init__(self, had: int = 8) -> None:
        self.told: list[object] = []
        self._had = had

    def begin(self, prompt: Sequence[int], pairs: int) -> int:
        self.told.append(("begin", pairs))
        return min(pairs, self._had)

    def trim_to(self, pairs: int) -> None:
        self.told.append(pairs)

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:
        self.told.append((hidden.tolist(), list(tokens)))


def _begin(cache: Reach, prompt: list[int], drafter: Pairs | None = None) -> Start:
    session = Session(cast("TokenCache", cache), cast("Drafter | None", drafter), list(TOKENS))
    start = session.begin(prompt)
    assert cache.trimmed_to == start.reused
    return start


def test_without_a_drafter_all_that_is_shared_and_reachable_is_reused() -> None:
    everything = set(range(9))
    assert _begin(Reach(everything), [1, 2, 3, 9, 9]) == (3, 0)
    assert _begin(Reach(everything), [*TOKENS, 9]) == (8, 0)
    assert _begin(Reach(everything), TOKENS) == (7, 0)  # the last token is always forwarded
    assert _begin(Reach(everything), [9, 9]) == (0, 0)


def test_where_a_prompt_parts_from_what_cannot_be_reached_is_told() -> None:
    assert _begin(Reach({3}), [1, 2, 3, 4, 5, 9]) == (3, 5)
    assert _begin(Reach(set()), [1, 2, 3, 4, 5, 9]) == (0, 5)
    assert _begin(Reach({4}), [1, 2, 3, 4, 5, 9]) == (4, 0)  # one token is not worth a checkpoint


def test_a_drafter_gets_the_pair_of_a_known_hidden() -> None:
    drafter = Pairs()
    assert _begin(Reach({3}, (3,)), [1, 2, 3, 9, 9], drafter) == (3, 0)
    assert drafter.told == [("begin", 2), ([[3, 3]], [9])]


def test_with_an_unknown_hidden_one_token_is_read_again() -> None:
    drafter = Pairs()
    assert _begin(Reach(set(range(9))), [1, 2, 3, 9, 9], drafter) == (2, 0)
    assert drafter.told == [("begin", 2), 2]
    assert _begin(Reach({0, 5}), [*TOKENS[:6], 9], Pairs()) == (0, 6)


def test_nothing_in_common_forgets_everything() -> None:
    drafter = Pairs()
    assert _begin(Reach({3}, (3,)), [9, 1, 2], drafter) == (0, 0)
    assert drafter.told == [("begin", 0), 0]


@pytest.mark.parametrize("hiddens", [(), (3,)])
def test_what_a_drafter_lacks_is_read_again(hiddens: tuple[int, ...]) -> None:
    drafter = Pairs(had=1)
    assert _begin(Reach(set(range(9)), hiddens), [1, 2, 3, 9, 9], drafter) == (1, 3)
    assert drafter.told == [("begin", 2), 1]
    assert _begin(Reach({0, 3}, hiddens), [1, 2, 3, 9, 9], Pairs(had=1)) == (0, 3)
