"""Chats for people: the branch that is shown, with thinking, files and why an answer ended."""

from __future__ import annotations

import dataclasses

from hypothesis import given

from app.chat.chat_text import to_markdown, to_text
from app.chat.conversation import Attachment, Conversation, MessageStatus, Role
from tests.support.chats import chat, message
from tests.support.random_chats import conversations

CHAT = Conversation(
    chat("c"),
    (
        message("q", text="What is in it?", attachments=(Attachment("a.md", 9, "```\ncode\n```"),)),
        message("lost", parent_id="q", role=Role.ASSISTANT, text="Another branch"),
        message(
            "a",
            parent_id="q",
            role=Role.ASSISTANT,
            model="Toy",
            text="**Code**, it seems.",
            thinking="Let me look.\n\nYes.",
            status=MessageStatus.STOPPED,
        ),
    ),
    "a",
)


def test_markdown() -> None:
    assert to_markdown([CHAT]) == (
        "# Title c\n\n## You\n\n**a.md**\n\n````\n```\ncode\n```\n````\n\nWhat is in it?\n\n"
        "## Toy\n\n> *Thinking*\n\n> Let me look.\n>\n> Yes.\n\n**Code**, it seems.\n\n*[Stopped]*\n"
    )


def test_plain_text() -> None:
    assert to_text([CHAT]) == (
        "Title c\n-------\n\nYou:\n[a.md]\n    ```\n    code\n    ```\nWhat is in it?\n\n"
        "Toy:\n    (Thinking) Let me look.\n\n    Yes.\n**Code**, it seems.\n[Stopped]\n"
    )


def test_several_chats_stand_apart() -> None:
    other = dataclasses.replace(CHAT, chat=chat("d"))
    assert to_markdown([CHAT, other]).count("\n\n---\n\n# ") == 1
    assert to_text([CHAT, other]).count("\n" + "=" * 72 + "\n") == 1


@given(conversations())
def test_every_text_of_the_branch_is_in_it(conversation: Conversation) -> None:
    markdown, text = to_markdown([conversation]), to_text([conversation])
    for each in conversation.path():
        assert each.text.strip("\n") in markdown
        assert each.text.strip("\n") in text
