"""On a full disk nothing that was acknowledged is lost, and the rest is saved as soon as there is room."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from app.chat.conversation import MessageStatus
from app.storage.database import ChatDatabase
from app.storage.errors import StoreError
from app.storage.write_queue import Write, WriteQueue
from tests.support.chats import NOW, chat, message, texts
from tests.support.disks import full_disk

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.errors import ErrorInfo


PLENTY = 10**9
LONG = "a long text " * 1000


def writes() -> list[Write]:
    """Return the writes of two turns."""
    found = [Write("", lambda db: db.add_chat(chat("c")))]
    for number in range(2):
        question, answer = message(f"q{number}"), message(f"a{number}", status=MessageStatus.STREAMING)
        final = dataclasses.replace(answer, text=LONG, status=MessageStatus.DONE)
        found += [
            Write(question.id, lambda db, m=question: db.add_message(m)),
            Write(answer.id, lambda db, m=answer: db.add_message(m)),
            Write(answer.id, lambda db, m=final: db.finish_answer(m)),
        ]
    return found


ALL_TEXTS = ["text q0", LONG, "text q1", LONG]
ALL_IDS = ["q0", "a0", "a0", "q1", "a1", "a1"]


def fill_up(folder: Path, room: int) -> int:
    """Do all writes on a disk with room for `room` pages, then make room; return how many writes had to wait."""
    now = 0.0
    committed: list[str] = []
    failed: list[tuple[ErrorInfo, str]] = []
    with full_disk(PLENTY) as disk, ChatDatabase(folder, NOW) as database:
        queue = WriteQueue(database, committed.append, lambda *args: failed.append(args), lambda: now)
        disk.room = room
        for write in writes():
            queue.write(write)
        waiting = len(failed)
        assert all(info.message.startswith("The disk is full (") for info, _ in failed)
        assert [message_id for _, message_id in failed] == ["", *ALL_IDS][len(ALL_IDS) + 1 - waiting :]
        assert committed == ALL_IDS[: len(ALL_IDS) - waiting] if waiting <= len(ALL_IDS) else committed == []
        if committed:
            assert len(texts(database)) == len(set(committed))
        disk.room = PLENTY
        now += 1
        queue.tick()
        assert committed == ALL_IDS
        assert texts(database) == ALL_TEXTS
    with ChatDatabase(folder, NOW) as database:
        assert database.notice == ""
        assert texts(database) == ALL_TEXTS
    return waiting


def test_wherever_the_disk_fills_up(tmp_path: Path) -> None:
    waited = []
    while not waited or waited[-1]:
        assert len(waited) < 500
        waited.append(fill_up(tmp_path / str(len(waited)), room=len(waited)))
    assert len(waited) > 40
    assert waited == sorted(waited, reverse=True)
    assert set(waited) == set(range(len(ALL_IDS) + 2))


def test_chats_open_on_a_full_disk(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(message("m", status=MessageStatus.STREAMING))
    with full_disk(0), ChatDatabase(tmp_path, NOW) as database:
        assert "The disk is full" in database.notice
        assert texts(database) == ["text m"]


def test_a_first_start_on_a_full_disk_says_so_and_works_later(tmp_path: Path) -> None:
    with full_disk(0) as disk:
        for disk.room in range(12):
            with pytest.raises(StoreError, match="The disk is full") as refused:
                ChatDatabase(tmp_path, NOW)
            assert refused.value.retryable
    with ChatDatabase(tmp_path, NOW) as database:
        assert database.notice == ""
        database.add_chat(chat("c"))
