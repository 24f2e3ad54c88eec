"""Files that chats are exported to and imported from, with what can go wrong in words for the person."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from app.chat.chat_json import SIZE_LIMIT, UnreadableChatsError, from_json
from app.services.store_error import StoreError
from app.translate import tr
from mtplx_engine import durable

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from app.chat.conversation import Conversation


def write_export(path: Path, text: str) -> None:
    """Write `text` to a file, which then holds its former content or all of the new one.

    Raises:
        StoreError: It could not be written.
    """
    try:
        durable.replace_file(path, text.encode(errors="replace"))
    except OSError as error:
        raise StoreError(
            tr("The chats could not be exported to {path}: {error}. Choose another place.").format(
                path=path, error=error.strerror or error
            ),
            repr(error),
        ) from error


def read_export(path: Path, models: Container[str]) -> tuple[Conversation, ...]:
    """Return the chats that a file holds; a model that is set in one counts only when it is one of `models`.

    The file may come from anybody, and a model can also be a folder: none is opened because a file names it.

    Raises:
        StoreError: It cannot be read, or holds no chats of ours.
    """
    try:
        with path.open("rb") as file:
            chats = from_json(file.read(SIZE_LIMIT + 1))
    except OSError as error:
        raise StoreError(
            tr("{path} cannot be read: {error}. Choose another file.").format(
                path=path, error=error.strerror or error
            ),
            repr(error),
        ) from error
    except UnreadableChatsError as error:
        raise StoreError(str(error)) from error
    return tuple(chat if chat.settings.model in models else _without_model(chat) for chat in chats)


def _without_model(chat: Conversation) -> Conversation:
    return dataclasses.replace(chat, settings=dataclasses.replace(chat.settings, model=""))
