"""A chat as plain values: messages in a tree, the path that is shown, and what of it the model is given."""

from __future__ import annotations

import dataclasses
import uuid
from dataclasses import dataclass, field
from enum import StrEnum

from app.chat.chat_settings import ChatSettings
from app.translate import marked
from mtplx_engine.config import SamplerConfig  # noqa: TC001 - annotations are read at run time
from mtplx_engine.harmless import BIDI_CONTROLS
from mtplx_engine.stats import DecodeStats  # noqa: TC001
from mtplx_engine.surrogates import replace_surrogates

TITLE_LIMIT = 60
UNTITLED = marked("New chat")


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class MessageStatus(StrEnum):
    """How far a message got. Only answers are ever anything but DONE."""

    DONE = "done"
    STREAMING = "streaming"  # being written now
    STOPPED = "stopped"  # the person pressed Stop
    LENGTH = "length"  # max_tokens, or the end of the context window
    ERROR = "error"  # the engine said why in `Message.error`
    INTERRUPTED = "interrupted"  # the app or the engine ended in the middle


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file whose text goes with a message.

    Attributes:
        name: The file's name, without its folder.
        size: Bytes of the file.
        text: What of it the model is given.
    """

    name: str
    size: int
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat.

    Attributes:
        id: Made by `new_id`, so nothing waits for the database to give one.
        chat_id: The chat that it belongs to.
        parent_id: The message before it; None for a first one. Messages with the same parent are siblings.
        role: Who speaks.
        text: Plain text as typed, or the answer's markdown.
        status: How far it got.
        created_ms: Wall clock in ms since 1970, UTC; shown to people, never used for ordering.
        model: Name of the model that wrote it; empty for the person's own messages.
        stats: The answer's figures, when it has any.
        error: For ERROR, the sentence that the person was shown.
        thinking: What the model thought before and between what it said.
        thought_ms: How long the thinking took.
        marks: Lengths of runs of `text` in characters, in turn not drafted and drafted-and-accepted, beginning with
            not drafted; empty when nothing is known.
        sampler: How the tokens of an answer were chosen, its seed among it.
        attachments: Files that go with the person's message.
    """

    id: str
    chat_id: str
    parent_id: str | None
    role: Role
    text: str
    status: MessageStatus
    created_ms: int
    model: str = ""
    stats: DecodeStats | None = None
    error: str = ""
    thinking: str = ""
    thought_ms: int = 0
    marks: tuple[int, ...] = ()
    sampler: SamplerConfig | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A chat as a list shows it; times are wall clock in ms since 1970, UTC; pinned ones stand above the rest."""

    id: str
    title: str
    created_ms: int
    updated_ms: int
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat with its messages.

    Attributes:
        chat: Its id, title and times.
        messages: All branches, in the order in which they were written.
        leaf_id: The last message of the branch that is shown; None when there is none.
        settings: What is set for this chat.
        draft: What has been typed and not sent.
    """

    chat: ChatSummary
    messages: tuple[Message, ...] = ()
    leaf_id: str | None = None
    settings: ChatSettings = field(default_factory=ChatSettings)
    draft: str = ""

    def path(self) -> tuple[Message, ...]:
        """Return the branch that is shown, from its first message to the leaf."""
        by_id = {message.id: message for message in self.messages}
        backwards: list[Message] = []
        next_id = self.leaf_id
        while next_id is not None:
            # Popped, so that a circle of parents (a damaged file) ends.
            message = by_id.pop(next_id, None)
            if message is None:
                break
            backwards.append(message)
            next_id = message.parent_id
        return tuple(reversed(backwards))

    def with_message(self, message: Message) -> Conversation:
        """Return the chat with `message` added; it becomes the leaf."""
        return dataclasses.replace(self, messages=(*self.messages, message), leaf_id=message.id)

    def replace_message(self, message: Message) -> Conversation:
        """Return the chat with the message of the same id exchanged.

        Raises:
            KeyError: There is no message with that id.
        """
        for index, old in enumerate(self.messages):
            if old.id == message.id:
                messages = (*self.messages[:index], message, *self.messages[index + 1 :])
                return dataclasses.replace(self, messages=messages)
        raise KeyError(message.id)


def conversation_from(chat: ChatSummary, messages: tuple[Message, ...]) -> Conversation:
    """Return the chat of the messages that could be read, the newest one as the leaf.

    The children of a message that is missing continue the message that was written before them, so that one
    damaged record does not hide what led up to it.

    Args:
        chat: Its id, title and times.
        messages: In the order in which they were written.
    """
    linked: list[Message] = []
    parents: dict[str | None, str | None] = {None: None}
    newest: str | None = None
    for message in messages:
        parent_id = parents.setdefault(message.parent_id, newest)
        linked.append(dataclasses.replace(message, parent_id=parent_id))
        newest = parents[message.id] = message.id
    return Conversation(chat, tuple(linked), newest)


def new_id() -> str:
    """Return a fresh id for a chat or a message."""
    return uuid.uuid4().hex


def clean_text(text: str) -> str:
    """Return `text` without what no database, tokenizer or font can take.

    Lone surrogates become U+FFFD (they cannot be UTF-8), paired ones the character they mean, NUL goes.
    """
    return replace_surrogates(text.replace("\0", ""))


def title_from(text: str) -> str:
    """Return the first words of `text` as a title: one line, visible, at most `TITLE_LIMIT` characters."""
    words = clean_text(text).split(maxsplit=TITLE_LIMIT)[:TITLE_LIMIT]
    # Joiners and marks (not printable, above U+009F) are parts of emoji and of many scripts.
    line = "".join(
        char
        for char in " ".join(words)
        if char.isprintable() or (char > "\x9f" and char not in BIDI_CONTROLS)
    )
    if not any(char.isprintable() and not char.isspace() for char in line):
        return UNTITLED
    if len(line) <= TITLE_LIMIT:
        return line
    head = line[:TITLE_LIMIT].rpartition(" ")[0]
    return (head if len(head) > TITLE_LIMIT // 2 else line[: TITLE_LIMIT - 1]).rstrip() + "…"
