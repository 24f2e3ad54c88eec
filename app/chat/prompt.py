"""From the shown branch to the prompt, and how much of the context it takes. No Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from app.chat.conversation import Attachment, Conversation, Message, MessageStatus, Role
from app.i18n import tr
from mtplx_engine.config import ChatMessage
from mtplx_engine.util.formatting import percent

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


_STEP = 1024  # a raised window is a multiple of it
_ROOM = 512  # tokens left for an answer when room is made for one
_TURN = 64  # more than any template puts around a turn


@dataclass(frozen=True, slots=True)
class ContextUse:
    """The engine's own count, in tokens.

    Attributes:
        window: What prompt and answer may hold together in this chat.
        largest: What the model can hold.
        system: The system prompt.
        messages: What was said so far, with what the template adds.
        draft: What is typed, with its files.
        answer: What has been written of an answer to come.
        thinking: What has been thought of it.
        files: Of each file of the draft; they are part of `draft`.
    """

    window: int
    largest: int
    system: int = 0
    messages: int = 0
    draft: int = 0
    answer: int = 0
    thinking: int = 0
    files: tuple[int, ...] = ()

    @property
    def used(self) -> int:
        """All of it."""
        return self.system + self.messages + self.draft + self.answer + self.thinking

    @property
    def share(self) -> float:
        """How much of the window is used, 0..1 whatever is used."""
        return min(1.0, self.used / self.window)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left for an answer."""
        return self.used >= self.window

    def words(self) -> str:
        """Return one line, as in "1,234 of 8,192 tokens, 15 %"."""
        return tr("{used} of {window} tokens, {share}").format(
            used=f"{self.used:,}", window=f"{self.window:,}", share=percent(self.share)
        )

    def tooltip(self) -> str:
        """Return what the tokens are."""
        parts = (
            (tr("System prompt"), self.system),
            (tr("Messages"), self.messages),
            (tr("This answer"), self.answer),
            (tr("Its thinking"), self.thinking),
            (tr("What you type"), self.draft),
        )
        lines = [f"{name}: {count:,}" for name, count in parts if count]
        return "\n".join([tr("Context: {words}").format(words=self.words()), *lines])


def most_tokens(prompt: Sequence[ChatMessage]) -> int:
    """Return how many tokens a prompt can be at most: no tokenizer makes two of one byte."""
    return sum(
        len(turn.content.encode(errors="replace")) + len(turn.thinking.encode(errors="replace")) + _TURN
        for turn in prompt
    )


def raised_window(tokens: int, window: int, largest: int) -> int | None:
    """Return a window that holds so many tokens and an answer; None when the model has none."""
    wanted = -(-(tokens + _ROOM) // _STEP) * _STEP
    raised = min(wanted, largest)
    return raised if raised > max(window, tokens) else None


def first_to_read(path: Sequence[Message], counts: Sequence[int], tokens: int, window: int) -> str | None:
    """Return the question from which the model is to read so that there is room for an answer.

    Args:
        path: The messages that it reads now.
        counts: Of each the tokens.
        tokens: Of the whole prompt.
        window: What prompt and answer may hold together.

    Returns:
        Its id, as little as possible left out; "" for the one that comes after them all; None when leaving out is not
        enough.
    """
    excess = tokens - window + min(_ROOM, window // 4)
    dropped = 0
    for message, count in zip(path, counts, strict=True):
        if message.role is Role.USER and dropped >= excess:
            return message.id
        dropped += count
    return "" if path and dropped >= excess else None
