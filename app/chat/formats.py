"""Export of chats as JSON, Markdown and plain text, and import of the JSON. No Qt."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Final

from app.chat import validation
from app.chat.conversation import Conversation, MessageStatus, Role, clean_text
from app.chat.prompt import fence_around
from app.chat.validation import OutOfBoundsError
from app.i18n import tr
from mtplx_engine.errors import EngineError
from mtplx_engine.util import files, formatting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.chat.conversation import Attachment, Message


_FORMAT: Final = "mtplx-chats"
_VERSION: Final = 1
_LONGEST_ID: Final = 128
SIZE_LIMIT: Final = 512 * 1024 * 1024


class UnreadableChatsError(Exception):
    """A file is not an export of chats; the message is a sentence for the user."""


def to_json(conversations: Iterable[Conversation]) -> str:
    """Return chats as JSON, with all branches, settings and attachments."""
    body = {
        "format": _FORMAT,
        "version": _VERSION,
        "chats": [dataclasses.asdict(conversation) for conversation in conversations],
    }
    return json.dumps(body, ensure_ascii=False, indent=1, allow_nan=False)


def from_json(data: bytes) -> tuple[Conversation, ...]:
    """Return the chats of an export by `to_json`.

    The file is untrusted: every value is checked, and a single misfit refuses all of it.

    Raises:
        UnreadableChatsError: It is not such a file, is damaged, or was written by a newer MTPLX.
    """
    body = _parsed(data)
    if not isinstance(body, dict) or body.get("format") != _FORMAT:
        raise UnreadableChatsError(tr("This file holds no chats that MTPLX has exported. Choose another one."))
    version = body.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version != _VERSION:
        raise UnreadableChatsError(
            tr(
                "This file is of another format; this MTPLX reads format {version}. Install the newest MTPLX to import "
                "it."
            ).format(version=_VERSION)
        )
    chats = body.get("chats")
    if not isinstance(chats, list):
        raise UnreadableChatsError(tr("This file is damaged: there is no list of chats in it. Nothing was imported."))
    return tuple(_conversation(chat, number) for number, chat in enumerate(chats, 1))


def _parsed(data: bytes) -> Any:
    if len(data) > SIZE_LIMIT:
        raise UnreadableChatsError(
            tr("This file has more than {size}, which is the most that can be imported at once.").format(
                size=formatting.size(SIZE_LIMIT)
            )
        )
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UnreadableChatsError(
            tr("This file is no JSON, or is damaged. Choose a file that MTPLX has exported.")
        ) from error


def _conversation(value: Any, number: int) -> Conversation:
    try:
        conversation = _cleaned(files.build(Conversation, value))
        _check(conversation)
    except OutOfBoundsError as error:
        raise _damaged(number, str(error)) from error
    except (ValueError, TypeError, OverflowError, RecursionError, EngineError) as error:
        raise _damaged(number, tr("a value in it is missing or does not fit")) from error
    return conversation


def _damaged(number: int, reason: str) -> UnreadableChatsError:
    sentence = tr("Chat {number} in this file is damaged: {reason}. Nothing was imported.")
    return UnreadableChatsError(sentence.format(number=number, reason=reason))


def _check(conversation: Conversation) -> None:
    chat, known = conversation.chat, set[str]()
    validation.check_chat(chat)
    _check_id(chat.id)
    for message in conversation.messages:
        _check_id(message.id)
        if message.id in known:
            raise OutOfBoundsError(tr("one of its messages is there twice"))
        if message.chat_id != chat.id:
            raise OutOfBoundsError(tr("one of its messages belongs to another chat"))
        if message.parent_id is not None and message.parent_id not in known:
            raise OutOfBoundsError(tr("one of its messages follows another that is not there"))
        known.add(message.id)
        _check_message(message)
    if conversation.leaf_id is not None and conversation.leaf_id not in known:
        raise OutOfBoundsError(tr("the message that it ends with is not there"))


def _check_message(message: Message) -> None:
    validation.check_message(message)
    validation.check_thought(message.thought_ms)
    if message.stats is not None:
        validation.check_stats(message.stats)
    for attachment in message.attachments:
        validation.check_attachment(attachment)
    if any(run < 0 for run in message.marks):
        raise OutOfBoundsError(tr("what is noted of the drafting of an answer cannot be"))


def _check_id(value: str) -> None:
    if not (value.isascii() and value.isprintable() and 0 < len(value) <= _LONGEST_ID):
        raise OutOfBoundsError(tr("one of its ids is none that MTPLX gives"))


def _cleaned(conversation: Conversation) -> Conversation:
    """Return the chat with cleaned texts, and with unfinished answers as interrupted."""
    chat = conversation.chat
    return dataclasses.replace(
        conversation,
        chat=dataclasses.replace(chat, title=validation.clean_title(chat.title)),
        messages=tuple(_cleaned_message(message) for message in conversation.messages),
        draft=clean_text(conversation.draft),
    )


def _cleaned_message(message: Message) -> Message:
    unfinished = message.status is MessageStatus.STREAMING
    text = clean_text(message.text)
    return dataclasses.replace(
        message,
        text=text,
        status=MessageStatus.INTERRUPTED if unfinished else message.status,
        model=validation.clean_name(message.model),
        error=clean_text(message.error),
        thinking=clean_text(message.thinking),
        marks=message.marks if text == message.text and sum(message.marks) <= len(text) else (),
        attachments=tuple(
            dataclasses.replace(each, name=validation.clean_name(each.name), text=clean_text(each.text))
            for each in message.attachments
        ),
    )


def to_markdown(conversations: Iterable[Conversation]) -> str:
    """Return the shown branches of chats as Markdown; answers as the model wrote them."""
    return "\n\n---\n\n".join(_markdown(conversation) for conversation in conversations) + "\n"


def to_text(conversations: Iterable[Conversation]) -> str:
    """Return the shown branches of chats as plain text."""
    return f"\n\n{'=' * 72}\n\n".join(_text(conversation) for conversation in conversations) + "\n"


def _markdown(conversation: Conversation) -> str:
    parts = [f"# {conversation.chat.title}"]
    for message in conversation.path():
        parts.append(f"## {_speaker(message)}")
        if message.thinking:
            parts += [f"> *{tr('Thinking')}*", _indented(message.thinking, "> ")]
        parts += [_fenced(attachment) for attachment in message.attachments]
        parts += [text for text in (message.text.strip("\n"), _italic(_incomplete_note(message))) if text]
    return "\n\n".join(parts)


def _text(conversation: Conversation) -> str:
    title = conversation.chat.title
    parts = [f"{title}\n{'-' * min(len(title), 72)}"]
    for message in conversation.path():
        lines = [f"{_speaker(message)}:"]
        if message.thinking:
            lines.append(_indented(f"({tr('Thinking')}) {message.thinking}", "    "))
        lines += [f"[{each.name}]\n{_indented(each.text, '    ')}" for each in message.attachments]
        lines += [text for text in (message.text.strip("\n"), _incomplete_note(message)) if text]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _speaker(message: Message) -> str:
    if message.role is Role.USER:
        return tr("You")
    return message.model or tr("Answer")


def _incomplete_note(message: Message) -> str:
    reasons = {
        MessageStatus.STREAMING: tr("Not finished"),
        MessageStatus.STOPPED: tr("Stopped"),
        MessageStatus.LENGTH: tr("Cut off at the longest answer"),
        MessageStatus.INTERRUPTED: tr("Interrupted"),
        MessageStatus.ERROR: message.error,
    }
    return f"[{reason}]" if (reason := reasons.get(message.status, "")) else ""


def _italic(text: str) -> str:
    return f"*{text}*" if text else ""


def _indented(text: str, by: str) -> str:
    return "\n".join(f"{by}{line}".rstrip() for line in text.strip("\n").split("\n"))


def _fenced(attachment: Attachment) -> str:
    fence = fence_around(attachment.text)
    return f"**{attachment.name}**\n\n{fence}\n{attachment.text.strip(chr(10))}\n{fence}"


_LONGEST_FILE_NAME: Final = 60
_FORBIDDEN: Final = frozenset('/\\:*?"<>|')


def file_name(title: str) -> str:
    """Return a file name for a title, without suffix, that is valid on every system and not hidden."""
    kept = "".join(" " if char in _FORBIDDEN or not char.isprintable() else char for char in title)
    name = " ".join(kept.split())[:_LONGEST_FILE_NAME].strip(" .")
    return name or "Chat"
