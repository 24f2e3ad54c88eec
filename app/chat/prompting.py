"""What of a chat the model is given: its settings, the branch that is shown, and the files that go with it."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from app.chat.conversation import Attachment, Conversation, Message, MessageStatus, Role
from mtplx_engine.config import ChatMessage

if TYPE_CHECKING:
    from collections.abc import Sequence


def prompt_of(conversation: Conversation, *, continues: bool = False) -> tuple[ChatMessage, ...]:
    """Return the turns that the model is given, the system prompt first.

    Empty messages and failed answers are left out, partial answers stay. So is a question that was refused or failed
    before any answer came, once another one is asked: what was too long for the model must not spoil the rest of the
    chat. Neighbours of one role become one turn, since many chat templates refuse roles that do not alternate.

    Args:
        conversation: Up to the message that is answered.
        continues: Whether that is the beginning of an answer, which is kept whatever it is.
    """
    settings = conversation.settings
    turns: list[ChatMessage] = []
    if settings.system_prompt.strip():
        turns.append(ChatMessage(Role.SYSTEM.value, settings.system_prompt))
    path = read_path(conversation)
    kept = [message for message, after in zip_longest(path, path[1:]) if _is_read(message, after)]
    if continues and path and path[-1] not in kept:
        kept.append(path[-1])
    for message in kept:
        turn = ChatMessage(
            message.role.value, with_files(message.text, message.attachments), message.thinking
        )
        if turns and turns[-1].role == turn.role:
            turns[-1] = _joined(turns[-1], turn)
        else:
            turns.append(turn)
    return tuple(turns)


def read_path(conversation: Conversation) -> tuple[Message, ...]:
    """Return the messages of the shown branch from the first one that the model is to read."""
    path = conversation.path()
    first = next((n for n, each in enumerate(path) if each.id == conversation.settings.reads_from), 0)
    return path[first:]


def with_files(text: str, attachments: Sequence[Attachment]) -> str:
    """Return a message with its files, each named and fenced, before what was typed."""
    return "\n\n".join(part for part in (*map(as_text, attachments), text) if part)


def as_text(attachment: Attachment) -> str:
    """Return a file as the model is given it; nothing in it can end the fence."""
    longest = max((len(run) for run in re.findall("`+", attachment.text)), default=0)
    fence = "`" * max(3, longest + 1)
    name = attachment.name.replace("\n", " ")
    return f"File “{name}”:\n{fence}\n{attachment.text.rstrip()}\n{fence}"


def _is_read(message: Message, answer: Message | None) -> bool:
    refused = answer is not None and answer.status is MessageStatus.ERROR and not answer.text.strip()
    says = message.text.strip() or message.attachments
    return bool(says) and not refused and message.status is not MessageStatus.ERROR


def _joined(first: ChatMessage, second: ChatMessage) -> ChatMessage:
    thinking = "\n\n".join(part for part in (first.thinking, second.thinking) if part)
    return ChatMessage(first.role, f"{first.content}\n\n{second.content}", thinking)
