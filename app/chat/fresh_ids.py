"""The same chat under new ids, for one whose ids are taken."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from app.chat.conversation import new_id

if TYPE_CHECKING:
    from app.chat.conversation import Conversation


def with_fresh_ids(conversation: Conversation) -> Conversation:
    """Return the chat with new ids for itself and all its messages, and with everything that refers to them."""
    chat_id = new_id()
    ids: dict[str | None, str | None] = {message.id: new_id() for message in conversation.messages}
    messages = tuple(
        dataclasses.replace(
            message, id=ids[message.id] or "", chat_id=chat_id, parent_id=ids.get(message.parent_id)
        )
        for message in conversation.messages
    )
    settings = conversation.settings
    return dataclasses.replace(
        conversation,
        chat=dataclasses.replace(conversation.chat, id=chat_id),
        messages=messages,
        leaf_id=ids.get(conversation.leaf_id),
        settings=dataclasses.replace(settings, reads_from=ids.get(settings.reads_from) or ""),
    )
