"""Movement in a tree of messages: siblings, what follows a message, and the chat without it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

from app.chat.conversation import Role

if TYPE_CHECKING:
    from app.chat.conversation import Conversation, Message


class Place(NamedTuple):
    """Which one of how many siblings a message is, from 1 on."""

    number: int
    of: int


def find(conversation: Conversation, message_id: str) -> Message:
    """Return a message of any branch.

    Raises:
        KeyError: There is no message with that id.
    """
    for message in conversation.messages:
        if message.id == message_id:
            return message
    raise KeyError(message_id)


def siblings(conversation: Conversation, message_id: str) -> tuple[Message, ...]:
    """Return the messages with the same parent, itself among them, in the order in which they were written."""
    parent_id = find(conversation, message_id).parent_id
    return tuple(message for message in conversation.messages if message.parent_id == parent_id)


def places(conversation: Conversation) -> dict[str, Place]:
    """Return where among its siblings each message stands."""
    families: dict[str | None, list[str]] = {}
    for message in conversation.messages:
        families.setdefault(message.parent_id, []).append(message.id)
    return {
        message_id: Place(number, len(family))
        for family in families.values()
        for number, message_id in enumerate(family, start=1)
    }


def subtree(conversation: Conversation, message_id: str) -> frozenset[str]:
    """Return the ids of a message and of all that follow it, in every branch."""
    below = {message_id}
    for message in conversation.messages:  # a child is written after its parent
        if message.parent_id in below:
            below.add(message.id)
    return frozenset(below)


def newest_leaf(conversation: Conversation, message_id: str) -> str:
    """Return the message that was written last among one and all that follow it."""
    below = subtree(conversation, message_id)
    return [message.id for message in conversation.messages if message.id in below][-1]


def question_of(conversation: Conversation, answer_id: str) -> Message | None:
    """Return the person's message that an answer answers; None when it cannot be read any more."""
    path = up_to(conversation, answer_id).path()
    return next((message for message in reversed(path) if message.role is Role.USER), None)


def up_to(conversation: Conversation, message_id: str | None) -> Conversation:
    """Return the chat with a message as the last one that is shown; None is before the first."""
    return dataclasses.replace(conversation, leaf_id=message_id)


def beside(conversation: Conversation, message_id: str, step: int) -> Conversation:
    """Return the chat with the branch shown that goes through a sibling, `step` places on; at an end nothing moves."""
    those = siblings(conversation, message_id)
    index = [message.id for message in those].index(message_id) + step
    if not 0 <= index < len(those):
        return conversation
    return dataclasses.replace(conversation, leaf_id=newest_leaf(conversation, those[index].id))


def without(conversation: Conversation, message_id: str) -> Conversation:
    """Return the chat without a message and all that follow it.

    If the shown branch went through it, the one through its nearest sibling is shown, or what led up to it.
    """
    gone = subtree(conversation, message_id)
    message = find(conversation, message_id)
    those = [each.id for each in siblings(conversation, message_id)]
    index = those.index(message_id)
    left = dataclasses.replace(
        conversation, messages=tuple(each for each in conversation.messages if each.id not in gone)
    )
    if conversation.leaf_id not in gone:
        return left
    others = [*reversed(those[:index]), *those[index + 1 :]]
    leaf_id = newest_leaf(left, others[0]) if others else message.parent_id
    return dataclasses.replace(left, leaf_id=leaf_id)


def with_back(conversation: Conversation, before: Conversation) -> Conversation:
    """Return the chat with the messages back that it had `before`, as they stood there, and its branch shown."""
    now = {message.id: message for message in conversation.messages}
    kept = tuple(now.pop(message.id, message) for message in before.messages)
    return dataclasses.replace(conversation, messages=(*kept, *now.values()), leaf_id=before.leaf_id)
