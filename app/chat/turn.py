"""One question on its way to its answer."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.chat.conversation import Conversation, Message, MessageStatus, Role, new_id
from app.chat.meters import LiveMeter

if TYPE_CHECKING:
    from mtplx_engine.config import ChatMessage
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.protocol import PrefillProgress, Tokens
    from mtplx_engine.stats import DecodeStats


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an answer ended.

    Attributes:
        status: What becomes of the message.
        stats: The engine's figures, when it got to give them.
        error: Why it failed, for ERROR.
    """

    status: MessageStatus
    stats: DecodeStats | None = None
    error: ErrorInfo | None = None


class Turn:
    """What is known of an answer from Send until it ends.

    Attributes:
        generation: The id under which the engine knows it.
        question_id: The message that is answered.
        answer: The answer as it was when the turn began, without text.
        prompt: What the model is given.
        committed: Whether the question is on the disk; until then the engine must not see it.
        prefill: How much of the prompt has been read, once the engine has said so.
        meter: Measures the answer while it is written.
        text: The answer so far.
    """

    def __init__(
        self, generation: int, question_id: str, answer: Message, prompt: tuple[ChatMessage, ...]
    ) -> None:
        self.generation = generation
        self.question_id = question_id
        self.answer = answer
        self.prompt = prompt
        self.committed = False
        self.prefill: PrefillProgress | None = None
        self.meter = LiveMeter()
        self.text = ""

    @property
    def chat_id(self) -> str:
        """The chat that it belongs to."""
        return self.answer.chat_id

    def add(self, event: Tokens) -> None:
        """Take in what a decode cycle gave."""
        self.text += event.text
        self.meter.add(
            at_s=event.at_s,
            tokens=len(event.token_ids),
            drafted=event.drafted,
            accepted=event.accepted,
        )

    def snapshot(self) -> Message:
        """Return the answer with its text so far."""
        return dataclasses.replace(self.answer, text=self.text)


def missing_answer(conversation: Conversation) -> Message | None:
    """Return the answer that a chat lacks whose last question was saved in the moment before a crash."""
    path = conversation.path()
    if not path or path[-1].role is not Role.USER:
        return None
    return dataclasses.replace(
        path[-1],
        id=new_id(),
        parent_id=path[-1].id,
        role=Role.ASSISTANT,
        text="",
        status=MessageStatus.INTERRUPTED,
    )
