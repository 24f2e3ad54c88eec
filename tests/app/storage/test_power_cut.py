"""After a power cut at any moment the chats are those of the last call that returned, or of the next one."""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING

import pytest

from app.chat.conversation import ChatSummary, Message, MessageStatus, Role
from app.storage import schema
from app.storage.database import KEEP_DELETED_MS, ChatDatabase
from app.storage.stats import Choice
from mtplx_engine.stats import DecodeStats
from tests.support.disks import Platter, RecordingDisk, recording_disk
from tests.support.figures import figures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import apsw


# Each chat's title -> its messages, as (text, status, figures); and how many answers are in the history.
State = tuple[dict[str, tuple[tuple[str, MessageStatus, DecodeStats | None], ...]], int]


def configured(synchronous: str) -> Callable[[apsw.Connection], None]:
    """Return what configures a connection as always, but for when it waits for the disk."""
    strict = schema._configure

    def configure(connection: apsw.Connection) -> None:
        strict(connection)
        connection.pragma("synchronous", synchronous)

    return configure


def state_of(database: ChatDatabase) -> State:
    """Return everything that the user can see; an answer in progress counts as interrupted."""
    shown = {}
    chats, unreadable = database.list_chats()
    assert unreadable == 0
    for chat in chats:
        conversation, unreadable = database.load_chat(chat.id)
        assert unreadable == 0
        shown[chat.title] = tuple(
            (
                message.text,
                MessageStatus.INTERRUPTED if message.status is MessageStatus.STREAMING else message.status,
                message.stats,
            )
            for message in conversation.messages
        )
    history = database.figures.read(Choice())
    assert history.unreadable == 0
    return shown, history.kept


def turn(number: int, chat_id: str) -> list[Callable[[ChatDatabase], None]]:
    """Return the calls of one question and its answer, which grows over several flushes."""
    question = Message(f"q{number}", chat_id, None, Role.USER, f"Why {number}?" * 40, MessageStatus.DONE, 1)
    answer = Message(f"a{number}", chat_id, question.id, Role.ASSISTANT, "", MessageStatus.STREAMING, 1, "starter")
    final = dataclasses.replace(
        answer, text="Because. " * 700, status=MessageStatus.DONE, stats=DecodeStats(emitted=number)
    )
    return [
        lambda db: db.add_message(question),
        lambda db: db.add_message(answer),
        *(lambda db, n=n: db.flush_answer(answer.id, "Because. " * n, "Hm. ") for n in (40, 250, 500)),
        lambda db: db.finish_answer(final),
        lambda db: db.figures.add(figures({"emitted": 1000 + number})),
    ]


def run_scenario(folder: Path, disk: RecordingDisk) -> list[tuple[int, State]]:
    """Use a database in `folder` as the app does; return how many operations each call took, and what it left."""
    states: list[tuple[int, State]] = [(0, ({}, 0))]
    for session in range(3):
        with ChatDatabase(folder, now_ms=session * KEEP_DELETED_MS * 2) as database:
            states.append((len(disk.operations), state_of(database)))
            calls: list[Callable[[ChatDatabase], None]] = [
                lambda db, s=session: db.add_chat(ChatSummary(f"c{s}", f"Chat {s}", 1, 1)),
                *turn(session * 10, f"c{session}"),
                lambda db, s=session: db.delete_chats([f"c{s}"], s),
                lambda db, s=session: db.restore_chats([f"c{s}"]),
                *turn(session * 10 + 1, f"c{session}"),
                lambda db, s=session: db.add_chat(ChatSummary(f"d{s}", f"Doomed {s}", 1, 1)),
                *turn(session * 10 + 2, f"d{session}"),
                lambda db, s=session: db.delete_chats([f"d{s}"], s),
                *turn(session * 10 + 3, f"c{session}")[:4],
                *[lambda db: db.figures.clear()] * (session == 1),
            ]
            for call in calls:
                call(database)
                states.append((len(disk.operations), state_of(database)))
        states.append((len(disk.operations), states[-1][1]))
    return states


def cut_everywhere(
    folder: Path, before: dict[str, bytes], disk: RecordingDisk, states: list[tuple[int, State]], tries: int
) -> tuple[int, int]:
    """Cut the power after every operation; return the number of cuts, and of those that cost something."""
    remains = folder / "remains"
    remains.mkdir()
    platter = Platter(before)
    chance = random.Random(7)
    cuts = losses = acknowledged = 0
    for done in range(len(disk.operations) + 1):
        if done:
            platter.play(disk.operations[done - 1])
        while acknowledged + 1 < len(states) and states[acknowledged + 1][0] <= done:
            acknowledged += 1
        allowed = [state for _, state in states[acknowledged : acknowledged + 2]]
        for _ in range(tries):
            platter.cut(remains, chance)
            cuts += 1
            with ChatDatabase(remains, now_ms=0) as database:
                losses += bool(database.notice) or state_of(database) not in allowed
            for left in remains.iterdir():
                left.unlink()
    return cuts, losses


@pytest.mark.parametrize("tries", [3, pytest.param(40, marks=pytest.mark.long)])
def test_a_power_cut_loses_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    with recording_disk() as disk:
        states = run_scenario(tmp_path / "chats", disk)
    monkeypatch.setattr(schema, "_configure", configured("OFF"))  # to look is faster so
    cuts, losses = cut_everywhere(tmp_path, {}, disk, states, tries)
    assert cuts > 700 * tries
    assert losses == 0


def test_the_simulation_sees_what_a_weaker_setting_loses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, recording_disk() as disk:
        patch.setattr(schema, "_configure", configured("NORMAL"))
        states = run_scenario(tmp_path / "chats", disk)
    monkeypatch.setattr(schema, "_configure", configured("OFF"))
    cuts, losses = cut_everywhere(tmp_path, {}, disk, states, tries=1)
    assert losses > cuts / 20


def test_a_power_cut_in_a_migration_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "chats"
    with ChatDatabase(folder, now_ms=0) as database:
        database.add_chat(ChatSummary("c", "Chat", 1, 1))
        for call in turn(1, "c"):
            call(database)
        state = state_of(database)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    steps = ("ALTER TABLE chats ADD COLUMN one TEXT", "UPDATE messages SET model = model || '!'")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, *steps))
    with recording_disk() as disk, ChatDatabase(folder, now_ms=0) as database:
        assert state_of(database) == state
    monkeypatch.setattr(schema, "_configure", configured("OFF"))
    cuts, losses = cut_everywhere(tmp_path, before, disk, [(0, state)], tries=5)
    assert cuts > 100
    assert losses == 0
