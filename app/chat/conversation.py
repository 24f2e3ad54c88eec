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


class BranchPosition(NamedTuple):
    """Which one of how many siblings a message is, from 1 on."""

    number: int
    of: int


def find_message(conversation: Conversation, message_id: str) -> Message:
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
    parent_id = find_message(conversation, message_id).parent_id
    return tuple(message for message in conversation.messages if message.parent_id == parent_id)


def places(conversation: Conversation) -> dict[str, BranchPosition]:
    """Return where among its siblings each message stands."""
    families: dict[str | None, list[str]] = {}
    for message in conversation.messages:
        families.setdefault(message.parent_id, []).append(message.id)
    return {
        message_id: BranchPosition(number, len(family))
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


def with_back(conversation: Conversation, before: Conversation) -> Conversation:
    """Return the chat with the messages back that it had `before`, as they stood there, and its branch shown."""
    now = {message.id: message for message in conversation.messages}
    kept = tuple(now.pop(message.id, message) for message in before.messages)
    return dataclasses.replace(conversation, messages=(*kept, *now.values()), leaf_id=before.leaf_id)


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
