"""Search finds what users wrote and read, in any script, and nothing else."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.chat.conversation import MessageStatus, Role
from app.storage import search_index
from app.storage.database import ChatDatabase
from app.storage.schema import CACHE_KIB
from tests.support.chats import NOW, chat, message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from app.storage.search_index import SearchIndex


@pytest.fixture
def database(tmp_path: Path) -> Iterator[ChatDatabase]:
    with ChatDatabase(tmp_path, NOW) as database:
        yield database


def indexed(database: ChatDatabase) -> SearchIndex:
    index = database.search_index()
    while index.behind:
        index.catch_up()
    return index


def fill(database: ChatDatabase, **bodies: str) -> None:
    """Keep a chat with one message for each of `bodies`."""
    for name, text in bodies.items():
        database.add_chat(chat(name))
        database.add_message(message(f"m-{name}", name, text=text))


def found(index: SearchIndex, query: str) -> list[str]:
    return [each.chat.id for each in index.find(query)]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("The tallest mountain in Europe", ["mountain", "EUROPE", "ount", "tall euro", "in", "u"]),
        ("Самая высокая гора", ["гора", "ГОРА", "ВЫСОКАЯ", "го", "Го"]),
        ("東京タワーに行きました。", ["東京タワー", "東京", "タ"]),
        ("שלום עולם", ["שלום", "עו"]),
        ("ภูเขาที่สูงที่สุด", ["ภูเขา", "สูง"]),
        ("👩\u200d👩\u200d👧 fine", ["👩\u200d👩\u200d👧", "👧"]),
        ('say "hi" AND (NOT "bye"*) OR x:^y', ['"hi"', "AND", 'NOT "bye"*)', "x:^y", '"']),
        ("100% of c:\\users\\a_b", ["100%", "%", "\\", "a_b", "s\\a"]),
    ],
)
def test_what_was_written_is_found_in_any_script(database: ChatDatabase, text: str, queries: list[str]) -> None:
    fill(database, here=text, elsewhere="- - -")
    index = indexed(database)
    for query in queries:
        assert found(index, query) == ["here"], query


@pytest.mark.parametrize(
    "query", ["", "   ", "mountains high", "_ll", "t%l", "tall OR nothing", "tall*", '"tall', "\0"]
)
def test_what_was_not_written_is_not_found(database: ChatDatabase, query: str) -> None:
    fill(database, here="The tall mountain")
    assert found(indexed(database), query) == []


alphabet = st.characters(codec="utf-8", exclude_categories=("Cs", "Lu", "Lt", "Lo", "Lm", "Mn")) | st.sampled_from(
    "abcAB \"'*()-:^%_\\+{}日本"
)


@settings(max_examples=150)
@given(st.text(alphabet, max_size=30), st.data())
@example('" OR bodies MATCH "', None)
def test_any_piece_of_a_text_finds_it(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject | None
) -> None:
    start, end = data.draw(st.tuples(*[st.integers(0, len(text))] * 2)) if data else (0, len(text))
    with ChatDatabase(tmp_path_factory.mktemp("chats"), NOW) as database:
        fill(database, here=text)
        index = indexed(database)
        query = text.replace("\0", "")[start:end]
        assert found(index, query) == (["here"] if query.split() else [])


def test_titles_come_first_then_what_fits_best(database: ChatDatabase) -> None:
    fill(database, often="tea tea tea", once="tea, and very many other words that have nothing to do with it")
    database.add_chat(dataclasses.replace(chat("named"), title="About Tea"))
    database.add_message(message("m", "named", text="Nothing of the kind."))
    index = indexed(database)
    assert found(index, "tea") == ["named", "often", "once"]
    (named, *_) = index.find("tea")
    assert [named.title.text[start:end] for start, end in named.title.marks] == ["Tea"]
    assert named.passages == ()


def test_a_passage_is_short_marked_and_leads_to_its_message(database: ChatDatabase) -> None:
    fill(database, here="before " * 50 + "\n\n the  Needle\tand the needle " + "after " * 50)
    (passage,) = indexed(database).find("needle the")[0].passages
    assert passage.message_id == "m-here"
    assert passage.text.startswith("…before ")
    assert passage.text.endswith("…")
    assert len(passage.text) < 200
    assert [passage.text[start:end] for start, end in passage.marks] == ["the", "Needle", "the", "needle"]


def test_the_index_follows_what_happens(database: ChatDatabase) -> None:
    index = indexed(database)
    fill(database, here="first words")
    answer = message("a", "here", "m-here", role=Role.ASSISTANT, status=MessageStatus.STREAMING, text="")
    database.add_message(answer)
    database.flush_answer("a", "growing", "")
    assert found(index, "first") == ["here"]
    assert found(index, "growing") == []
    database.finish_answer(dataclasses.replace(answer, text="growing up", status=MessageStatus.DONE))
    assert found(index, "growing") == ["here"]
    database.delete_message("a", NOW)
    assert found(index, "growing") == []
    database.restore_message("a")
    assert found(index, "growing") == ["here"]
    database.delete_chats(["here"], NOW)
    assert found(index, "first") == found(index, "title") == []
    database.restore_chats(["here"])
    assert found(index, "first") == found(index, "title") == ["here"]
    database.set_title("here", "Renamed")
    assert found(index, "renamed") == ["here"]


def test_an_answer_that_was_cut_off_is_found_after_the_next_start(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, here="question")
        answer = message("a", "here", "m-here", status=MessageStatus.STOPPED, text="stopped")
        database.add_message(answer)
        index = indexed(database)
        # It is continued, and the program is killed.
        database.finish_answer(dataclasses.replace(answer, status=MessageStatus.STREAMING))
        index.catch_up()
        database.flush_answer("a", "stopped and went on", "")
    with ChatDatabase(tmp_path, NOW) as database:
        assert found(indexed(database), "went") == ["here"]


def test_many_messages_are_indexed_a_few_at_a_time_and_found_meanwhile(
    database: ChatDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "_SLICE", 2)
    fill(database, one="word", two="word", three="word", four="word", five="word")
    index = database.search_index()
    assert found(index, "word") == ["five", "four", "three", "two", "one"]
    steps = 0
    while index.behind:
        index.catch_up()
        steps += 1
    assert steps == 2
    assert len(found(index, "word")) == 5


def test_the_index_survives_a_start_and_costs_nothing_then(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, here="words")
        indexed(database)
    with ChatDatabase(tmp_path, NOW) as database:
        index = database.search_index()
        assert not index.behind
        assert found(index, "words") == ["here"]


@pytest.mark.parametrize("content", [b"", b"no database" * 999, b"SQLite format 3\0" + b"\xff" * 9000])
def test_an_index_that_is_damaged_or_gone_is_made_anew(tmp_path: Path, content: bytes) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, here="words")
        indexed(database)
    (tmp_path / search_index.NAME).write_bytes(content)
    with ChatDatabase(tmp_path, NOW) as database:
        assert found(indexed(database), "words") == ["here"]


@pytest.mark.parametrize("damage", ["DELETE FROM found.bodies_data", "DROP TABLE found.bodies"])
def test_an_index_that_breaks_while_it_is_used_is_made_anew(database: ChatDatabase, damage: str) -> None:
    fill(database, here="words")
    index = indexed(database)
    database._connection.execute(damage)
    fill(database, there="words")
    for _ in range(3):
        assert sorted(found(index, "words")) == ["here", "there"]


def test_without_any_index_everything_is_read_through(tmp_path: Path) -> None:
    (tmp_path / search_index.NAME).mkdir()
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, here="Some words", there="other words")
        index = indexed(database)
        assert found(index, "WORDS some") == ["here"]
        assert not index.behind


def test_an_index_of_other_chats_is_not_believed(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, old="old words")
        indexed(database)
    (tmp_path / "chats.db").write_bytes(b"noise" * 999)
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, new="new text")
        index = indexed(database)
        assert found(index, "words") == []
        assert found(index, "text") == ["new"]


def test_the_index_is_private_and_no_part_of_the_chats(tmp_path: Path, database: ChatDatabase) -> None:
    fill(database, here="words")
    indexed(database)
    assert (tmp_path / search_index.NAME).stat().st_mode & 0o777 == 0o600
    names = database._connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")
    assert {name for (name,) in names} == {"chats", "messages", "attachments", "drafts", "figures"}


def test_a_full_disk_costs_the_index_but_no_message(database: ChatDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    index = indexed(database)
    fill(database, here="words")

    def full(*_: object) -> None:
        raise apsw.FullError

    with monkeypatch.context() as patch:
        patch.setattr(index, "_index", full)
        index.catch_up()
    assert not index.behind
    fill(database, there="more words")
    assert found(index, "words") == ["there", "here"]


def test_chats_and_index_keep_little_of_their_files_in_memory(database: ChatDatabase) -> None:
    indexed(database)
    for schema in ("main", "found"):
        ((pages,),) = database._connection.execute(f"PRAGMA {schema}.cache_size")
        assert pages == -CACHE_KIB
