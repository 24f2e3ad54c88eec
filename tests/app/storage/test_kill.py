"""Killed at any moment, the app keeps every question that was saved and all but a second of answer and draft."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from app.chat.conversation import Conversation, MessageStatus
from app.storage.database import ChatDatabase
from tests.support import chat_writer
from tests.support.chats import NOW, listed

ROOT = Path(__file__).parents[3]
ROUNDS = 30


def killed_in_the_middle(folder: Path, name: str, chance: random.Random) -> list[list[str]]:
    """Let another process write to `folder`, kill it, and return what it had said by then, in words."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.chat_writer", str(folder), name],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    ) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(chance.randint(1, 400))]
        time.sleep(chance.uniform(0, 0.003))
        writer.kill()
        said += writer.stdout.readlines()
    # The last line may be cut off.
    return [line.split() for line in said if line.endswith("\n")]


def check(conversation: Conversation, said: list[list[str]]) -> None:
    """Assert that the chat holds what `said` was saved, and nothing that was never written."""
    by_id = {message.id: message for message in conversation.messages}
    for message_id, event, *frames in said:
        if event == "draft":
            kept = conversation.draft.count(" ")
            assert kept >= int(frames[0]) - chat_writer.FRAMES_PER_SECOND - 1
            assert conversation.draft == chat_writer.answer_text(kept)
            continue
        message = by_id[message_id]
        if event == "progress":
            # A second is FRAMES_PER_SECOND frames, and the frame that was due may be the one that is written.
            kept = message.text.count(" ")
            assert kept >= int(frames[0]) - chat_writer.FRAMES_PER_SECOND - 1
        elif event == "finished":
            assert message.status is MessageStatus.DONE
    for message in conversation.messages:
        if message.id.startswith("q"):
            assert message.text == chat_writer.question_text(message.id)
        else:
            assert message.text == chat_writer.answer_text(message.text.count(" "))
            assert message.status in (MessageStatus.DONE, MessageStatus.INTERRUPTED)


def test_d12_kill_9_loses_no_question_and_at_most_a_second_of_answer_and_draft(tmp_path: Path) -> None:
    chance = random.Random(11)
    rounds = {f"c{number}": killed_in_the_middle(tmp_path, f"c{number}", chance) for number in range(ROUNDS)}
    cut_off = 0
    with ChatDatabase(tmp_path, NOW) as database:
        assert database.notice == ""
        assert sorted(listed(database)) == sorted(rounds)
        for name, said in rounds.items():
            conversation, unreadable = database.load_chat(name)
            assert unreadable == 0
            assert len(said) > 0
            check(conversation, said)
            cut_off += any(each.status is MessageStatus.INTERRUPTED for each in conversation.messages)
    assert cut_off > ROUNDS / 2
