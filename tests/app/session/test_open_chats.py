"""Chats with changes not on the disk stay in memory, are shown and exported, and are dropped once saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.chat.conversation import ChatSummary, Conversation, MessageStatus
from app.chat.formats import from_json, to_json
from app.session.actions import ChatActions
from app.session.queue import GenerationQueue
from app.session.session import ChatSession, OpenChats
from app.storage.database import ChatDatabase
from app.storage.store import Store
from tests.support.chats import NOW, message
from tests.support.disks import full_disk
from tests.support.fake_services import FakeLink

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytestqt.qtbot import QtBot


PLENTY = 10**9


def conversation(name: str) -> Conversation:
    return Conversation(ChatSummary(name, name, 0, 0), (message(f"m {name}", name),))


def test_chats_stay_at_hand_while_busy_or_unsaved() -> None:
    chats = OpenChats()
    for changes, name in enumerate("abc"):
        chats.show(conversation(name), changes)  # "a" is left with 1 change, "b" with 2
    chats.let_go({"a"}, 1)
    assert [chats.at_hand(name) is not None for name in "abc"] == [True, True, True]
    chats.let_go((), 1)
    assert [chats.at_hand(name) is not None for name in "abc"] == [False, True, True]
    chats.note_changes("b", 5)
    chats.let_go((), 4)
    assert chats.at_hand("b") == conversation("b")
    chats.let_go((), 5)
    assert [each.chat.id for each in chats.begun()] == ["c"]


class User:
    """Asks and switches chats on a disk that fills up; the engine is played."""

    def __init__(self, qtbot: QtBot, folder: Path) -> None:
        self.qtbot = qtbot
        self.store, self.link = Store(folder), FakeLink()
        queue = GenerationQueue(self.link)
        self.session = ChatSession(self.store, queue)
        self.actions = ChatActions(self.session, self.store, queue)
        self.link.become_ready()
        with qtbot.waitSignal(self.store.opened):
            self.store.open()

    def ask(self, text: str) -> None:
        asked = len(self.link.asked)
        assert self.actions.send(text)
        self.qtbot.waitUntil(lambda: len(self.link.asked) > asked)

    def answer(self, text: str) -> None:
        self.link.say(text)
        self.link.finish()

    def begin_two_chats(self) -> tuple[str, str]:
        """Return the ids of two chats; the first one is shown."""
        self.ask("first")
        self.answer("1.")
        first = self.session.chat_id
        self.session.new_chat()
        self.ask("second")
        self.answer("2.")
        second = self.session.chat_id
        self.qtbot.waitUntil(lambda: self.session.unsaved == ())
        self.open(first)
        return first, second

    def open(self, chat_id: str) -> None:
        self.session.open_chat(chat_id)
        self.qtbot.waitUntil(lambda: self.session.chat_id == chat_id)

    @property
    def seen(self) -> list[tuple[str, MessageStatus]]:
        return [(each.text, each.status) for each in self.session.shown.path()]


@pytest.fixture
def user(qtbot: QtBot, tmp_path: Path) -> Iterator[User]:
    with full_disk(PLENTY) as disk:
        user = User(qtbot, tmp_path / "chats")
        user.disk = disk
        yield user
        disk.room = PLENTY
        user.session.close()
        user.store.close()


def test_an_answer_that_ended_on_a_full_disk_is_there_again(user: User) -> None:
    first, second = user.begin_two_chats()
    user.ask("precious")
    user.link.say("An answer")
    user.disk.room = 0
    with user.qtbot.waitSignal(user.store.failed):
        user.link.finish(text=" to keep.")
    expected = [
        *user.seen[:2],
        ("precious", MessageStatus.DONE),
        ("An answer to keep.", MessageStatus.DONE),
    ]
    assert user.seen == expected
    for _ in range(2):
        user.open(second)
        user.open(first)
        assert user.seen == expected
    user.open(second)
    assert [each.text for each in user.session.at_hand(first).path()][-1] == "An answer to keep."

    user.disk.room = PLENTY
    user.qtbot.waitUntil(lambda: user.session.at_hand(first) is None)
    user.open(first)
    assert user.seen == expected


def test_a_question_on_a_full_disk_is_kept_shown_exported_and_saved_later(user: User, tmp_path: Path) -> None:
    first, second = user.begin_two_chats()
    user.disk.room = 0
    with user.qtbot.waitSignal(user.store.failed):
        assert user.actions.send("precious")
    user.session.new_chat()
    assert user.actions.send("never on the disk")
    fresh = user.session.chat_id
    user.qtbot.waitUntil(lambda: not user.session.busy)
    user.open(second)
    user.open(first)
    assert [text for text, _ in user.seen[:3]] == ["first", "1.", "precious"]
    assert user.seen[-1][1] is MessageStatus.ERROR

    path = tmp_path / "all.json"
    with user.qtbot.waitSignal(user.store.exported) as exported:
        user.store.export(path, to_json, user.session.unsaved)
    assert exported.args == [str(path), 3]
    found = {each.chat.id: [message.text for message in each.path()] for each in from_json(path.read_bytes())}
    assert [found[chat_id][-2] for chat_id in (first, second, fresh)] == [
        "precious",
        "second",
        "never on the disk",
    ]

    user.session.delete_chats([fresh])
    assert fresh not in {each.chat.id for each in user.session.unsaved}
    user.disk.room = PLENTY
    user.qtbot.waitUntil(lambda: user.session.unsaved == ())
    user.store.close()
    with ChatDatabase(tmp_path / "chats", NOW) as database:
        assert [each.text for each in database.load_chat(first)[0].path()][-2] == "precious"
