"""Chats come back as they were written, whatever was written."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.conversation import Attachment, MessageStatus, Role
from app.chat.settings import ChatSettings
from app.chat.validation import LATEST_MS, clean_title
from app.storage.database import KEEP_DELETED_MS, UNBEGUN, ChatDatabase
from app.storage.errors import StoreError
from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import ErrorKind
from mtplx_engine.stats import DecodeStats
from tests.support.chats import NOW, chat, edit, listed, message, stored_ids, texts
from tests.support.random_chats import chat_settings, contents, words

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats"


@settings(max_examples=40)
@given(st.lists(contents, max_size=6), chat_settings, words)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    chosen: ChatSettings,
    draft: str,
) -> None:
    messages = tuple(
        message(
            f"m{index}",
            parent_id=f"m{index - 1}" if index else None,
            marks=(len(row["text"]) // 2, len(row["text"]) // 3),
            **row,
        )
        for index, row in enumerate(rows)
    )
    with ChatDatabase(tmp_path_factory.mktemp("chats"), NOW) as database:
        database.add_chat(chat("c"))
        for each in messages:
            database.add_message(each)
        database.set_settings("c", chosen)
        database.set_draft("c", draft)
        conversation, unreadable = database.load_chat("c")
        assert conversation.messages == messages
        assert conversation.path() == messages
        assert (conversation.settings, conversation.draft) == (chosen, draft)
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
        assert database.list_chats()[0][0].title == clean_title(expected)


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
        lambda db: db.set_title("nowhere", "t"),
        lambda db: db.set_pinned("nowhere", pinned=True),
        lambda db: db.set_settings("nowhere", ChatSettings()),
        lambda db: db.set_leaf("nowhere", "m0"),
        lambda db: db.delete_message("nobody", NOW),
        lambda db: db.restore_message("nobody"),
        lambda db: db.restore_message("m0"),
        lambda db: db.delete_chats(["c", "nowhere"], NOW),
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


def test_titles_and_pins_change_without_moving_a_chat(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        for name in ("one", "two"):
            database.add_chat(chat(name))
        database.set_title("one", "Another\0 title")
        database.set_pinned("one", pinned=True)
        chats, _ = database.list_chats()
        assert chats == (chat("two"), dataclasses.replace(chat("one"), title="Another title", pinned=True))
        database.set_pinned("one", pinned=False)
        assert not database.load_chat("one")[0].chat.pinned


def branched(database: ChatDatabase) -> None:
    """Keep a chat with a question and two answers, the first of which goes on."""
    database.add_chat(chat("c"))
    for name, parent in (("q", None), ("a1", "q"), ("q2", "a1"), ("a2", "q")):
        database.add_message(message(name, parent_id=parent))


def path(database: ChatDatabase) -> list[str]:
    return [each.id for each in database.load_chat("c")[0].path()]


def test_the_branch_that_was_chosen_is_shown_until_something_is_added(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        branched(database)
        assert path(database) == ["q", "a2"]
        database.set_leaf("c", "q2")
    with ChatDatabase(folder, NOW) as database:
        assert path(database) == ["q", "a1", "q2"]
        database.finish_answer(message("a2"))
        assert path(database) == ["q", "a1", "q2"]
        database.add_message(message("q3", parent_id="a2"))
        assert path(database) == ["q", "a2", "q3"]


def test_a_deleted_message_takes_what_follows_with_it_and_brings_it_back(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        branched(database)
        database.set_leaf("c", "q2")
        database.delete_message("q2", NOW)
        database.delete_message("a1", NOW + 1)
        assert path(database) == ["q", "a2"]
        database.restore_message("a1")
        assert [each.id for each in database.load_chat("c")[0].messages] == ["q", "a1", "a2"]
        database.restore_message("q2")
        assert path(database) == ["q", "a1", "q2"]
        database.delete_message("q", NOW)
        assert path(database) == []
        database.restore_message("q")
        assert path(database) == ["q", "a1", "q2"]


def test_deleted_messages_are_forgotten_after_thirty_days_with_their_attachments(folder: Path) -> None:
    file = Attachment("notes.txt", 5, "notes")
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        for name in ("old", "live"):
            database.add_message(message(name, attachments=(file,)))
        database.delete_message("old", NOW)
    with ChatDatabase(folder, NOW + KEEP_DELETED_MS) as database:
        database.restore_message("old")
        assert texts(database) == ["text old", "text live"]
        database.delete_message("old", NOW)
    with ChatDatabase(folder, NOW + KEEP_DELETED_MS + 1) as database:
        assert database.load_chat("c")[0].messages == (message("live", attachments=(file,)),)
    assert edit(folder, "SELECT message_id FROM attachments") == [("live",)]


def test_a_circle_of_parents_can_be_deleted(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        branched(database)
    edit(folder, "UPDATE messages SET parent_id = 'q2' WHERE id = 'q'")
    with ChatDatabase(folder, NOW) as database:
        database.delete_message("a1", NOW)
        assert database.load_chat("c")[0].messages == ()


def test_d15_each_chat_keeps_its_draft_and_so_does_the_one_that_was_not_begun(folder: Path) -> None:
    with ChatDatabase(folder, NOW) as database:
        for name in ("one", "two"):
            database.add_chat(chat(name))
        database.set_draft("one", "to one")
        database.set_draft("two", "to two")
        database.set_draft(UNBEGUN, "to nobody yet")
        database.set_draft("two", "")
    with ChatDatabase(folder, NOW) as database:
        drafts = [database.load_chat(name)[0].draft for name in ("one", "two")]
        assert drafts == ["to one", ""]
        assert database.draft(UNBEGUN) == "to nobody yet"
        database.delete_chats(["one"], NOW)
    with ChatDatabase(folder, NOW + KEEP_DELETED_MS + 1) as database:
        assert database.draft("one") == ""
        assert database.draft(UNBEGUN) == "to nobody yet"


def test_damaged_values_cost_only_themselves(folder: Path) -> None:
    sampler = SamplerConfig(seed=3)
    whole = message("m", marks=(2, 2), sampler=sampler, thinking="hm", model="toy", error="e")
    chosen = ChatSettings(system_prompt="Be brief.", context=4096, drafting=2)
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(dataclasses.replace(whole, attachments=(Attachment("a", 1, "a"), Attachment("b", 1, "b"))))
        database.set_settings("c", chosen)
        database.set_leaf("c", "m")
        database.set_draft("c", "draft")
    bad = "CAST(x'ff' AS TEXT)"
    edit(
        folder,
        "UPDATE messages SET marks = '[2, 99]', sampler = '{\"seed\": \"x\"}'",
        f"UPDATE messages SET thinking = {bad}, model = {bad}, error = {bad}, stats = {bad}",
        f"UPDATE attachments SET name = {bad} WHERE name = 'b'",
        f"UPDATE chats SET leaf_id = {bad}, pinned = -3",
        "UPDATE chats SET settings = json_set(settings, '$.drafting', 99, '$.context', 'much')",
        f"UPDATE drafts SET text = 'dra' || {bad}",
    )
    with ChatDatabase(folder, NOW) as database:
        found, unreadable = database.load_chat("c")
    assert unreadable == 2  # a file, and the settings
    lost = dict.fromkeys(("thinking", "model", "error"), "\ufffd")
    expected = dataclasses.replace(whole, marks=(), sampler=None, attachments=(Attachment("a", 1, "a"),), **lost)
    assert found.path() == (expected,)
    assert found.settings == ChatSettings(system_prompt="Be brief.")
    assert (found.draft, found.chat.pinned) == ("dra\ufffd", True)


@pytest.mark.parametrize("stored", ["'no json'", "'[]'", "'{\"context\": 0}'", '\'{"sampler": {"top_k": -1}}\''])
def test_damaged_settings_are_told_and_cost_only_themselves(folder: Path, stored: str) -> None:
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(message("m"))
        assert database.load_chat("c")[1] == 0
    edit(folder, f"UPDATE chats SET settings = {stored}")
    with ChatDatabase(folder, NOW) as database:
        found, unreadable = database.load_chat("c")
    assert (found.settings, [each.text for each in found.messages], unreadable) == (
        ChatSettings(),
        ["text m"],
        1,
    )


@pytest.mark.parametrize("column", ["created_ms", "updated_ms"])
@pytest.mark.parametrize("odd", [-1, LATEST_MS + 1, 2**63 - 1, -(2**63)])
def test_a_chat_of_an_odd_date_is_set_aside_and_told(folder: Path, column: str, odd: int) -> None:
    with ChatDatabase(folder, NOW) as database:
        for name in "abc":
            database.add_chat(chat(name))
    edit(folder, f"UPDATE chats SET {column} = {odd} WHERE id = 'b'")
    with ChatDatabase(folder, NOW) as database:
        chats, unreadable = database.list_chats()
        assert ([each.id for each in chats], unreadable) == (["c", "a"], 1)
        with pytest.raises(StoreError, match="cannot be read"):
            database.load_chat("b")


@pytest.mark.parametrize(
    ("change", "unreadable"),
    [
        ("UPDATE messages SET created_ms = -1 WHERE id = 'm'", 1),
        ("UPDATE messages SET role = 'system' WHERE id = 'm'", 1),
        ("UPDATE attachments SET size = -1", 1),
        ("UPDATE messages SET thought_ms = 9223372036854775807 WHERE id = 'm'", 0),
        ("UPDATE messages SET stats = '{\"emitted\": -5}' WHERE id = 'm'", 0),
        ("UPDATE messages SET stats = '{\"ttft_s\": 1e-278}' WHERE id = 'm'", 0),
    ],
)
def test_odd_numbers_of_a_message_cost_only_themselves(folder: Path, change: str, unreadable: int) -> None:
    odd = message("m", role=Role.ASSISTANT, attachments=(Attachment("a.txt", 3, "abc"),))
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(chat("c"))
        database.add_message(odd)
        database.add_message(message("after"))
    edit(folder, change)
    with ChatDatabase(folder, NOW) as database:
        found, number = database.load_chat("c")
    assert number == unreadable
    assert found.messages[-1].text == "text after"
    if not unreadable:
        assert found.messages[0] == odd


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from(["created_ms", "updated_ms", "pinned", "touched"]), st.integers(-(2**63), 2**63 - 1)
    )
)
def test_one_odd_record_never_hides_the_others(tmp_path_factory: pytest.TempPathFactory, odd: dict[str, int]) -> None:
    folder = tmp_path_factory.mktemp("chats")
    with ChatDatabase(folder, NOW) as database:
        for name in "abc":
            database.add_chat(chat(name))
    for column, value in odd.items():
        edit(folder, f"UPDATE chats SET {column} = {value} WHERE id = 'b'")
    with ChatDatabase(folder, NOW) as database:
        chats, unreadable = database.list_chats()
    assert {"a", "c"} <= {each.id for each in chats}
    assert len(chats) + unreadable == 3
