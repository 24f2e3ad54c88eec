"""The next answer prefills only the new part of its prompt, and equals that of an engine without a cache.

First with plain keys and values, then with a hybrid, which starts from checkpoints, then the toy as users chat with it.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.engine import Engine
from mtplx_engine.ipc.protocol import Finished, Generate, Tokens
from tests.support.tiny_chat import PROMPT, Chat, SetAtCheck
from tests.support.tiny_hybrid import hybrid_chat_model
from tests.support.toy import TOY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel
    from mtplx_engine.stats import DecodeStats


def check_next_answer(chat: Chat, prompt: Sequence[int], cached: int, **settings: Any) -> None:
    """Answer once more; the tokens are those of an engine that never saw anything else."""
    chat.answer(prompt, **settings)
    assert chat.tokens == Chat(chat.loaded).answer(prompt, depth=0, max_tokens=settings.get("max_tokens", 7))
    assert chat.cached == cached
    chat.check()


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_a_chat_that_goes_on_prefills_only_the_new_part(tiny_model: LoadedModel, depth: int) -> None:
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
    chat.answer(depth=depth, cancelled=SetAtCheck(1))
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
            chat.answer(text, depth=depth, temperature=0.7, cancelled=SetAtCheck(pick.randrange(12)))
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


@pytest.fixture(scope="module")
def hybrid(tiny_model: LoadedModel) -> LoadedModel:
    return hybrid_chat_model(tiny_model, "qwen3_5")


def cached_of(chat: Chat, prompt: Sequence[int], **more: Any) -> int:
    """Answer once more; the tokens are those of an engine that never saw anything else. Returns what was cached."""
    chat.answer(prompt, **more)
    assert chat.tokens == Chat(chat.loaded).answer(prompt, depth=0)
    chat.check()
    return chat.cached


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_a_hybrid_chat_that_goes_on_is_regenerated_and_edited(hybrid: LoadedModel, depth: int) -> None:
    chat = Chat(hybrid, right=[2, 0, 4])
    second = [*PROMPT, *chat.answer(depth=depth), 9, 8, 7]
    assert cached_of(chat, second, depth=depth) == 46  # appended: all but the pending token
    third = [*second, *chat.tokens, 6, 5]
    assert cached_of(chat, third, depth=depth) == 56
    assert cached_of(chat, third, depth=depth) == 58  # regenerated: all but the prompt's last token
    edited = [*second[:47], 30, 31, 32, 33]
    assert cached_of(chat, edited, depth=depth) == 46  # the second question edited: up to the first answer
    assert cached_of(chat, PROMPT, depth=depth) == 39  # the first answer regenerated
    assert cached_of(chat, [*PROMPT[:20], 3], depth=depth) == 0  # nothing was kept of the middle of a message


@pytest.mark.parametrize("depth", [0, 3])
def test_where_chats_part_a_checkpoint_is_made(hybrid: LoadedModel, depth: int) -> None:
    chat = Chat(hybrid, right=[3, 1])
    other = [*PROMPT[:20], *reversed(PROMPT[:15])]
    cached_of(chat, PROMPT, depth=depth)
    assert cached_of(chat, other, depth=depth) == 0  # here it is seen that they share 20 tokens
    assert cached_of(chat, PROMPT, depth=depth) == 20
    assert cached_of(chat, other, depth=depth) == 20


def test_an_answer_without_drafts_leaves_checkpoints_too(hybrid: LoadedModel) -> None:
    chat = Chat(hybrid)
    second = [*PROMPT, *chat.answer(depth=3), 9]
    assert cached_of(chat, second, depth=0) == 46
    assert cached_of(chat, second, depth=0) == 47
    assert cached_of(chat, second, depth=3) == 0  # the drafter missed a turn
    assert cached_of(chat, second, depth=3) == 47


@pytest.mark.parametrize("depth", [0, 3])
def test_a_hybrid_after_a_cancel_in_prefill_goes_on(hybrid: LoadedModel, depth: int) -> None:
    chat = Chat(hybrid)
    chat.answer(depth=depth, cancelled=SetAtCheck(1))
    assert chat.held == PROMPT[:32]
    assert cached_of(chat, PROMPT, depth=depth) == 32


ADDED = st.lists(st.integers(4, 99), min_size=1, max_size=3)
TURNS = st.lists(
    st.tuples(st.booleans(), st.sampled_from(["append", "regenerate", "edit"]), ADDED, st.sampled_from([0, 3])),
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
        cached_of(chat, prompts[which], depth=depth)
        past.append(prompts[which])


QUESTIONS = ("json.loads returns an object from a string", "os.path.join", "argparse.ArgumentParser")


def user(text: str) -> ChatMessage:
    return ChatMessage("user", text)


class ToyChat:
    """Answers greedily; each answer is held against that of an engine that has read nothing."""

    def __init__(self, data_dir: Path) -> None:
        self._engines = [Engine(), Engine()]
        for engine in self._engines:
            engine.load(str(TOY), data_dir, lambda *_: None, threading.Event())

    def ask(self, *messages: ChatMessage, depth: int = 3, **more: Any) -> tuple[str, DecodeStats]:
        sampler = SamplerConfig(temperature=0, speculative_depth=depth)
        request = Generate(1, messages, sampler, **{"max_tokens": 24, **more})
        self._engines[1].forget()
        (text, stats), (fresh, _) = (self._run(engine, request) for engine in self._engines)
        assert text == fresh
        return text, stats

    @staticmethod
    def _run(engine: Engine, request: Generate) -> tuple[str, DecodeStats]:
        *events, last = engine.generate(request, threading.Event())
        assert isinstance(last, Finished)
        said = "".join(event.text for event in events if isinstance(event, Tokens)) + last.text
        return said, last.stats


@pytest.fixture(scope="module")
def toy_chat(tmp_path_factory: pytest.TempPathFactory) -> ToyChat:
    return ToyChat(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("depth", [0, 3])
def test_a_hybrid_reuses_what_it_read_when_messages_are_edited_answered_again_and_continued(
    toy_chat: ToyChat, depth: int
) -> None:
    first, second, other = map(user, QUESTIONS)
    text, stats = toy_chat.ask(first, depth=depth)
    begun = stats.prompt_tokens
    said = ChatMessage("assistant", text)

    _, stats = toy_chat.ask(first, said, second, depth=depth)
    assert stats.cached_tokens >= begun - 1
    _, again = toy_chat.ask(first, said, second, depth=depth)
    assert again.cached_tokens == again.prompt_tokens - 1  # answered again
    _, edited = toy_chat.ask(first, said, other, depth=depth)
    assert edited.cached_tokens >= begun - 1  # the second question edited
    _, back = toy_chat.ask(first, said, second, depth=depth)
    assert back.cached_tokens >= begun - 1  # back on the old branch

    cut, stats = toy_chat.ask(first, depth=depth, max_tokens=5)
    half = ChatMessage("assistant", cut)
    rest, stats = toy_chat.ask(first, half, depth=depth, max_tokens=19, continues=True)
    assert stats.cached_tokens >= begun - 1
    assert rest
