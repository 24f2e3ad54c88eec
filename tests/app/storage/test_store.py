"""The store answers with signals, keeps the order of the calls, and has written everything when it closes."""

from __future__ import annotations

import dataclasses
import json
import threading
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QThread

from app.chat.conversation import Conversation, MessageStatus, Role
from app.chat.formats import to_json
from app.chat.settings import ChatSettings
from app.storage.database import UNBEGUN, ChatDatabase
from app.storage.export import read_chats
from app.storage.stats import Choice
from app.storage.store import Store
from app.storage.write_queue import Write
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.stats import DecodeStats
from tests.support.chats import NOW, chat, edit, message
from tests.support.figures import figures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from app.chat.metrics import AnswerRecord


CHAT = chat("chat")
QUESTION = message("q", "chat")
ANSWER = message("a", "chat", "q", role=Role.ASSISTANT, text="", status=MessageStatus.STREAMING, model="starter")


@pytest.fixture
def store(qtbot: QtBot, tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "chats")
    with qtbot.waitSignal(store.opened) as opened:
        store.open()
    assert opened.args == [(), ""]
    yield store
    store.close()


def failures(store: Store) -> list[tuple[ErrorInfo, str]]:
    """Return the list to which the store's failures go."""
    found: list[tuple[ErrorInfo, str]] = []
    store.failed.connect(lambda info, message_id: found.append((info, message_id)))
    return found


def test_a_whole_turn_and_its_reading(store: Store, qtbot: QtBot, tmp_path: Path) -> None:
    store.add_chat(CHAT)
    with qtbot.waitSignal(store.committed) as committed:
        store.add_message(QUESTION)
    assert committed.args == ["q"]
    store.add_message(ANSWER)
    final = dataclasses.replace(
        ANSWER, text="Because.", status=MessageStatus.DONE, stats=DecodeStats(emitted=2, accepted_at=(1,))
    )
    store.answer_progress("a", "Beca")
    store.finish_answer(final)
    with qtbot.waitSignal(store.chat_loaded) as loaded:
        store.load_chat("chat")
    conversation, notice = loaded.args
    assert isinstance(conversation, Conversation)
    assert conversation.path() == (QUESTION, final)
    assert notice == ""


def test_a_chat_loads_with_the_progress_that_was_noted_before(store: Store, qtbot: QtBot) -> None:
    store.add_chat(CHAT)
    store.add_message(ANSWER)
    for length in range(1, 50):
        store.answer_progress("a", "x" * length)
    with qtbot.waitSignal(store.chat_loaded) as loaded:
        store.load_chat("chat")
    assert loaded.args[0].messages[0].text == "x" * 49


def test_close_writes_what_waits_and_tells_everything(qtbot: QtBot, tmp_path: Path) -> None:
    store = Store(tmp_path / "chats")
    committed: list[str] = []
    closed: list[bool] = []
    store.committed.connect(committed.append)
    store.closed.connect(lambda: closed.append(True))
    store.open()
    store.add_chat(CHAT)
    store.add_message(QUESTION)
    store.add_message(ANSWER)
    for length in range(1, 500):
        store.answer_progress("a", "x" * length)
    store.close()
    assert committed == ["q", "a"]
    store.close()
    assert closed == [True]
    with ChatDatabase(tmp_path / "chats", NOW) as database:
        answer = database.load_chat("chat")[0].messages[1]
    assert (answer.text, answer.status) == ("x" * 499, MessageStatus.INTERRUPTED)


