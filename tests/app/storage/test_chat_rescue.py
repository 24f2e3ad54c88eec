"""A damaged file is kept as it is, and what can be read of it opens."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from app.chat.conversation import Attachment
from app.chat.settings import ChatSettings
from app.storage import recovery, schema
from app.storage.database import ChatDatabase
from app.storage.recovery import DailyBackup, daily_copies
from app.storage.stats import Choice
from tests.support.chats import NOW, chat, edit, listed, message, texts
from tests.support.figures import DAY, figures, month


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_GAP", 1000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats"


def filled(folder: Path, chats: int = 3, messages: int = 30) -> dict[str, list[str]]:
    """Write chats large enough for a tree of pages; return their texts."""
    content: dict[str, list[str]] = {}
    with ChatDatabase(folder, NOW) as database:
        for number in range(chats):
            database.add_chat(chat(f"c{number}"))
            content[f"c{number}"] = [f"{number} {index} " + "words " * 80 for index in range(messages)]
            for index, text in enumerate(content[f"c{number}"]):
                database.add_message(message(f"m{number}-{index}", f"c{number}", text=text))
    return content


def damage(path: Path, page: int) -> None:
    """Fill one page of a file with noise."""
    data = bytearray(path.read_bytes())
    data[page * 4096 : (page + 1) * 4096] = bytes(range(251, 91, -5)) * 128
    path.write_bytes(data)


def test_noise_in_any_page_costs_at_most_what_was_on_it(tmp_path: Path) -> None:
    original = tmp_path / "original"
    content = filled(original)
    whole = (original / schema.NAME).read_bytes()
    everything = {text for texts_of_chat in content.values() for text in texts_of_chat}
    saved = []
    for page in range(1, len(whole) // 4096):
        folder = tmp_path / str(page)
        folder.mkdir()
        (folder / schema.NAME).write_bytes(whole)
        damage(folder / schema.NAME, page)
        noise = (folder / schema.NAME).read_bytes()
        with ChatDatabase(folder, NOW) as database:
            assert "was damaged" in database.notice
            found = {text for name in listed(database) for text in texts(database, name)}
            assert found <= everything
            saved.append(len(found))
            (aside,) = folder.glob("chats.damaged-*.db")
            assert aside.name in database.notice
            assert aside.read_bytes() == noise
            database.add_chat(chat("new"))
        with ChatDatabase(folder, NOW) as database:
            assert database.notice == ""
            assert "new" in listed(database)
    # One inner page of the tree holds all messages; every other page at most a handful.
    assert sorted(saved)[1] >= len(everything) - 10


def test_a_chat_whose_own_record_is_lost_keeps_its_messages(folder: Path) -> None:
    content = filled(folder, chats=2)
    ((page,),) = edit(folder, "SELECT rootpage FROM sqlite_schema WHERE name = 'chats'")
    damage(folder / schema.NAME, page - 1)
    with ChatDatabase(folder, NOW) as database:
        assert "60 messages in 2 chats" in database.notice
        assert [each.title for each in database.list_chats()[0]] == ["Rescued chat"] * 2
        assert texts(database, "c0") == content["c0"]
        database.add_message(message("more", "c1"))


def test_everything_of_a_chat_is_rescued(folder: Path) -> None:
    filled(folder)
    whole = message("m", "c0", thinking="hm", attachments=(Attachment("a", 1, "a"),))
    with ChatDatabase(folder, NOW) as database:
        database.add_message(whole)
        database.set_draft("c0", "draft")
        database.set_settings("c0", ChatSettings(system_prompt="Be brief."))
        database.set_pinned("c0", pinned=True)
        before = database.load_chat("c0")[0]
    ((page,),) = edit(folder, "SELECT rootpage FROM sqlite_schema WHERE name = 'messages_by_parent'")
    damage(folder / schema.NAME, page - 1)
    with ChatDatabase(folder, NOW) as database:
        assert "was damaged" in database.notice
        assert database.load_chat("c0")[0] == before


def with_daily_copy(folder: Path) -> None:
    """Let the daily copy be made."""
    with ChatDatabase(folder, NOW) as database:
        backup = DailyBackup(database._connection, folder)
        backup._next_look = 0.0
        while not daily_copies(folder / "backups"):
            backup.work()


def test_what_is_lost_comes_from_the_last_daily_copy(folder: Path) -> None:
    content = filled(folder)
    with_daily_copy(folder)
    with ChatDatabase(folder, NOW) as database:
        database.add_message(message("since", "c0"))
        database.finish_answer(message("m0-29", "c0", text="changed since"))
        database.delete_message("m1-3", NOW)
    ((page,),) = edit(
        folder, "SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' LIMIT 1 OFFSET 2"
    )
    damage(folder / schema.NAME, page - 1)
    with ChatDatabase(folder, NOW) as database:
        assert "from the last daily copy" in database.notice
        assert texts(database, "c0") == [*content["c0"][:29], "changed since", "text since"]
        assert set(texts(database, "c2")) == set(content["c2"])


def test_without_a_word_that_can_be_read_everything_comes_from_the_copy(folder: Path) -> None:
    content = filled(folder)
    with_daily_copy(folder)
    (folder / schema.NAME).write_bytes(b"noise" * 5000)
    with ChatDatabase(folder, NOW) as database:
        assert "90 messages in 3 chats could be read and are here, 90 of them from" in database.notice
        for name, written in content.items():
            assert texts(database, name) == written


def test_damage_in_the_history_costs_what_was_on_the_page_and_no_message(folder: Path) -> None:
    content = filled(folder)
    with ChatDatabase(folder, NOW) as database:
        answers = list(month(DAY))
        for each in answers:
            database.figures.add(each)
    ((page,),) = edit(folder, "SELECT pageno FROM dbstat WHERE name = 'figures' AND pagetype = 'leaf' LIMIT 1 OFFSET 2")
    damage(folder / schema.NAME, page - 1)
    with ChatDatabase(folder, NOW) as database:
        assert "90 messages in 3 chats could be read" in database.notice
        for name, written in content.items():
            assert texts(database, name) == written
        kept = list(database.figures.each(Choice()))
    assert len(answers) - 30 < len(kept) < len(answers)
    assert all(each in answers for each in kept)


def test_a_deleted_history_does_not_come_back_from_the_daily_copy(folder: Path) -> None:
    filled(folder)
    with ChatDatabase(folder, NOW) as database:
        database.figures.add(figures())
    with_daily_copy(folder)
    with ChatDatabase(folder, NOW) as database:
        database.figures.clear()
    (folder / schema.NAME).write_bytes(b"noise" * 5000)
    with ChatDatabase(folder, NOW) as database:
        assert "90 of them from" in database.notice
        assert database.figures.read(Choice()).kept == 0


@pytest.mark.parametrize("change", ["PRAGMA user_version = 1", "DROP TABLE messages"])
def test_a_copy_that_is_no_use_does_no_harm(folder: Path, change: str) -> None:
    filled(folder)
    with_daily_copy(folder)
    (copy,) = daily_copies(folder / "backups")
    connection = apsw.Connection(str(copy))
    connection.execute(change)
    connection.close()
    (folder / schema.NAME).write_bytes(b"noise" * 5000)
    with ChatDatabase(folder, NOW) as database:
        assert "was damaged" in database.notice
        database.add_chat(chat("new"))


@pytest.mark.parametrize("content", [b"not a database, just words. " * 500, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_set_aside(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / schema.NAME).write_bytes(content)
    with ChatDatabase(folder, NOW) as database:
        assert "nothing in it could be read" in database.notice
        database.add_chat(chat("c"))
    (aside,) = folder.glob("chats.damaged-*.db")
    assert aside.read_bytes() == content


@pytest.mark.parametrize("format_number", [-1, 0])
def test_a_file_whose_format_is_damaged_is_rescued(folder: Path, format_number: int) -> None:
    content = filled(folder)
    edit(folder, f"PRAGMA user_version = {format_number}")
    damage(folder / schema.NAME, 9)
    with ChatDatabase(folder, NOW) as database:
        assert "was damaged" in database.notice
        assert sorted(listed(database)) == sorted(content)


def test_the_first_half_of_a_file_opens(folder: Path) -> None:
    content = filled(folder, messages=60)
    data = (folder / schema.NAME).read_bytes()
    (folder / schema.NAME).write_bytes(data[: len(data) // 4096 // 2 * 4096])
    with ChatDatabase(folder, NOW) as database:
        assert "was damaged" in database.notice
        found = texts(database, "c0")
    assert len(found) > 15
    assert found == content["c0"][: len(found)]


def test_damage_twice_in_a_second_keeps_both_files(folder: Path) -> None:
    folder.mkdir(parents=True)
    for content in (b"one" * 999, b"two" * 999):
        (folder / schema.NAME).write_bytes(content)
        ChatDatabase(folder, NOW).close()
    kept = [path.read_bytes() for path in sorted(folder.glob("chats.damaged-*.db"))]
    assert kept == [b"one" * 999, b"two" * 999]


def cut_off_in(moment: str, patch: pytest.MonkeyPatch) -> None:
    """Let the next rescue end as if the process were killed at `moment`."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    rename = Path.rename

    def rename_but_not_the_rescue(path: Path, to: Path) -> None:
        killed() if path.suffix == ".unfinished" else rename(path, to)

    if moment == "set aside":
        patch.setattr(schema, "_rescue", killed)
    elif moment == "copying":
        patch.setattr(recovery, "_readable", killed)
    else:
        patch.setattr(Path, "rename", rename_but_not_the_rescue)


