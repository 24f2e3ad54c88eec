"""Chats as JSON: everything there is of them, to be read back exactly."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Final

from app.chat import bounds
from app.chat.bounds import OutOfBoundsError
from app.chat.conversation import Conversation, MessageStatus, clean_text
from app.translate import tr
from mtplx_engine import json_store
from mtplx_engine.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.chat.conversation import Message

_FORMAT: Final = "mtplx-chats"
_VERSION: Final = 1
_LONGEST_ID: Final = 128
SIZE_LIMIT: Final = 512 * 1024 * 1024


class UnreadableChatsError(Exception):
    """A file holds no chats of ours; its words are for the person."""


def to_json(conversations: Iterable[Conversation]) -> str:
    """Return chats with all their branches, settings and attachments."""
    body = {
        "format": _FORMAT,
        "version": _VERSION,
        "chats": [dataclasses.asdict(conversation) for conversation in conversations],
    }
    return json.dumps(body, ensure_ascii=False, indent=1, allow_nan=False)


def from_json(data: bytes) -> tuple[Conversation, ...]:
    """Return the chats that `to_json` wrote.

    The file may come from anybody: every value is checked, and one that does not fit refuses all of it.

    Raises:
        UnreadableChatsError: It is not such a file, is damaged, or was written by a newer MTPLX.
    """
    body = _parsed(data)
    if not isinstance(body, dict) or body.get("format") != _FORMAT:
        raise UnreadableChatsError(
            tr("This file holds no chats that MTPLX has exported. Choose another one.")
        )
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
        raise UnreadableChatsError(
            tr("This file is damaged: there is no list of chats in it. Nothing was imported.")
        )
    return tuple(_conversation(chat, number) for number, chat in enumerate(chats, 1))


def _parsed(data: bytes) -> Any:
    if len(data) > SIZE_LIMIT:
        raise UnreadableChatsError(
            tr("This file has more than {size} MB, which is the most that can be imported at once.").format(
                size=f"{SIZE_LIMIT / 1e6:.0f}"
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
        conversation = _cleaned(json_store.build(Conversation, value))
        _check(conversation)
    except OutOfBoundsError as error:
        raise _damaged(number, str(error)) from error
    except (ValueError, TypeError, OverflowError, RecursionError, EngineError) as error:
        raise _damaged(number, tr("a value in it is missing or does not fit")) from error
    return conversation


def _damaged(number: int, reason: str) -> UnreadableChatsError:
    words = tr("Chat {number} in this file is damaged: {reason}. Nothing was imported.")
    return UnreadableChatsError(words.format(number=number, reason=reason))


def _check(conversation: Conversation) -> None:
    """Refuse what no chat of ours is like.

    Raises:
        OutOfBoundsError: Saying what is wrong.
    """
    chat, known = conversation.chat, set[str]()
    bounds.check_chat(chat)
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
    bounds.check_message(message)
    bounds.check_thought(message.thought_ms)
    if message.stats is not None:
        bounds.check_stats(message.stats)
    for attachment in message.attachments:
        bounds.check_attachment(attachment)
    if any(run < 0 for run in message.marks):
        raise OutOfBoundsError(tr("what is noted of the drafting of an answer cannot be"))


def _check_id(value: str) -> None:
    if not (value.isascii() and value.isprintable() and 0 < len(value) <= _LONGEST_ID):
        raise OutOfBoundsError(tr("one of its ids is none that MTPLX gives"))


def _cleaned(conversation: Conversation) -> Conversation:
    """Return the chat with what can be kept of its texts, and nothing under way."""
    chat = conversation.chat
    return dataclasses.replace(
        conversation,
        chat=dataclasses.replace(chat, title=bounds.clean_title(chat.title)),
        messages=tuple(_cleaned_message(message) for message in conversation.messages),
        draft=clean_text(conversation.draft),
    )


def _cleaned_message(message: Message) -> Message:
    under_way = message.status is MessageStatus.STREAMING
    text = clean_text(message.text)
    return dataclasses.replace(
        message,
        text=text,
        status=MessageStatus.INTERRUPTED if under_way else message.status,
        model=bounds.clean_name(message.model),
        error=clean_text(message.error),
        thinking=clean_text(message.thinking),
        marks=message.marks if text == message.text and sum(message.marks) <= len(text) else (),
        attachments=tuple(
            dataclasses.replace(each, name=bounds.clean_name(each.name), text=clean_text(each.text))
            for each in message.attachments
        ),
    )
