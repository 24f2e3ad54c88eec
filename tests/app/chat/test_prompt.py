"""The prompt of a chat, its context use as text, and the ways out when the window is full."""

from __future__ import annotations

import dataclasses
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.conversation import Attachment, Message, MessageStatus, Role
from app.chat.prompt import (
    ContextUse,
    as_text,
    first_to_read,
    most_tokens,
    prompt_of,
    raised_window,
    with_files,
)
from app.chat.settings import ChatSettings
from mtplx_engine.config import ChatMessage
from tests.support.trees import grown, message, trees

PATH = [
    message("q1", None),
    message("a1", "q1", Role.ASSISTANT),
    message("q2", "a1"),
    message("a2", "q2", Role.ASSISTANT),
    message("q3", "a2"),
]


def test_words_and_tooltip_say_what_is_counted():
    use = ContextUse(8192, 8192, system=100, messages=1000, draft=30, answer=70, thinking=34)
    assert use.words() == "1,234 of 8,192 tokens, 15 %"
    assert use.tooltip().splitlines() == [
        "Context: 1,234 of 8,192 tokens, 15 %",
        "System prompt: 100",
        "Messages: 1,000",
        "This answer: 70",
        "Its thinking: 34",
        "What you type: 30",
    ]


@given(st.integers(1, 10**6), st.lists(st.integers(0, 10**6), min_size=5, max_size=5))
def test_the_share_never_exceeds_one(window, parts):
    use = ContextUse(window, window, *parts)
    assert 0 <= use.share <= 1
    assert use.is_over == (use.used >= window)
    assert (use.share == 1) == use.is_over


def test_a_window_is_raised_as_far_as_the_model_goes():
    assert raised_window(5000, 2048, 32768) == 6144
    assert raised_window(5000, 2048, 5100) == 5100
    assert raised_window(5000, 2048, 5000) is None
    assert raised_window(5000, 8192, 8192) is None


def test_the_oldest_turns_are_left_out_and_no_more_than_needed():
    counts = [100, 300, 50, 400, 20]
    assert first_to_read(PATH, counts, 1000, 1000) == "q2"  # room of 250 is needed
    assert first_to_read(PATH, counts, 1300, 1000) == "q3"
    assert first_to_read(PATH, counts, 1610, 1000) == ""
    assert first_to_read(PATH, counts, 5000, 1000) is None
    assert first_to_read([], [], 5000, 1000) is None


@given(st.text())
def test_no_byte_is_more_than_a_token(text):
    assert most_tokens([ChatMessage("user", text)]) >= len(text.encode(errors="replace"))


@pytest.mark.parametrize("status", [status for status in MessageStatus if status is not MessageStatus.ERROR])
def test_the_prompt_keeps_partial_answers(status: MessageStatus) -> None:
    conversation = grown((message("q", None), message("a", "q", Role.ASSISTANT, status=status), message("more", "a")))
    assert prompt_of(conversation) == (
        ChatMessage("user", "q"),
        ChatMessage("assistant", "a"),
        ChatMessage("user", "more"),
    )


def test_a_refused_question_does_not_spoil_the_next_one() -> None:
    refused = message("a2", "q2", Role.ASSISTANT, text="", status=MessageStatus.ERROR)
    conversation = grown(
        (
            message("q1", None),
            message("a1", "q1", Role.ASSISTANT),
            message("q2", "a1"),
            refused,
            message("q3", "a2"),
        )
    )
    assert [turn.content for turn in prompt_of(conversation)] == ["q1", "a1", "q3"]
    asked_again = dataclasses.replace(conversation, leaf_id="q2")
    assert [turn.content for turn in prompt_of(asked_again)] == ["q1", "a1", "q2"]


def test_the_prompt_leaves_out_empty_and_failed_answers_and_alternates() -> None:
    conversation = grown(
        (
            message("s", None, Role.SYSTEM),
            message("q1", "s"),
            message("half", "q1", Role.ASSISTANT, status=MessageStatus.ERROR),
            message("q2", "half"),
            message("a2", "q2", Role.ASSISTANT),
            message("q3", "a2"),
            message("a3", "q3", Role.ASSISTANT, text=" \n", status=MessageStatus.STREAMING),
        )
    )
    assert prompt_of(conversation) == (
        ChatMessage("system", "s"),
        ChatMessage("user", "q1\n\nq2"),
        ChatMessage("assistant", "a2"),
        ChatMessage("user", "q3"),
    )


@given(trees())
def test_the_prompt_is_the_text_of_the_path_in_order(messages: tuple[Message, ...]) -> None:
    conversation = grown(messages)
    prompt = prompt_of(conversation)
    assert "\n\n".join(turn.content for turn in prompt) == "\n\n".join(m.text for m in conversation.path())
    assert all(one.role != two.role for one, two in itertools.pairwise(prompt))


def test_an_empty_chat_is_an_empty_prompt_but_for_what_is_set() -> None:
    settings = ChatSettings(system_prompt="Be brief.")
    assert prompt_of(grown(())) == ()
    assert prompt_of(dataclasses.replace(grown(()), settings=settings)) == (ChatMessage("system", "Be brief."),)


def test_the_system_prompt_comes_first() -> None:
    conversation = dataclasses.replace(grown((message("q", None),)), settings=ChatSettings(system_prompt="Be brief."))
    assert prompt_of(conversation) == (ChatMessage("system", "Be brief."), ChatMessage("user", "q"))


def test_the_model_reads_from_where_it_is_told_to() -> None:
    chat = grown((message("q1", None), message("a1", "q1", Role.ASSISTANT), message("q2", "a1")))
    later = dataclasses.replace(chat, settings=ChatSettings(reads_from="q2"))
    assert [turn.content for turn in prompt_of(later)] == ["q2"]
    elsewhere = dataclasses.replace(chat, settings=ChatSettings(reads_from="in another branch"))
    assert len(prompt_of(elsewhere)) == 3


def test_thinking_goes_along_for_the_template_to_keep_or_drop() -> None:
    answer = message("a", "q", Role.ASSISTANT, thinking="hm")
    assert prompt_of(grown((message("q", None), answer)))[1] == ChatMessage("assistant", "a", "hm")


def test_an_answer_that_was_cut_in_its_thinking_is_kept_only_to_be_continued() -> None:
    cut = message("a", "q", Role.ASSISTANT, text="", thinking="hm", status=MessageStatus.STOPPED)
    chat = grown((message("q", None), cut))
    assert len(prompt_of(chat)) == 1
    assert prompt_of(chat, continues=True)[-1] == ChatMessage("assistant", "", "hm")


@given(st.text(alphabet="`a\n", max_size=30))
def test_no_file_can_end_its_fence(text: str) -> None:
    lines = as_text(Attachment("a\nb.txt", 3, text)).split("\n")
    assert lines[0] == "File “a b.txt”:"
    assert lines[1] == lines[-1] == "`" * len(lines[1])
    assert lines[1] not in "\n".join(re.findall("`+", text)).split("\n")
    assert "\n".join(lines[2:-1]) == text.rstrip()


def test_files_come_before_what_was_typed() -> None:
    files = (Attachment("a.csv", 3, "1,2"), Attachment("b.txt", 1, "x"))
    assert with_files("Sum it.", files) == "File “a.csv”:\n```\n1,2\n```\n\nFile “b.txt”:\n```\nx\n```\n\nSum it."
    only_files = message("", None, text="", attachments=files[:1])
    assert prompt_of(grown((only_files,)))[0].content == "File “a.csv”:\n```\n1,2\n```"
