"""Copies follow the newest earlier match, and what is forgotten leaves no trace."""

from __future__ import annotations

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.config import SamplerConfig
from mtplx_engine.draft import prompt_lookup
from mtplx_engine.draft.prompt_lookup import MATCH, PromptLookupDrafter, SuffixIndex
from mtplx_engine.sampling import Shaper

BITS = st.lists(st.integers(0, 1), max_size=60)
SHAPER = Shaper(SamplerConfig(), 100)


def newest_match(tokens: list[int]) -> int:
    """The definition: the longest shorter text that ends as this one does."""
    ends = range(len(tokens) - 1, MATCH - 1, -1)
    return next((end for end in ends if tokens[end - MATCH : end] == tokens[-MATCH:]), 0)


def index_of(tokens: list[int]) -> SuffixIndex:
    index = SuffixIndex()
    index.append(tokens)
    return index


def propose(tokens: list[int], depth: int, key: mx.array | None = None) -> list[int]:
    drafter = PromptLookupDrafter(100)
    assert drafter.begin([*tokens, 0], len(tokens) - 1) == len(tokens) - 1
    draft = drafter.propose(depth, SHAPER, None, key)
    return [] if draft is None else draft.tokens.tolist()


@given(BITS)
def test_the_match_is_the_newest_one(tokens: list[int]) -> None:
    assert index_of(tokens).match() == newest_match(tokens)


@given(st.lists(st.tuples(st.integers(0, 40), BITS), max_size=8))
def test_after_any_walk_the_index_is_a_fresh_one(walk: list[tuple[int, list[int]]]) -> None:
    index, tokens = SuffixIndex(), []
    for keep, more in walk:
        index.trim_to(keep)
        index.append(more)
        tokens = [*tokens[:keep], *more]
        assert vars(index) == vars(index_of(tokens))


@given(BITS)
def test_texts_whose_hashes_collide_do_not_match(tokens: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SuffixIndex, "_key", lambda *_: 0)
        match = index_of(tokens).match()
    assert match in (0, len(tokens) - 1)
    assert not match or tokens[match - MATCH : match] == tokens[-MATCH:]


def test_what_followed_is_copied() -> None:
    once = [10, 11, 12, 13, 14, 15, 16, 17, 1, 2, 3, 4, 5]
    assert propose([9, *once, 8, *once[:MATCH]], 4) == [1, 2, 3, 4]
    assert propose([9, *once, 8, *once[:MATCH]], 8) == [1, 2, 3, 4, 5, 8, 10, 11]
    assert propose([9, *once, 8, *once[1:MATCH]], 4) == []  # one token short


def test_the_newer_of_two_matches_is_copied() -> None:
    words = list(range(10, 10 + MATCH))
    assert propose([*words, 1, *words, 2, *words], 1) == [2]


def test_a_copy_goes_on_through_what_it_copies() -> None:
    assert propose([1, 2, 3] * 4, 8) == [1, 2, 3, 1, 2, 3, 1, 2]
    assert propose([7] * 9, 3) == [7, 7, 7]


def test_its_distribution_is_the_point_that_it_drew() -> None:
    drafter = PromptLookupDrafter(5)
    drafter.begin([1, 2, 3] * 4, 11)
    draft = drafter.propose(3, SHAPER, None, mx.random.key(0))
    assert draft.tokens.tolist() == [1, 2, 3]
    assert draft.distributions.dtype == mx.float32
    assert draft.distributions.tolist() == [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]]
    assert drafter.propose(3, SHAPER, None, None).distributions is None


def test_without_a_match_no_depth_is_worth_asking_for() -> None:
    drafter = PromptLookupDrafter(5)
    drafter.begin([1, 2, 3] * 4, 6)
    assert (drafter.max_depth, drafter.pairs) == (0, 6)
    drafter.extend(mx.zeros((4, 1)), [2, 3, 1, 2])
    assert (drafter.max_depth, drafter.pairs) == (8, 10)
    drafter.trim_to(9)
    assert (drafter.max_depth, drafter.pairs) == (0, 9)


def test_appending_costs_the_same_however_long_the_text_is(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    monkeypatch.setattr(prompt_lookup.SuffixIndex, "_key", lambda _, length: looked.append(length) or length)
    index = SuffixIndex()
    for token in range(500):
        index.append([token])
        index.match()
    index.trim_to(0)
    assert len(looked) == 2 * (500 - MATCH + 1)
