"""A conversation as a tree of messages. No Qt."""

from __future__ import annotations

import dataclasses
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from app.chat.settings import ChatSettings
from app.i18n import marked
from mtplx_engine.config import SamplerConfig  # noqa: TC001 - annotations are read at run time
from mtplx_engine.stats import DecodeStats  # noqa: TC001
from mtplx_engine.util.formatting import BIDI_CONTROLS, replace_surrogates

TITLE_LIMIT = 60
UNTITLED = marked("New chat")


class Role(StrEnum):
    """The author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class MessageStatus(StrEnum):
    """The state of a message; only answers are ever anything but DONE."""

    DONE = "done"
    STREAMING = "streaming"  # being written now
    STOPPED = "stopped"  # the user pressed Stop
    LENGTH = "length"  # max_tokens, or the end of the context window
    ERROR = "error"  # the reason is in `Message.error`
    INTERRUPTED = "interrupted"  # the app or the engine ended in the middle


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to a message: name without the folder, size in bytes, and text as the model gets it."""

    name: str
    size: int
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat.

    Attributes:
        id: Made by `new_id`, without waiting for the database.
        parent_id: The message before it; None for a first one. Messages with the same parent are siblings.
        text: Plain text as typed, or the answer's markdown.
        created_ms: Wall clock in ms since 1970, UTC; only displayed, never used for ordering.
        model: Name of the model that wrote it; empty for the user's messages.
        stats: Counts and times of the answer, when known.
        error: For ERROR, the sentence shown to the user.
        thinking: The text of the model's thinking.
        marks: Lengths in characters of alternating runs of `text`, not drafted and accepted draft, starting with
            not drafted; empty when unknown.
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
    """A chat as it is listed; times are wall clock in ms since 1970, UTC; pinned chats are listed first."""

    id: str
    title: str
    created_ms: int
    updated_ms: int
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat with its messages.

    Attributes:
        messages: All branches, in the order of writing.
        leaf_id: The last message of the shown branch; None when there is none.
    """

    chat: ChatSummary
    messages: tuple[Message, ...] = ()
    leaf_id: str | None = None
    settings: ChatSettings = field(default_factory=ChatSettings)
    draft: str = ""

    def path(self) -> tuple[Message, ...]:
        """Return the shown branch, from its first message to the leaf."""
        by_id = {message.id: message for message in self.messages}
        backwards: list[Message] = []
        next_id = self.leaf_id
        while next_id is not None:
            # Popped, so that a cycle of parents (a damaged file) ends.
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
        """Return the chat with the message of the same id replaced; KeyError where there is none."""
        for index, old in enumerate(self.messages):
            if old.id == message.id:
                messages = (*self.messages[:index], message, *self.messages[index + 1 :])
                return dataclasses.replace(self, messages=messages)
        raise KeyError(message.id)


def conversation_from(chat: ChatSummary, messages: tuple[Message, ...]) -> Conversation:
    """Return the chat of the readable messages, in the order of writing, with the newest one as the leaf.

    Children of a missing message continue the message written before them, so that one damaged record does not hide
    the branch above it.
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
    return uuid.uuid4().hex


def clean_text(text: str) -> str:
    """Return `text` without characters that no database, tokenizer or font accepts.

    Lone surrogates become U+FFFD (they are not UTF-8), pairs the character they encode, NUL is removed.
    """
    return replace_surrogates(text.replace("\0", ""))


def title_from(text: str) -> str:
    """Return the first words of `text` as a title: one line, visible, at most `TITLE_LIMIT` characters."""
    words = clean_text(text).split(maxsplit=TITLE_LIMIT)[:TITLE_LIMIT]
    # Joiners and marks (not printable, above U+009F) are parts of emoji and of many scripts.
    line = "".join(
        char for char in " ".join(words) if char.isprintable() or (char > "\x9f" and char not in BIDI_CONTROLS)
    )
    if not any(char.isprintable() and not char.isspace() for char in line):
        return UNTITLED
    if len(line) <= TITLE_LIMIT:
        return line
    head = line[:TITLE_LIMIT].rpartition(" ")[0]
    return (head if len(head) > TITLE_LIMIT // 2 else line[: TITLE_LIMIT - 1]).rstrip() + "…"


class BranchPosition(NamedTuple):
    """The position of a message among its siblings, from 1, and their number."""

    number: int
    of: int


def find_message(conversation: Conversation, message_id: str) -> Message:
    """Return a message of any branch; KeyError where there is none."""
    for message in conversation.messages:
        if message.id == message_id:
            return message
    raise KeyError(message_id)


def siblings(conversation: Conversation, message_id: str) -> tuple[Message, ...]:
    """Return the messages with the same parent, including itself, in the order of writing."""
    parent_id = find_message(conversation, message_id).parent_id
    return tuple(message for message in conversation.messages if message.parent_id == parent_id)


def branch_positions(conversation: Conversation) -> dict[str, BranchPosition]:
    families: dict[str | None, list[str]] = {}
    for message in conversation.messages:
        families.setdefault(message.parent_id, []).append(message.id)
    return {
        message_id: BranchPosition(number, len(family))
        for family in families.values()
        for number, message_id in enumerate(family, start=1)
    }


def subtree(conversation: Conversation, message_id: str) -> frozenset[str]:
    """Return the ids of a message and of all its descendants."""
    below = {message_id}
    for message in conversation.messages:  # a child is written after its parent
        if message.parent_id in below:
            below.add(message.id)
    return frozenset(below)


def newest_leaf(conversation: Conversation, message_id: str) -> str:
    """Return the id of the newest of a message and its descendants."""
    below = subtree(conversation, message_id)
    return [message.id for message in conversation.messages if message.id in below][-1]


def question_of(conversation: Conversation, answer_id: str) -> Message | None:
    """Return the user's message that an answer belongs to; None when it is unreadable."""
    path = up_to(conversation, answer_id).path()
    return next((message for message in reversed(path) if message.role is Role.USER), None)


def up_to(conversation: Conversation, message_id: str | None) -> Conversation:
    """Return the chat with a message as the leaf; None shows no message."""
    return dataclasses.replace(conversation, leaf_id=message_id)


def show_sibling(conversation: Conversation, message_id: str, step: int) -> Conversation:
    """Return the chat showing the branch of the sibling `step` positions on; unchanged where there is none."""
    those = siblings(conversation, message_id)
    index = [message.id for message in those].index(message_id) + step
    if not 0 <= index < len(those):
        return conversation
    return dataclasses.replace(conversation, leaf_id=newest_leaf(conversation, those[index].id))


def without(conversation: Conversation, message_id: str) -> Conversation:
    """Return the chat without a message and its descendants.

    If it was in the shown branch, the branch of its nearest sibling is shown, else the one that ends at its parent.
    """
    gone = subtree(conversation, message_id)
    message = find_message(conversation, message_id)
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


def with_restored(conversation: Conversation, before: Conversation) -> Conversation:
    """Return the chat with the messages that it had `before` restored, and the same branch shown."""
    now = {message.id: message for message in conversation.messages}
    restored = tuple(now.pop(message.id, message) for message in before.messages)
    return dataclasses.replace(conversation, messages=(*restored, *now.values()), leaf_id=before.leaf_id)


def with_fresh_ids(conversation: Conversation) -> Conversation:
    """Return the chat with new ids for itself and its messages, with all references updated."""
    chat_id = new_id()
    ids: dict[str | None, str | None] = {message.id: new_id() for message in conversation.messages}
    messages = tuple(
        dataclasses.replace(message, id=ids[message.id] or "", chat_id=chat_id, parent_id=ids.get(message.parent_id))
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
