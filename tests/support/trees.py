"""Chats as trees of messages that are called by their text."""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from app.chat.conversation import ChatSummary, Conversation, Message, MessageStatus, Role

CHAT = ChatSummary("chat", "A chat", created_ms=1, updated_ms=2)


def message(
    name: str, parent: str | None, role: Role = Role.USER, text: str | None = None, **fields: object
) -> Message:
    """Return a message called `name` whose text is its name unless told otherwise."""
    base = Message(name, CHAT.id, parent, role, name if text is None else text, MessageStatus.DONE, 3)
    return dataclasses.replace(base, **fields)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Message, ...]:
    """Messages in writing order, each the child of an earlier one or a root."""
    size = draw(st.integers(1, 12))
    parents = [draw(st.none() | st.integers(0, index - 1)) if index else None for index in range(size)]
    roles = draw(st.lists(st.sampled_from([Role.USER, Role.ASSISTANT]), min_size=size, max_size=size))
    return tuple(
        message(f"m{index}", None if parent is None else f"m{parent}", role)
        for index, (parent, role) in enumerate(zip(parents, roles, strict=True))
    )


def grown(messages: tuple[Message, ...]) -> Conversation:
    """Return the conversation that had `messages` added one after the other."""
    conversation = Conversation(CHAT)
    for each in messages:
        conversation = conversation.with_message(each)
    return conversation