def test_an_answer_is_written_by_itself_when_nothing_else_happens(
    store: Store, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    seen = threading.Event()
    original = ChatDatabase.flush_answer

    def flush_answer(self: ChatDatabase, message_id: str, text: str, thinking: str) -> None:
        original(self, message_id, text, thinking)
        flushed.append(text)
        if text == "second":
            seen.set()

    monkeypatch.setattr(ChatDatabase, "flush_answer", flush_answer)
    store.add_chat(CHAT)
    store.add_message(ANSWER)
    store.answer_progress("a", "first")
    store.answer_progress("a", "second")
    assert seen.wait(30)
    assert flushed == ["first", "second"]


def test_receivers_run_on_the_main_thread(store: Store, qtbot: QtBot) -> None:
    threads: list[QThread] = []
    store.committed.connect(lambda _: threads.append(QThread.currentThread()))
    store.add_chat(CHAT)
    with qtbot.waitSignal(store.committed):
        store.add_message(QUESTION)
    assert threads == [store.thread()]


def test_delete_and_restore(store: Store, qtbot: QtBot) -> None:
    failed = failures(store)
    store.add_chat(CHAT)
    store.add_message(QUESTION)
    store.delete_chats(["chat"])
    with qtbot.waitSignal(store.failed):
        store.load_chat("chat")
    store.restore_chats(["chat"])
    with qtbot.waitSignal(store.chat_loaded) as loaded:
        store.load_chat("chat")
    assert loaded.args[0].path() == (QUESTION,)
    assert [(info.kind, message_id) for info, message_id in failed] == [(ErrorKind.STORAGE, "")]


def test_a_message_without_a_chat_fails_alone(store: Store, qtbot: QtBot) -> None:
    failed = failures(store)
    with qtbot.waitSignal(store.failed):
        store.add_message(QUESTION)
    store.add_chat(CHAT)
    with qtbot.waitSignal(store.committed) as committed:
        store.add_message(ANSWER)
    assert committed.args == ["a"]
    assert [message_id for _, message_id in failed] == ["q"]


def test_a_second_store_says_that_mtplx_is_running(store: Store, qtbot: QtBot, tmp_path: Path) -> None:
    second = Store(tmp_path / "chats")
    failed = failures(second)
    second.open()
    second.add_message(QUESTION)
    second.answer_progress("q", "no signal for each frame")
    second.load_chat("chat")
    second.close()
    assert [message_id for _, message_id in failed] == ["", "q", ""]
    assert all("already running" in info.message for info, _ in failed)


def test_a_fault_at_opening_is_told(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LookupError("a bug")

    monkeypatch.setattr("app.storage.store.ChatDatabase", broken)
    store = Store(tmp_path / "chats")
    failed = failures(store)
    store.open()
    store.close()
    assert [info.kind for info, _ in failed] == [ErrorKind.INTERNAL]
    assert "a bug" in failed[0][0].details


def test_a_fault_in_reading_is_told_and_the_store_goes_on(
    store: Store, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise LookupError("a bug")

    store.add_chat(CHAT)
    with monkeypatch.context() as patch:
        patch.setattr(ChatDatabase, "load_chat", broken)
        with qtbot.waitSignal(store.failed) as failed:
            store.load_chat("chat")
    assert failed.args[0].kind is ErrorKind.INTERNAL
    with qtbot.waitSignal(store.chat_loaded):
        store.load_chat("chat")


def test_the_user_is_told_of_damaged_records(qtbot: QtBot, tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    with ChatDatabase(folder, NOW) as database:
        for each in (CHAT, chat("other")):
            database.add_chat(each)
        database.add_message(QUESTION)
    edit(
        folder,
        "UPDATE chats SET title = CAST(x'ff' AS TEXT) WHERE id = 'other'",
        "UPDATE messages SET role = ''",
    )
    store = Store(folder)
    told: list[str] = []
    store.opened.connect(lambda _, notice: told.append(notice))
    store.chat_loaded.connect(lambda _, notice: told.append(notice))
    store.open()
    store.load_chat("chat")
    store.close()
    assert [notice.split(" cannot")[0] for notice in told] == ["1 chat", "1 part of this chat"]


def test_d15_drafts_are_kept_in_any_hurry(store: Store, qtbot: QtBot, tmp_path: Path) -> None:
    store.add_chat(CHAT)
    for length in range(1, 200):
        store.set_draft("chat", "x" * length)
        store.set_draft(UNBEGUN, "y" * length)
    store.close()
    again = Store(tmp_path / "chats")
    drafts: list[str] = []
    again.draft_found.connect(drafts.append)
    again.chat_loaded.connect(lambda conversation, _: drafts.append(conversation.draft))
    again.open()
    again.load_chat("chat")
    again.close()
    assert drafts == ["y" * 199, "x" * 199]


def test_a_draft_that_was_sent_does_not_come_back(store: Store, tmp_path: Path) -> None:
    store.add_chat(CHAT)
    store.set_draft("chat", "first")
    store.set_draft("chat", "second")
    store.set_draft("chat", "")
    store.close()
    with ChatDatabase(tmp_path / "chats", NOW) as database:
        assert database.draft("chat") == ""


def test_search_answers_the_last_query_and_drops_the_others(store: Store, qtbot: QtBot) -> None:
    store.add_chat(CHAT)
    store.add_message(QUESTION)
    answered: list[str] = []
    store.found.connect(lambda query, _: answered.append(query))
    busy = threading.Event()
    store._worker.submit(Write("", lambda _: busy.wait()))
    for end in range(1, 7):
        store.search("text q"[:end])
    with qtbot.waitSignal(store.found) as found:
        store.search("text q")
        busy.set()
    (result,) = found.args[1]
    assert (result.chat.id, result.passages[0].message_id) == ("chat", "q")
    assert answered == ["text q"]


def test_a_fault_in_what_is_done_in_between_costs_no_message(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise LookupError("a bug")

    monkeypatch.setattr("app.storage.search_index.SearchIndex.catch_up", broken)
    store = Store(tmp_path / "chats")
    store.open()
    store.add_chat(CHAT)
    for name in ("one", "two"):
        with qtbot.waitSignal(store.committed):
            store.add_message(message(name, "chat"))
    store.close()


def test_all_chats_go_to_a_file_and_come_back(store: Store, qtbot: QtBot, tmp_path: Path) -> None:
    other = chat("other")
    for each in (CHAT, other):
        store.add_chat(each)
    store.add_message(QUESTION)
    with qtbot.waitSignal(store.exported) as exported:
        store.export(tmp_path / "all.json", to_json)
    assert exported.args == [str(tmp_path / "all.json"), 2]
    again = Store(tmp_path / "again")
    with qtbot.waitSignal(again.imported) as imported:
        again.open()
        again.import_chats(tmp_path / "all.json", ())
    chats, number = imported.args
    assert ([each.id for each in chats], number) == (["chat", "other"], 2)
    with qtbot.waitSignal(again.chat_loaded) as loaded:
        again.load_chat("chat")
    assert loaded.args[0].path() == (QUESTION,)
    again.close()


@pytest.mark.parametrize(
    ("named", "taken"), [("here", "here"), ("elsewhere", ""), ("/somebody/else", ""), ("~/here", "")]
)
def test_a_model_that_an_imported_chat_asks_counts_only_when_it_is_installed(
    tmp_path: Path, named: str, taken: str
) -> None:
    settings = ChatSettings(model=named, system_prompt="Be kind.")
    (tmp_path / "one.json").write_text(to_json([Conversation(CHAT, settings=settings)]))
    (read,) = read_chats(tmp_path / "one.json", {"here"})
    assert read.settings == ChatSettings(model=taken, system_prompt="Be kind.")


def test_what_cannot_be_exported_or_imported_is_told(store: Store, qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"noise")
    failed = failures(store)
    store.export(tmp_path / "nowhere" / "all.json", to_json)
    store.import_chats(tmp_path / "missing", ())
    store.import_chats(tmp_path / "noise", ())
    store.close()
    words = [info.message for info, _ in failed]
    assert ["nowhere" in words[0], "missing" in words[1], "no JSON" in words[2]] == [True] * 3
    assert all(info.kind is ErrorKind.STORAGE for info, _ in failed)


def test_d16_closing_waits_for_no_index_and_no_copy(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "chats"
    with ChatDatabase(folder, NOW) as database:
        database.add_chat(CHAT)
        for number in range(100):
            database.add_message(message(f"m{number}", "chat", text="words " * 500))
    monkeypatch.setattr("app.storage.search_index._SLICE", 1)
    monkeypatch.setattr("app.storage.recovery._PAGES", 1)
    monkeypatch.setattr("app.storage.recovery.FIRST_S", 0.0)
    store = Store(folder)
    with qtbot.waitSignal(store.opened):
        store.open()
    store.add_message(QUESTION)
    store.close()
    again = Store(folder)
    again.open()
    with qtbot.waitSignal(again.found) as found:
        again.search("text q")
    assert found.args[1][0].passages[0].message_id == "q"
    again.close()


def test_d16_closing_waits_for_a_hanging_disk_only_so_long(
    store: Store, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hanging, there_again = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        hanging.set()
        there_again.wait()

    store.add_chat(CHAT)
    with qtbot.waitSignal(store.committed):
        store.add_message(QUESTION)
    monkeypatch.setattr(ChatDatabase, "set_title", hang)
    monkeypatch.setattr("app.storage.store._END_MS", 20)
    store.set_title("chat", "Other")
    hanging.wait()
    store.set_pinned("chat", pinned=True)
    store.close()
    assert store.stuck
    assert "unsaved changes: 2" in caplog.text
    there_again.set()
    store._worker.wait()


def test_a_history_is_read_with_all_that_was_added_before(store: Store, qtbot: QtBot) -> None:
    for _ in range(3):
        store.add_stats(figures)
    with qtbot.waitSignal(store.history_read) as read:
        store.read_history(Choice())
    assert (read.args[0].kept, read.args[0].choice) == (3, Choice())
    store.delete_stats()
    with qtbot.waitSignal(store.history_read) as read:
        store.read_history(Choice())
    assert read.args[0].kept == 0


def test_figures_are_made_on_the_thread_of_the_store(store: Store, qtbot: QtBot) -> None:
    threads = []

    def make() -> AnswerRecord:
        threads.append(QThread.currentThread())
        return figures()

    store.add_stats(make)
    with qtbot.waitSignal(store.history_read):
        store.read_history(Choice())
    assert threads == [store._worker]


def test_what_is_chosen_of_a_history_is_exported(store: Store, qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    for model in "aab":
        store.add_stats(lambda model=model: figures(model=model))
    with qtbot.waitSignal(store.history_exported) as exported:
        store.export_history(path, Choice(model="a"))
    assert exported.args == [str(path), 2]
    assert len(json.loads(path.read_text())["answers"]) == 2


def test_a_history_that_cannot_be_exported_is_told(store: Store, qtbot: QtBot, tmp_path: Path) -> None:
    with qtbot.waitSignal(store.failed) as failed:
        store.export_history(tmp_path / "no folder" / "x.csv", Choice())
    assert "could not be exported" in failed.args[0].message
