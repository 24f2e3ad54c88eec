"""Chats to be read by people: the branch that is shown, as Markdown or as plain text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.chat.conversation import MessageStatus, Role
from app.translate import tr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.chat.conversation import Attachment, Conversation, Message


def to_markdown(conversations: Iterable[Conversation]) -> str:
    """Return chats as Markdown, one below the other; answers as the model wrote them."""
    return "\n\n---\n\n".join(_markdown(conversation) for conversation in conversations) + "\n"


def to_text(conversations: Iterable[Conversation]) -> str:
    """Return chats as plain text, one below the other."""
    return f"\n\n{'=' * 72}\n\n".join(_text(conversation) for conversation in conversations) + "\n"


def _markdown(conversation: Conversation) -> str:
    parts = [f"# {conversation.chat.title}"]
    for message in conversation.path():
        parts.append(f"## {_speaker(message)}")
        if message.thinking:
            parts += [f"> *{tr('Thinking')}*", _indented(message.thinking, "> ")]
        parts += [_fenced(attachment) for attachment in message.attachments]
        parts += [text for text in (message.text.strip("\n"), _italic(_end(message))) if text]
    return "\n\n".join(parts)


def _text(conversation: Conversation) -> str:
    title = conversation.chat.title
    parts = [f"{title}\n{'-' * min(len(title), 72)}"]
    for message in conversation.path():
        lines = [f"{_speaker(message)}:"]
        if message.thinking:
            lines.append(_indented(f"({tr('Thinking')}) {message.thinking}", "    "))
        lines += [f"[{each.name}]\n{_indented(each.text, '    ')}" for each in message.attachments]
        lines += [text for text in (message.text.strip("\n"), _end(message)) if text]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _speaker(message: Message) -> str:
    if message.role is Role.USER:
        return tr("You")
    return message.model or tr("Answer")


def _end(message: Message) -> str:
    """Return why an answer is not whole, "" when it is."""
    reasons = {
        MessageStatus.STREAMING: tr("Not finished"),
        MessageStatus.STOPPED: tr("Stopped"),
        MessageStatus.LENGTH: tr("Cut off at the longest answer"),
        MessageStatus.INTERRUPTED: tr("Interrupted"),
        MessageStatus.ERROR: message.error,
    }
    return f"[{reason}]" if (reason := reasons.get(message.status, "")) else ""


def _italic(words: str) -> str:
    return f"*{words}*" if words else ""


def _indented(text: str, by: str) -> str:
    return "\n".join(f"{by}{line}".rstrip() for line in text.strip("\n").split("\n"))


def _fenced(attachment: Attachment) -> str:
    """Return a file in a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", attachment.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"**{attachment.name}**\n\n{fence}\n{attachment.text.strip(chr(10))}\n{fence}"
