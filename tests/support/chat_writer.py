"""Writes a chat as fast as it can until it is killed: `python -m tests.support.chat_writer FOLDER CHAT`.

Says on stdout what is saved, one line for each event, after it is. Time stands still but for the frames, of which
each is a progress of the answer.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import sys
from pathlib import Path

from app.chat.conversation import ChatSummary, Message, MessageStatus, Role
from app.storage.database import ChatDatabase
from app.storage.write_queue import Write, WriteQueue

FRAMES_PER_SECOND = 20
FRAMES = 75


def question_text(message_id: str) -> str:
    """Return what the question of that id says."""
    return f"What about {message_id}? " * 30


def answer_text(words: int) -> str:
    """Return an answer of so many words, each followed by a space."""
    return "".join(f"word{number} " for number in range(words))


def main(folder: Path, chat_id: str) -> None:
    """Write until killed."""
    frame = 0
    with ChatDatabase(folder, 0) as database:
        database.add_chat(ChatSummary(chat_id, chat_id, 0, 0))
        queue = WriteQueue(
            database,
            lambda message_id: say(message_id, "saved"),
            lambda info, _: sys.exit(info.message),
            lambda: frame / FRAMES_PER_SECOND,
        )
        for turn in itertools.count():
            question = Message(f"q-{chat_id}-{turn}", chat_id, None, Role.USER, "", MessageStatus.DONE, 0)
            question = dataclasses.replace(question, text=question_text(question.id))
            answer = Message(
                f"a-{chat_id}-{turn}", chat_id, question.id, Role.ASSISTANT, "", MessageStatus.STREAMING, 0
            )
            for message in (question, answer):
                queue.write(Write(message.id, lambda db, m=message: db.add_message(m)))
            for words in range(FRAMES):
                frame += 1
                text = answer_text(words)
                queue.write_soon(Write(answer.id, lambda db, of=answer.id, t=text: db.flush_answer(of, t, t.upper())))
                say(answer.id, f"progress {words}")
                draft = answer_text(frame)
                queue.write_soon(Write("", lambda db, t=draft: db.set_draft(chat_id, t), "draft"))
                say(chat_id, f"draft {frame}")
            final = dataclasses.replace(answer, text=answer_text(FRAMES), status=MessageStatus.DONE)
            queue.write(Write(answer.id, lambda db, m=final: db.finish_answer(m)))
            say(answer.id, "finished")


def say(message_id: str, event: str) -> None:
    """Say that something is saved; nothing of it waits in a buffer."""
    os.write(1, f"{message_id} {event}\n".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