@pytest.mark.parametrize("moment", ["set aside", "copying", "putting in place"])
def test_a_rescue_that_was_cut_off_is_done_again(folder: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    content = filled(folder)
    damage(folder / schema.NAME, 9)
    with monkeypatch.context() as patch:
        cut_off_in(moment, patch)
        with pytest.raises(KeyboardInterrupt):
            ChatDatabase(folder, NOW)
    with ChatDatabase(folder, NOW) as database:
        assert "was damaged" in database.notice
        found = [text for name in listed(database) for text in texts(database, name)]
    assert len(found) > sum(map(len, content.values())) * 0.8
    assert len(list(folder.glob("chats.damaged-*.db"))) == 1


def test_damage_that_only_the_log_would_have_hidden_is_not_written_to(folder: Path) -> None:
    filled(folder)
    database = ChatDatabase(folder, NOW)
    database.add_message(message("late", "c0"))
    (folder / "copy.db-wal").write_bytes((folder / "chats.db-wal").read_bytes())
    database.close()
    damage(folder / schema.NAME, 9)
    (folder / "copy.db-wal").rename(folder / "chats.db-wal")
    before = (folder / schema.NAME).read_bytes()
    with ChatDatabase(folder, NOW) as database:
        assert "text late" in texts(database, "c0")
    (aside,) = folder.glob("chats.damaged-*.db")
    assert aside.read_bytes() == before
    assert aside.with_name(f"{aside.name}-wal").stat().st_size > 0
