"""What is exported comes back exactly; what is no such file, or a hostile one, is refused in words."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.conversation import Attachment, Conversation, MessageStatus, Role, with_fresh_ids
from app.chat.formats import UnreadableChatsError, from_json, to_json, to_markdown, to_text
from app.chat.settings import ChatSettings
from app.storage.database import ChatDatabase
from tests.support.chats import NOW, chat, listed, message
from tests.support.random_chats import conversations

if TYPE_CHECKING:
    from pathlib import Path


# Words and signs of sentences; nothing that only a programmer reads.
PLAIN = re.compile(r"[A-Z]([A-Za-z0-9 ,:;-]|\.(?= [A-Z]|$))*")
WHOLE = Conversation(
    chat("c"),
    (
        message("q", attachments=(Attachment("a.txt", 3, "abc"),)),
        message("a", parent_id="q", role=Role.ASSISTANT, thinking="hm", thought_ms=5, marks=(2, 3)),
        message("b", parent_id="q", role=Role.ASSISTANT, status=MessageStatus.STOPPED),
    ),
    "a",
    ChatSettings(system_prompt="Be brief.", reads_from="q"),
    "draft",
)


def body(**changes: Any) -> dict[str, Any]:
    return {**json.loads(to_json([WHOLE])), **changes}


def read(value: Any) -> tuple[Conversation, ...]:
    return from_json(json.dumps(value).encode())


@settings(max_examples=60)
@given(st.lists(conversations(), max_size=2))
def test_what_is_exported_comes_back_exactly(chats: list[Conversation]) -> None:
    assert from_json(to_json(chats).encode()) == tuple(chats)


@settings(max_examples=25)
@given(conversations())
def test_the_way_over_the_disk_is_exact_too(
    tmp_path_factory: pytest.TempPathFactory, conversation: Conversation
) -> None:
    with ChatDatabase(tmp_path_factory.mktemp("chats"), NOW) as database:
        database.import_chats(from_json(to_json([conversation]).encode()))
        found = database.load_chat("c")[0]
        newest = conversation.leaf_id or None
        assert found == dataclasses.replace(conversation, leaf_id=newest)
        assert to_json([found]) == to_json([conversation])


def test_ids_that_are_taken_are_never_written_over(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        database.import_chats([WHOLE])
        database.set_title("c", "Mine")
        database.import_chats([WHOLE, dataclasses.replace(WHOLE, chat=chat("d"), messages=(), leaf_id=None)])
        ids = listed(database)
        assert (len(ids), ids[0], ids[2]) == (3, "d", "c")
        copy = database.load_chat(ids[1])[0]
        assert copy.chat.title == WHOLE.chat.title
        assert database.load_chat("c")[0] == dataclasses.replace(
            WHOLE, chat=dataclasses.replace(WHOLE.chat, title="Mine")
        )
    old_ids = {"c", "q", "a", "b"}
    assert not old_ids & {copy.chat.id, *(each.id for each in copy.messages)}
    assert [each.text for each in copy.path()] == ["text q", "text a"]
    assert copy.settings.reads_from == copy.messages[0].id
    assert copy.draft == WHOLE.draft


def test_deleted_chats_are_not_written_over_either(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        database.import_chats([WHOLE])
        database.delete_chats(["c"], NOW)
        database.import_chats([WHOLE])
        database.restore_chats(["c"])
        assert len(listed(database)) == 2


@given(conversations())
def test_fresh_ids_change_nothing_else(conversation: Conversation) -> None:
    copy = with_fresh_ids(conversation)
    index = {each.id: number for number, each in enumerate(conversation.messages)}
    index_of_copy = {each.id: number for number, each in enumerate(copy.messages)}
    assert [index_of_copy.get(each.parent_id) for each in copy.messages] == [
        index.get(each.parent_id) for each in conversation.messages
    ]
    assert [each.text for each in copy.path()] == [each.text for each in conversation.path()]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"not json",
        b"[]",
        b"null",
        b'{"format": "mtplx-chats"}',
        b'{"format": "mtplx-chats", "version": true, "chats": []}',
        b'{"format": "mtplx-chats", "version": 2, "chats": []}',
        b'{"format": "mtplx-chats", "version": 1, "chats": 5}',
        b'{"format": "mtplx-chats", "version": 1, "chats": [null]}',
        b"[" * 100_000,
        b"1" * 10_000,
        b'{"format": "mtplx-chats", "version": 1' + b"0" * 5000 + b"}",
    ],
)
def test_what_is_no_export_is_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(UnreadableChatsError) as refused:
        from_json(data)
    assert 20 < len(str(refused.value)) < 300
    assert str(refused.value).endswith(".")


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    """Return the export with one value changed."""
    result = body()
    place = result["chats"][0]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return result


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["chat", "id"], ""),
        (["chat", "id"], "\ud800"),
        (["chat", "id"], "x" * 200),
        (["chat", "created_ms"], 2**63),
        (["chat", "title"], None),
        (["messages", 0, "id"], "a"),
        (["messages", 0, "chat_id"], "another"),
        (["messages", 0, "parent_id"], "b"),
        (["messages", 1, "parent_id"], "a"),
        (["messages", 1, "parent_id"], "nobody"),
        (["messages", 0, "role"], "robot"),
        (["messages", 0, "status"], 1),
        (["messages", 0, "thought_ms"], -1),
        (["messages", 0, "marks"], [-5]),
        (["messages", 0, "marks"], "many"),
        (["messages", 0, "sampler"], {"temperature": 99}),
        (["messages", 0, "stats"], {"ttft_s": 1e999}),
        (["messages", 0, "attachments"], [{"name": "x", "size": 2**70, "text": ""}]),
        (["chat", "updated_ms"], 2**63 - 1),
        (["messages", 0, "created_ms"], 2**63 - 1),
        (["messages", 0, "role"], "system"),
        (["messages", 0, "thought_ms"], 2**62),
        (["messages", 0, "stats"], {"ttft_s": 1e-278}),
        (["messages", 0, "stats"], {"emitted": -5}),
        (["messages", 0, "sampler"], {"temperature": float("nan")}),
        (["messages", 0, "sampler"], {"top_k": -1}),
        (["settings", "context"], 10**40),
        (["settings", "max_tokens"], 10**400),
        (["messages", 0, "surprise"], 1),
        (["leaf_id"], "nobody"),
        (["settings", "context"], 0),
        (["settings", "drafting"], 99),
        (["messages"], {}),
    ],
)
def test_a_value_that_does_not_fit_refuses_the_file(path: list[Any], value: Any) -> None:
    with pytest.raises(UnreadableChatsError, match="Chat 1 in this file is damaged") as refused:
        read(changed(path, value))
    assert PLAIN.fullmatch(str(refused.value))


def test_titles_and_names_are_made_what_they_look_like() -> None:
    (found,) = read(changed(["chat", "title"], " \u202egpj.tac\n"))
    assert found.chat.title == "gpj.tac"
    (found,) = read(changed(["chat", "title"], ""))
    assert found.chat.title == "New chat"
    (found,) = read(changed(["messages", 1, "model"], "\u2066" + "m" * 400))
    assert found.messages[1].model == "m" * 255
    (found,) = read(changed(["messages", 0, "attachments"], [{"name": "\u202ea", "size": 1, "text": "\u202eb"}]))
    assert found.messages[0].attachments == (Attachment("a", 1, "\u202eb"),)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800\0"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
places = st.sampled_from(
    [
        [field, *rest]
        for field, rests in {
            "chat": [[], ["id"], ["title"], ["updated_ms"], ["pinned"]],
            "messages": [
                [],
                [0],
                *([1, name] for name in json.loads(to_json([WHOLE]))["chats"][0]["messages"][1]),
            ],
            "settings": [[], ["system_prompt"], ["sampler"], ["reads_from"], ["thinking"]],
            "leaf_id": [[]],
            "draft": [[]],
        }.items()
        for rest in rests
    ]
)


@settings(max_examples=150)
@given(places, json_values)
def test_whatever_stands_in_a_file_is_refused_or_can_be_kept(
    tmp_path_factory: pytest.TempPathFactory, path: list[Any], value: Any
) -> None:
    refusal, chats = "", ()
    try:
        chats = read(changed(path, value))
    except UnreadableChatsError as error:
        refusal = str(error)
    if refusal:
        assert PLAIN.fullmatch(refusal)
        return
    with ChatDatabase(tmp_path_factory.mktemp("chats"), NOW) as database:
        database.import_chats(chats)
        (chat_id,) = listed(database)
        found, unreadable = database.load_chat(chat_id)
    assert unreadable == 0
    assert [each.text for each in found.messages] == [each.text for each in chats[0].messages]


def test_an_answer_that_was_being_written_is_interrupted_and_odd_characters_go() -> None:
    (found,) = read(changed(["messages", 1, "status"], "streaming"))
    assert found.messages[1].status is MessageStatus.INTERRUPTED
    (found,) = read(changed(["messages", 1, "text"], "a\0b\ud800"))
    assert found.messages[1].text == "ab\ufffd"
    assert found.messages[1].marks == ()


CHAT = Conversation(
    chat("c"),
    (
        message("q", text="What is in it?", attachments=(Attachment("a.md", 9, "```\ncode\n```"),)),
        message("lost", parent_id="q", role=Role.ASSISTANT, text="Another branch"),
        message(
            "a",
            parent_id="q",
            role=Role.ASSISTANT,
            model="Toy",
            text="**Code**, it seems.",
            thinking="Let me look.\n\nYes.",
            status=MessageStatus.STOPPED,
        ),
    ),
    "a",
)


def test_markdown() -> None:
    assert to_markdown([CHAT]) == (
        "# Title c\n\n## You\n\n**a.md**\n\n````\n```\ncode\n```\n````\n\nWhat is in it?\n\n"
        "## Toy\n\n> *Thinking*\n\n> Let me look.\n>\n> Yes.\n\n**Code**, it seems.\n\n*[Stopped]*\n"
    )


def test_plain_text() -> None:
    assert to_text([CHAT]) == (
        "Title c\n-------\n\nYou:\n[a.md]\n    ```\n    code\n    ```\nWhat is in it?\n\n"
        "Toy:\n    (Thinking) Let me look.\n\n    Yes.\n**Code**, it seems.\n[Stopped]\n"
    )


def test_several_chats_stand_apart() -> None:
    other = dataclasses.replace(CHAT, chat=chat("d"))
    assert to_markdown([CHAT, other]).count("\n\n---\n\n# ") == 1
    assert to_text([CHAT, other]).count("\n" + "=" * 72 + "\n") == 1


@given(conversations())
def test_every_text_of_the_branch_is_in_it(conversation: Conversation) -> None:
    markdown, text = to_markdown([conversation]), to_text([conversation])
    for each in conversation.path():
        assert each.text.strip("\n") in markdown
        assert each.text.strip("\n") in text
