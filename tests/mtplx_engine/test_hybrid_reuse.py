"""A hybrid's next answer starts from a checkpoint, and says what an engine without a past would say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tiny_chat import PROMPT, Chat, SetAtLook
from tests.support.tiny_hybrid import hybrid_chat_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.models.loader import LoadedModel


@pytest.fixture(scope="module")
def hybrid(tiny_model: LoadedModel) -> LoadedModel:
    return hybrid_chat_model(tiny_model, "qwen3_5")


def ask(chat: Chat, prompt: Sequence[int], **more: Any) -> int:
    """Answer once more; the tokens are those of an engine that never saw anything else. Returns what was cached."""
    chat.answer(prompt, **more)
    assert chat.tokens == Chat(chat.loaded).answer(prompt, depth=0)
    chat.check()
    return chat.cached


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_a_chat_that_goes_on_is_regenerated_and_edited(hybrid: LoadedModel, depth: int) -> None:
    chat = Chat(hybrid, right=[2, 0, 4])
    second = [*PROMPT, *chat.answer(depth=depth), 9, 8, 7]
    assert ask(chat, second, depth=depth) == 46  # appended: all but the pending token
    third = [*second, *chat.tokens, 6, 5]
    assert ask(chat, third, depth=depth) == 56
    assert ask(chat, third, depth=depth) == 58  # regenerated: all but the prompt's last token
    edited = [*second[:47], 30, 31, 32, 33]
    assert ask(chat, edited, depth=depth) == 46  # the second question edited: up to the first answer
    assert ask(chat, PROMPT, depth=depth) == 39  # the first answer regenerated
    assert ask(chat, [*PROMPT[:20], 3], depth=depth) == 0  # nothing was kept of the middle of a message


@pytest.mark.parametrize("depth", [0, 3])
def test_where_chats_part_a_checkpoint_is_made(hybrid: LoadedModel, depth: int) -> None:
    chat = Chat(hybrid, right=[3, 1])
    other = [*PROMPT[:20], *reversed(PROMPT[:15])]
    ask(chat, PROMPT, depth=depth)
    assert ask(chat, other, depth=depth) == 0  # here it is seen that they share 20 tokens
    assert ask(chat, PROMPT, depth=depth) == 20
    assert ask(chat, other, depth=depth) == 20


def test_an_answer_without_drafts_leaves_checkpoints_too(hybrid: LoadedModel) -> None:
    chat = Chat(hybrid)
    second = [*PROMPT, *chat.answer(depth=3), 9]
    assert ask(chat, second, depth=0) == 46
    assert ask(chat, second, depth=0) == 47
    assert ask(chat, second, depth=3) == 0  # the drafter missed a turn
    assert ask(chat, second, depth=3) == 47


@pytest.mark.parametrize("depth", [0, 3])
def test_after_a_cancel_in_prefill_reading_goes_on(hybrid: LoadedModel, depth: int) -> None:
    chat = Chat(hybrid)
    chat.answer(depth=depth, cancelled=SetAtLook(1))
    assert chat.held == PROMPT[:32]
    assert ask(chat, PROMPT, depth=depth) == 32


QUESTIONS = st.lists(st.integers(4, 99), min_size=1, max_size=3)
TURNS = st.lists(
    st.tuples(
        st.booleans(), st.sampled_from(["append", "regenerate", "edit"]), QUESTIONS, st.sampled_from([0, 3])
    ),
    min_size=3,
    max_size=7,
)


@pytest.mark.parametrize("layers", ["hybrid", "plain"])
@settings(max_examples=settings().max_examples // 10)  # chats are slow: a tenth of what the profile says
@given(turns=TURNS)
def test_two_chats_from_one_prefix_never_disturb_each_other(
    hybrid: LoadedModel, tiny_model: LoadedModel, layers: str, turns: list[Any]
) -> None:
    model = hybrid if layers == "hybrid" else tiny_model
    chat = Chat(model, right=[3, 0, 1, 5])
    prompts = [[*PROMPT[:18], 4], [*PROMPT[:18], 5]]
    asked: list[list[list[int]]] = [[], []]
    for which, how, question, depth in turns:
        past = asked[which]
        if how == "append" and past:
            prompts[which] = [*past[-1], *Chat(model).answer(past[-1], depth=0), *question]
        elif how == "edit" and past:
            at = question[0] % len(past)
            del past[at + 1 :]
            prompts[which] = [*past[at][:-1], *question]
        ask(chat, prompts[which], depth=depth)
        past.append(prompts[which])
