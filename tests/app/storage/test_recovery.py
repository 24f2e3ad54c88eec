"""The chats are copied once a day without anybody noticing; seven checked copies are kept."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import apsw
import pytest

from app.storage import recovery
from app.storage.database import ChatDatabase
from app.storage.recovery import DAY_S, KEPT, DailyBackup, daily_copies
from tests.support.chats import NOW, chat, message, texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclasses.dataclass
class Clock:
    now: float = NOW / 1000

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[ChatDatabase]:
    with ChatDatabase(tmp_path, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(message("m"))
        yield database


@pytest.fixture
def backup(database: ChatDatabase, tmp_path: Path, clock: Clock) -> Iterator[DailyBackup]:
    backup = DailyBackup(database._connection, tmp_path, clock)
    yield backup
    backup.close()


def run(backup: DailyBackup) -> None:
    """Let it do what is due now, as the store's thread does."""
    while backup.due_in() < 1:
        time.sleep(backup.due_in() / 10)
        backup.work()


def kept(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in daily_copies(tmp_path / "backups"))


def test_one_copy_a_day_and_seven_of_them(
    backup: DailyBackup, database: ChatDatabase, tmp_path: Path, clock: Clock
) -> None:
    run(backup)
    assert kept(tmp_path) == []  # not while the program starts
    clock.now += recovery.FIRST_S
    for day in range(KEPT + 3):
        run(backup)
        run(backup)
        assert len(kept(tmp_path)) == min(day + 1, KEPT)
        database.add_message(message(f"m{day}"))
        for _ in range(24):
            clock.now += DAY_S / 24
            run(backup)
    assert len(set(kept(tmp_path))) == KEPT
    newest = max(daily_copies(tmp_path / "backups"))
    assert newest.stat().st_mode & 0o777 == 0o600
    restored = tmp_path / "restored"
    restored.mkdir()
    newest.rename(restored / "chats.db")
    with ChatDatabase(restored, NOW) as copy:
        assert copy.notice == ""
        assert texts(copy) == texts(database)


def test_writes_go_on_while_it_copies_and_are_in_the_copy(
    backup: DailyBackup, database: ChatDatabase, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_PAGES", 1)
    for number in range(20):
        database.add_message(message(f"before {number}", text="long " * 1000))
    clock.now += recovery.FIRST_S
    backup.work()
    steps = 0
    while backup._copying:
        backup.work()
        database.add_message(message(f"meanwhile {steps}"))
        steps += 1
    assert steps > 20
    run(backup)
    (copy,) = daily_copies(tmp_path / "backups")
    connection = apsw.Connection(str(copy))
    ((number,),) = connection.execute("SELECT count(*) FROM messages WHERE id LIKE 'meanwhile%'")
    connection.close()
    assert number >= steps - 1


def test_a_copy_that_is_bad_does_not_count(
    backup: DailyBackup, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.now += recovery.FIRST_S
    run(backup)
    good = kept(tmp_path)
    clock.now += DAY_S
    with monkeypatch.context() as patch:
        patch.setattr(recovery.files, "sync", lambda path: path.write_bytes(b"noise" * 5000))
        run(backup)
    assert kept(tmp_path) == good
    clock.now += recovery.LOOK_S
    run(backup)
    assert len(kept(tmp_path)) == 2


def test_chats_that_are_empty_push_out_no_copy(tmp_path: Path, clock: Clock) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        backup = DailyBackup(database._connection, tmp_path, clock)
        clock.now += DAY_S
        run(backup)
    assert kept(tmp_path) == []


def test_a_clock_that_was_put_back_stops_no_copies(
    backup: DailyBackup, tmp_path: Path, clock: Clock, database: ChatDatabase
) -> None:
    clock.now += 100 * DAY_S
    run(backup)
    clock.now -= 90 * DAY_S
    again = DailyBackup(database._connection, tmp_path, clock)
    clock.now += recovery.LOOK_S
    run(again)
    assert len(kept(tmp_path)) == 2


@pytest.mark.parametrize("steps", range(1, 5))
def test_it_can_be_given_up_at_any_moment(
    backup: DailyBackup, database: ChatDatabase, tmp_path: Path, clock: Clock, steps: int
) -> None:
    clock.now += recovery.FIRST_S
    for _ in range(steps):
        backup.work()
    backup.close()
    database.add_message(message("after"))
    run(again := DailyBackup(database._connection, tmp_path, clock))
    clock.now += recovery.FIRST_S
    run(again)
    assert len(kept(tmp_path)) == 1


def test_a_folder_that_cannot_be_made_is_tried_again_later(backup: DailyBackup, tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "backups").write_text("in the way")
    clock.now += recovery.FIRST_S
    run(backup)
    (tmp_path / "backups").unlink()
    run(backup)
    assert kept(tmp_path) == []
    clock.now += recovery.LOOK_S
    run(backup)
    assert len(kept(tmp_path)) == 1
