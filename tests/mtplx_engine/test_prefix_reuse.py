"""The next answer reads only what is new of its prompt, and says what an engine without a past would say."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.tiny_chat import PROMPT, Chat, SetAtLook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.models.loader import LoadedModel


def check_next_answer(chat: Chat, prompt: Sequence[int], cached: int, **settings: Any) -> None:
    """Answer once more; the tokens are those of an engine that never saw anything else."""
    chat.answer(prompt, **settings)
    assert chat.tokens == Chat(chat.loaded).answer(prompt, depth=0, max_tokens=settings.get("max_tokens", 7))
    assert chat.cached == cached
    chat.check()


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_a_chat_that_goes_on_reads_only_what_is_new(tiny_model: LoadedModel, depth: int) -> None:
    chat = Chat(tiny_model, right=[2, 0, 4])
    first = chat.answer(depth=depth)
    again = 1 if depth else 0  # one token is read again for its hidden state, which the drafter needs
    check_next_answer(chat, [*PROMPT, *first, 9, 8, 7], cached=46 - again, depth=depth)
    check_next_answer(chat, [*PROMPT, *first, 9, 8, 7, 6], cached=50 - again, depth=depth)  # the end edited
    check_next_answer(chat, [*PROMPT, *first, 9, 8, 7, 6], cached=50 - again, depth=depth)  # regenerated
    check_next_answer(chat, [*PROMPT[:25], 5, 6, 7], cached=25 - again, depth=depth)  # the middle edited
    check_next_answer(chat, PROMPT[:10], cached=9 - again, depth=depth)  # only the beginning left
    check_next_answer(chat, [PROMPT[0]], cached=0, depth=depth)
    check_next_answer(chat, PROMPT, cached=1 - again, depth=depth)


@pytest.mark.parametrize("depth", [0, 3])
def test_two_chats_in_turn(tiny_model: LoadedModel, depth: int) -> None:
    chat = Chat(tiny_model, right=[3, 1])
    again = 1 if depth else 0
    other = [*PROMPT[:12], *reversed(PROMPT[12:30])]
    shared = 12
    assert other[shared] != PROMPT[shared]
    first = chat.answer(PROMPT, depth=depth)
    check_next_answer(chat, other, cached=shared - again, depth=depth)
    check_next_answer(chat, [*PROMPT, *first, 9, 9], cached=shared - again, depth=depth)
    check_next_answer(chat, [*other, 4], cached=shared - again, depth=depth)


def test_drafting_switched_off_and_on_between_turns(tiny_model: LoadedModel) -> None:
    chat = Chat(tiny_model, right=[3, 0])
    first = chat.answer(depth=3)
    check_next_answer(chat, [*PROMPT, *first, 9], cached=46, depth=0)
    check_next_answer(chat, [*PROMPT, *first, 9, 8], cached=0, depth=3)  # the drafter missed a turn
    check_next_answer(chat, [*PROMPT, *first, 9, 8, 7], cached=48, depth=3)
    check_next_answer(chat, [*PROMPT, *first, 9, 8, 7, 6], cached=49, depth="auto")


@pytest.mark.parametrize("depth", [0, 3])
def test_after_a_cancel_in_prefill_reading_goes_on(tiny_model: LoadedModel, depth: int) -> None:
    chat = Chat(tiny_model)
    chat.answer(depth=depth, cancelled=SetAtLook(1))
    assert chat.held == PROMPT[:32]
    check_next_answer(chat, PROMPT, cached=31 if depth else 32, depth=depth)


def test_closing_before_prefill_keeps_what_was_there(tiny_model: LoadedModel) -> None:
    chat = Chat(tiny_model)
    first = chat.answer()
    chat.answer([*PROMPT, *first, 9], events=1)
    chat.check()
    check_next_answer(chat, [*PROMPT, *first, 9], cached=44)


@pytest.mark.parametrize("seed", range(4))
def test_any_walk_through_chats(tiny_model: LoadedModel, seed: int) -> None:
    pick = random.Random(seed)
    chat = Chat(tiny_model, right=[pick.randrange(6) for _ in range(17)], depths=[0, 3, 0, 0, 1, 5])
    text = list(PROMPT)
    for _ in range(14):
        how = pick.random()
        if how < 0.3:
            text = text[: pick.randrange(1, len(text) + 1)]
        elif how < 0.6:
            text = [*text, *chat.tokens]
        text = [*text, *pick.choices(range(4, 100), k=pick.randrange(4))]
        depth = pick.choice([0, 1, 3, 5, "auto"])
        if pick.random() < 0.5:
            chat.answer(text, depth=depth, temperature=0.7, cancelled=SetAtLook(pick.randrange(12)))
        else:
            chat.answer(text, depth=depth)
            assert chat.tokens == Chat(tiny_model).answer(text, depth=0)
        if pick.random() < 0.5:  # otherwise the drafter's last pairs stay unwritten
            chat.check()


def test_a_long_chat_crosses_the_caches_own_steps(tiny_model: LoadedModel) -> None:
    chat = Chat(tiny_model, right=[4, 2, 0, 3])
    text = list(PROMPT)
    for turn in range(3):
        chat.answer(text, depth=4, max_tokens=100)
        chat.check()
        assert chat.tokens == Chat(tiny_model).answer(text, depth=0, max_tokens=100)
        text = [*text, *chat.tokens, 5 + turn]
    assert len(chat.held) > 256
