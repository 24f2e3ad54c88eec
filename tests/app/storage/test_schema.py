"""The file of the chats is private, durable, used by one alone, and migrated with a copy first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import apsw
import pytest

from app.chat.conversation import Conversation
from app.storage import schema
from app.storage.database import ChatDatabase
from app.storage.errors import StoreError
from app.storage.records import stats_row
from app.storage.stats import Choice
from tests.support.chats import NOW, chat, edit, message, texts
from tests.support.figures import figures

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats"


def test_only_the_user_can_read_the_files(folder: Path) -> None:
    old = os.umask(0)
    try:
        with ChatDatabase(folder, NOW) as database:
            database.add_chat(chat("c"))
            modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    finally:
        os.umask(old)
    assert modes == {"chats.db": 0o600, "chats.db-wal": 0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_file_is_durable_strict_and_alone(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        pragma = database._connection.pragma
        assert pragma("journal_mode") == "wal"
        assert pragma("locking_mode") == "exclusive"
        assert pragma("synchronous") == 2
        assert [pragma(name) for name in ("fullfsync", "foreign_keys", "cell_size_check")] == [1, 1, 1]
        assert pragma("trusted_schema") == 0
        tables = database._connection.execute(
            "SELECT strict FROM pragma_table_list WHERE name IN ('chats', 'messages')"
        )
        assert [strict for (strict,) in tables] == [1, 1]
    assert tuple(int(part) for part in apsw.sqlite_lib_version().split(".")) >= (3, 51, 3)
    assert [path.name for path in folder.iterdir()] == ["chats.db"]


def test_a_second_connection_is_told_that_mtplx_runs(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as first:
        first.add_chat(chat("c"))
        with pytest.raises(StoreError, match="already running"):
            ChatDatabase(folder, NOW)
        first.add_message(message("m"))
        with pytest.raises(StoreError, match="already running"):
            ChatDatabase(folder, NOW)
        assert texts(first) == ["text m"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError) as refused:
        ChatDatabase(tmp_path / "file" / "chats", NOW)
    assert str(tmp_path / "file" / "chats") in refused.value.info.message
    assert refused.value.retryable


def test_a_newer_file_is_refused_and_left_alone(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
    edit(folder, "PRAGMA user_version = 99")
    before = (folder / schema.NAME).read_bytes()
    with pytest.raises(StoreError, match=f"format 99; this one reads up to {len(schema.MIGRATIONS)}"):
        ChatDatabase(folder, NOW)
    assert (folder / schema.NAME).read_bytes() == before


STEPS = ("ALTER TABLE chats ADD COLUMN note TEXT", "UPDATE messages SET text = text || '!'")


def test_a_file_is_copied_before_it_is_migrated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(message("m"))
    before = len(schema.MIGRATIONS)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, *STEPS))
    with ChatDatabase(folder, NOW) as database:
        assert texts(database) == ["text m!"]
    with ChatDatabase(folder, NOW) as database:
        assert texts(database) == ["text m!"]
    (copy,) = folder.glob(f"chats.format{before}-*.db")
    assert copy.stat().st_mode & 0o777 == 0o600
    connection = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.execute("SELECT text FROM messages").fetchall() == [("text m",)]
    assert connection.pragma("user_version") == before
    connection.close()
    assert sorted(path.name for path in folder.iterdir()) == sorted(["chats.db", copy.name])


def test_a_migration_that_fails_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(message("m"))
    good = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", (*good, STEPS[1] + "; SELECT nonsense"))
    with pytest.raises(StoreError):
        ChatDatabase(folder, NOW)
    monkeypatch.setattr(schema, "MIGRATIONS", good)
    with ChatDatabase(folder, NOW) as database:
        assert texts(database) == ["text m"]


def test_chats_of_the_first_format_open_as_they_were(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    edit(
        folder,
        schema.MIGRATIONS[0],
        "PRAGMA user_version = 1",
        f"INSERT INTO chats VALUES (1, 'c', 'Title c', {NOW}, {NOW}, 1, NULL)",
        f"INSERT INTO messages VALUES (1, 'm', 'c', NULL, 'user', 'done', {NOW}, '', NULL, '', 'text m')",
    )
    with ChatDatabase(folder, NOW) as database:
        assert database.load_chat("c")[0] == Conversation(chat("c"), (message("m"),), "m")
    assert len(list(folder.glob("chats.format1-*.db"))) == 1


def test_figures_that_had_a_guessed_kind_are_kept_without_it(folder: Path) -> None:
    """The third format had one."""
    folder.mkdir(parents=True)
    kept = figures(model="Toy")
    row = {**stats_row(kept), "kind": "code"}
    columns = ", ".join(row)
    edit(folder, *schema.MIGRATIONS[:3], "PRAGMA user_version = 3")
    edit(folder, f"INSERT INTO figures ({columns}) VALUES ({', '.join(map(repr, row.values()))})")
    with ChatDatabase(folder, NOW) as database:
        assert list(database.figures.each(Choice())) == [kept]
    assert len(list(folder.glob("chats.format3-*.db"))) == 1
