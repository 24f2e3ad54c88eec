"""Chats come back as they were written, whatever was written."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.conversation import Message, MessageStatus, Role
from app.services.chat_database import KEEP_DELETED_MS, ChatDatabase
from app.services.store_error import StoreError
from mtplx_engine.errors import ErrorKind
from mtplx_engine.stats import DecodeStats
from tests.support.chats import NOW, chat, edit, listed, message, stored_ids, texts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats"


stats = st.builds(
    DecodeStats,
    prompt_tokens=st.integers(0, 10**6),
    emitted=st.integers(0, 10**6),
    accepted_at=st.lists(st.integers(0, 99), max_size=8).map(tuple),
    ttft_s=st.none() | st.floats(0, 1e6),
    seed=st.integers(0, 2**63 - 1),
    depth=st.sampled_from(["auto", "0", "8"]),
)
words = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(words, words, words, st.none() | stats, st.sampled_from(MessageStatus)), max_size=6)
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, str, DecodeStats | None, MessageStatus]],
) -> None:
    messages = tuple(
        Message(
            f"m{index}", "c", f"m{index - 1}" if index else None, Role.ASSISTANT, text, status, index, *rest
        )
        for index, (text, model, error, figures, status) in enumerate(rows)
        for rest in [(model, figures, error)]
    )
    with ChatDatabase(tmp_path_factory.mktemp("chats"), NOW) as database:
        database.add_chat(chat("c"))
        for each in messages:
            database.add_message(each)
        conversation, unreadable = database.load_chat("c")
        assert conversation.messages == messages
        assert conversation.path() == messages
        assert unreadable == 0


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("שלום \u202eabc\u202c مرحبا", None),
        ("👩\u200d👩\u200d👧\u200d👦 e\u0301 Z\u0351\u0326", None),
        ("字" * 1_700_000, None),
        ("", None),
        ("'; DROP TABLE messages; --", None),
        ("a\0b\ud800c", "ab\ufffdc"),
    ],
    ids=["right-to-left", "joined", "five-megabytes", "empty", "quotes", "nul-and-surrogate"],
)
def test_any_text_survives(folder: Path, written: str, read: str | None) -> None:
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(dataclasses.replace(chat("c"), title=written))
        database.add_message(message("m", text=written))
        database.add_message(message("a", text=""))
        database.flush_answer("a", written, written)
    with ChatDatabase(folder, NOW) as database:
        expected = written if read is None else read
        assert texts(database) == [expected, expected]
        assert database.list_chats()[0][0].title == expected


def test_an_answer_grows_and_is_finished(folder: Path) -> None:
    answer = message("a", role=Role.ASSISTANT, text="", status=MessageStatus.STREAMING)
    final = dataclasses.replace(
        answer, text="all", status=MessageStatus.LENGTH, model="m", stats=DecodeStats(emitted=1), error="e"
    )
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(answer)
        database.flush_answer("a", "al", "hm")
        assert texts(database) == ["al"]
        database.finish_answer(final)
        assert database.load_chat("c")[0].messages == (final,)


def test_an_answer_that_was_cut_off_is_interrupted_with_its_text(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(message("done"))
        database.add_message(message("a", status=MessageStatus.STREAMING, text="half an"))
    with ChatDatabase(folder, NOW) as database:
        found = [(each.text, each.status) for each in database.load_chat("c")[0].messages]
    assert found == [("text done", MessageStatus.DONE), ("half an", MessageStatus.INTERRUPTED)]


def test_siblings_stay_siblings(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(message("q"))
        database.add_message(message("a1", parent_id="q"))
        database.add_message(message("a2", parent_id="q"))
        conversation = database.load_chat("c")[0]
    assert [each.id for each in conversation.path()] == ["q", "a2"]
    assert [each.parent_id for each in conversation.messages] == [None, "q", "q"]


def test_order_does_not_follow_the_clock(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        for index, name in enumerate(["one", "two", "three"]):
            database.add_chat(chat(name, NOW - index * 1000))
        assert listed(database) == ["three", "two", "one"]
        database.add_message(message("m1", "one", created_ms=5))
        database.add_message(message("m2", "one", created_ms=4))
        assert listed(database) == ["one", "three", "two"]
        assert texts(database, "one") == ["text m1", "text m2"]


def test_a_message_whose_parent_was_never_saved_is_saved(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(message("first"))
        database.add_message(message("m", parent_id="never saved"))
        assert [each.id for each in database.load_chat("c")[0].path()] == ["first", "m"]


@pytest.mark.parametrize(
    "change",
    [
        lambda db: db.add_message(message("m", "nowhere")),
        lambda db: db.flush_answer("nobody", "text", ""),
        lambda db: db.finish_answer(message("nobody")),
        lambda db: db.delete_chats(["nowhere"], NOW),
        lambda db: db.restore_chats(["nowhere"]),
        lambda db: db.load_chat("nowhere"),
        lambda db: db.add_chat(chat("c")),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(folder: Path, change: object) -> None:
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(message("m0"))
        with pytest.raises(StoreError) as refused:
            change(database)
        assert refused.value.info.kind is ErrorKind.STORAGE
        assert not refused.value.retryable
        assert texts(database) == ["text m0"]
        database.add_message(message("m1"))
        assert texts(database) == ["text m0", "text m1"]


def test_a_deleted_chat_comes_back_whole_and_in_its_place(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        for name in ("one", "two"):
            database.add_chat(chat(name))
            database.add_message(message(f"m-{name}", name))
        database.delete_chats(["one"], NOW)
        assert listed(database) == ["two"]
        with pytest.raises(StoreError):
            database.load_chat("one")
        database.restore_chats(["one"])
        assert listed(database) == ["two", "one"]
        assert texts(database, "one") == ["text m-one"]


def test_deleted_chats_are_forgotten_after_thirty_days(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        for name in ("old", "recent", "live"):
            database.add_chat(chat(name))
            database.add_message(message(f"m-{name}", name))
        database.delete_chats(["old"], NOW)
        database.delete_chats(["recent"], NOW + 1)
    with ChatDatabase(folder, NOW + KEEP_DELETED_MS + 1) as database:
        assert listed(database) == ["live"]
        database.restore_chats(["recent"])
        assert texts(database, "recent") == ["text m-recent"]
        with pytest.raises(StoreError):
            database.restore_chats(["old"])
    assert sorted(stored_ids(folder)) == ["m-live", "m-recent"]


def test_one_damaged_record_hides_no_other(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        for name in ("c", "d"):
            database.add_chat(chat(name))
        for index in range(6):
            database.add_message(message(f"m{index}", parent_id=f"m{index - 1}" if index else None))
    edit(
        folder,
        "UPDATE messages SET role = 'robot' WHERE id = 'm1'",
        "UPDATE messages SET status = 'odd' WHERE id = 'm2'",
        "UPDATE messages SET text = CAST(x'ff80' AS TEXT) WHERE id = 'm3'",
        "UPDATE messages SET stats = '{broken' WHERE id = 'm4'",
        "UPDATE messages SET stats = '{\"emitted\": \"many\"}' WHERE id = 'm5'",
        "UPDATE chats SET title = CAST(x'c3' AS TEXT) WHERE id = 'd'",
    )
    with ChatDatabase(folder, NOW) as database:
        assert database.notice == ""
        conversation, unreadable = database.load_chat("c")
        assert unreadable == 3
        assert [each.id for each in conversation.path()] == ["m0", "m4", "m5"]
        assert [each.stats for each in conversation.messages] == [None] * 3
        chats, unreadable_chats = database.list_chats()
        assert chats == (dataclasses.replace(chat("c"), updated_ms=NOW),)
        assert unreadable_chats == 1
    assert stored_ids(folder) == [f"m{index}" for index in range(6)]
