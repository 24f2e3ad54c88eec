"""The prompt of the shown branch, and its share of the context window. No Qt."""

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
    """Return the turns of the prompt, the system prompt first.

    Empty messages and failed answers are left out, partial answers stay. A question that failed before any answer came
    is left out as well once another one follows: a prompt too long for the model must not spoil the rest of the chat.
    Neighbours of one role become one turn, since many chat templates refuse roles that do not alternate.

    Args:
        conversation: Up to the message to be answered.
        continues: Whether it ends with the first part of an answer, which is always included.
    """
    settings = conversation.settings
    turns: list[ChatMessage] = []
    if settings.system_prompt.strip():
        turns.append(ChatMessage(Role.SYSTEM.value, settings.system_prompt))
    path = read_path(conversation)
    included = [message for message, after in zip_longest(path, path[1:]) if _is_read(message, after)]
    if continues and path and path[-1] not in included:
        included.append(path[-1])
    for message in included:
        turn = ChatMessage(message.role.value, with_files(message.text, message.attachments), message.thinking)
        if turns and turns[-1].role == turn.role:
            turns[-1] = _joined(turns[-1], turn)
        else:
            turns.append(turn)
    return tuple(turns)


def read_path(conversation: Conversation) -> tuple[Message, ...]:
    """Return the messages of the shown branch from `ChatSettings.reads_from` on."""
    path = conversation.path()
    first = next((n for n, each in enumerate(path) if each.id == conversation.settings.reads_from), 0)
    return path[first:]


def with_files(text: str, attachments: Sequence[Attachment]) -> str:
    """Return the text of a message after its files, each named and fenced."""
    return "\n\n".join(part for part in (*map(as_text, attachments), text) if part)


def as_text(attachment: Attachment) -> str:
    """Return a file as it is in the prompt, fenced."""
    fence = fence_around(attachment.text)
    name = attachment.name.replace("\n", " ")
    return f"File “{name}”:\n{fence}\n{attachment.text.rstrip()}\n{fence}"


def fence_around(text: str) -> str:
    """Return a code fence longer than any run of backticks in `text`, so that nothing in it ends the fence."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def _is_read(message: Message, answer: Message | None) -> bool:
    refused = answer is not None and answer.status is MessageStatus.ERROR and not answer.text.strip()
    says = message.text.strip() or message.attachments
    return bool(says) and not refused and message.status is not MessageStatus.ERROR


def _joined(first: ChatMessage, second: ChatMessage) -> ChatMessage:
    thinking = "\n\n".join(part for part in (first.thinking, second.thinking) if part)
    return ChatMessage(first.role, f"{first.content}\n\n{second.content}", thinking)


_WINDOW_STEP = 1024  # a raised window is a multiple of it
_ANSWER_TOKENS = 512  # left for an answer when the window is raised or messages are left out
_TEMPLATE_TOKENS = 64  # more than any template adds to a turn


@dataclass(frozen=True, slots=True)
class ContextUse:
    """Use of the context window, counted by the engine in tokens.

    Attributes:
        window: Limit of prompt and answer together in this chat.
        largest: Limit of the model.
        system: The system prompt.
        messages: The messages so far, with the template's tokens.
        files: Each file of the draft; included in `draft`.
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
        """The sum of all parts."""
        return self.system + self.messages + self.draft + self.answer + self.thinking

    @property
    def share(self) -> float:
        return min(1.0, self.used / self.window)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left for an answer."""
        return self.used >= self.window

    def words(self) -> str:
        """Return a line, as in "1,234 of 8,192 tokens, 15 %"."""
        return tr("{used} of {window} tokens, {share}").format(
            used=f"{self.used:,}", window=f"{self.window:,}", share=percent(self.share)
        )

    def tooltip(self) -> str:
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
    """Return an upper bound of a prompt's tokens: no tokenizer makes two of one byte."""
    return sum(
        len(turn.content.encode(errors="replace")) + len(turn.thinking.encode(errors="replace")) + _TEMPLATE_TOKENS
        for turn in prompt
    )


def raised_window(tokens: int, window: int, largest: int) -> int | None:
    """Return a larger window that holds so many tokens and an answer; None when the model has none."""
    wanted = -(-(tokens + _ANSWER_TOKENS) // _WINDOW_STEP) * _WINDOW_STEP
    raised = min(wanted, largest)
    return raised if raised > max(window, tokens) else None


def first_to_read(path: Sequence[Message], counts: Sequence[int], tokens: int, window: int) -> str | None:
    """Return the question where the prompt has to start to leave room for an answer.

    `counts` are the tokens of each message of `path`, `tokens` those of the whole prompt, `window` limits prompt and
    answer together. The result is "" for the question that follows them all, None when even that is not enough.
    """
    excess = tokens - window + min(_ANSWER_TOKENS, window // 4)
    dropped = 0
    for message, count in zip(path, counts, strict=True):
        if message.role is Role.USER and dropped >= excess:
            return message.id
        dropped += count
    return "" if path and dropped >= excess else None
