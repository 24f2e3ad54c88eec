"""A conversation keeps its tree, its path and its prompt straight, whatever the tree looks like."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import conversation
from app.chat.conversation import (
    TITLE_LIMIT,
    UNTITLED,
    Conversation,
    Message,
    MessageStatus,
    Role,
    clean_text,
    conversation_from,
    new_id,
    title_from,
)
from tests.support.trees import CHAT, grown, message, trees


@given(trees())
def test_the_path_runs_from_a_root_to_the_newest_message(messages: tuple[Message, ...]) -> None:
    conversation = grown(messages)
    path = conversation.path()
    assert path[-1] == messages[-1]
    assert path[0].parent_id is None
    assert [each.parent_id for each in path[1:]] == [each.id for each in path[:-1]]


@given(trees())
def test_growing_and_loading_give_the_same_conversation(messages: tuple[Message, ...]) -> None:
    assert conversation_from(CHAT, messages) == grown(messages)


@given(trees(), st.data())
def test_replacing_a_message_changes_only_that_message(messages: tuple[Message, ...], data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(messages))
    changed = dataclasses.replace(target, text="new words", status=MessageStatus.STREAMING)
    conversation = grown(messages).replace_message(changed)
    assert conversation.messages == tuple(changed if each is target else each for each in messages)
    assert conversation.leaf_id == messages[-1].id


@given(trees(), st.data())
def test_missing_messages_leave_a_whole_tree(messages: tuple[Message, ...], data: st.DataObject) -> None:
    lost = data.draw(st.sets(st.sampled_from(messages), max_size=len(messages) - 1))
    kept = tuple(each for each in messages if each not in lost)
    conversation = conversation_from(CHAT, kept)
    assert [each.text for each in conversation.messages] == [each.text for each in kept]
    earlier: set[str | None] = {None}
    for before, after in zip(kept, conversation.messages, strict=True):
        assert after.parent_id in earlier
        assert after.parent_id == before.parent_id or before.parent_id not in earlier
        earlier.add(after.id)


@given(st.integers(2, 12), st.data())
def test_a_missing_message_hides_no_other_of_a_plain_chat(size: int, data: st.DataObject) -> None:
    chain = tuple(message(f"m{i}", f"m{i - 1}" if i else None) for i in range(size))
    lost = data.draw(st.sets(st.sampled_from(chain), max_size=size - 1))
    kept = tuple(each for each in chain if each not in lost)
    assert [each.id for each in conversation_from(CHAT, kept).path()] == [each.id for each in kept]


def test_children_of_a_missing_question_stay_siblings() -> None:
    kept = (message("hello", None), message("first", "lost"), message("second", "lost"))
    conversation = conversation_from(CHAT, kept)
    assert [each.parent_id for each in conversation.messages] == [None, "hello", "hello"]


def test_a_circle_of_parents_ends() -> None:
    circle = (message("a", "b"), message("b", "a"))
    assert [each.id for each in Conversation(CHAT, circle, "b").path()] == ["a", "b"]


def test_an_unknown_message_cannot_be_replaced() -> None:
    with pytest.raises(KeyError, match="nobody"):
        Conversation(CHAT).replace_message(message("nobody", None))


def test_ids_differ() -> None:
    assert len({new_id() for _ in range(1000)}) == 1000


@given(st.text(st.characters(codec=None), max_size=200))
def test_a_title_is_one_visible_line(text: str) -> None:
    title = title_from(text)
    assert 0 < len(title) <= TITLE_LIMIT
    assert title.isprintable() or all(char.isprintable() or char > "\x9f" for char in title)
    assert any(char.isprintable() and not char.isspace() for char in title)
    assert len(title.splitlines()) == 1
    title.encode()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("  What is\n a   monad?\n", "What is a monad?"),
        ("", UNTITLED),
        ("\u200b\n\0", UNTITLED),
        ("word " * 40, "word " * 10 + "word word…"),
        ("字" * 100, "字" * 59 + "…"),
        ("Hi " + "x" * 100, "Hi " + "x" * 56 + "…"),
        ("a\x07b", "ab"),
        ("👩\u200d🚀 liftoff", "👩\u200d🚀 liftoff"),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert title_from(text) == title


@given(st.text(st.characters(codec=None)))
def test_clean_text_can_be_stored_and_is_stable(text: str) -> None:
    clean = clean_text(text)
    clean.encode()
    assert "\0" not in clean
    assert clean_text(clean) == clean


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_clean_text_leaves_sound_text_alone(text: str) -> None:
    assert clean_text(text) == text


def test_clean_text_joins_a_split_pair_and_replaces_a_lone_half() -> None:
    assert clean_text("\ud83d\ude80 \ud83d x\0y") == "🚀 \ufffd xy"


def test_a_title_reads_as_it_looks() -> None:
    assert title_from("a \u202egpj.tac\u202c \u2066b\u2069") == "a gpj.tac b"
    assert title_from("\u202e") == UNTITLED


def forked() -> tuple[Message, ...]:
    """A question with three answers; the second was followed up, then the third was written."""
    return (
        message("q", None),
        message("a1", "q", Role.ASSISTANT),
        message("a2", "q", Role.ASSISTANT),
        message("q2", "a2"),
        message("a3", "q", Role.ASSISTANT),
    )


def path(conversation: object) -> list[str]:
    return [each.id for each in conversation.path()]


def test_arrows_move_between_siblings_and_stop_at_the_ends() -> None:
    chat = grown(forked())
    assert conversation.branch_positions(chat)["a2"] == (2, 3)
    assert path(conversation.show_sibling(chat, "a3", -1)) == ["q", "a2", "q2"]
    assert path(conversation.show_sibling(chat, "a2", -1)) == ["q", "a1"]
    assert conversation.show_sibling(chat, "a3", 1) is chat
    assert conversation.show_sibling(chat, "a1", -1) is chat
    assert conversation.branch_positions(chat)["q"] == (1, 1)


def test_a_deleted_branch_gives_way_to_the_nearest_one() -> None:
    chat = grown(forked())
    assert path(conversation.without(chat, "a3")) == ["q", "a2", "q2"]
    first = conversation.show_sibling(conversation.show_sibling(chat, "a3", -1), "a2", -1)
    assert path(conversation.without(first, "a1")) == ["q", "a2", "q2"]
    assert path(conversation.without(first, "a2")) == ["q", "a1"]
    assert path(conversation.without(chat, "q")) == []


@given(trees(), st.data())
def test_deleting_takes_a_message_with_all_that_follow_it_and_undo_brings_them_back(
    messages: tuple[Message, ...], data: st.DataObject
) -> None:
    chat = dataclasses.replace(grown(messages), leaf_id=data.draw(st.sampled_from(messages)).id)
    gone = data.draw(st.sampled_from(messages)).id
    left = conversation.without(chat, gone)
    kept = {each.id for each in left.messages}
    assert gone not in kept
    assert all(each.parent_id is None or each.parent_id in kept for each in left.messages)
    for each in chat.messages:
        ancestors = {m.id for m in dataclasses.replace(chat, leaf_id=each.id).path()}
        assert (each.id in kept) == (gone not in ancestors)
    assert left.leaf_id is None or left.leaf_id in kept
    later = left.with_message(message("later", left.leaf_id))
    back = conversation.with_restored(later, chat)
    assert [each.id for each in back.messages] == [*(each.id for each in chat.messages), "later"]
    assert back.path() == chat.path()


@given(trees(), st.data())
def test_any_sibling_can_be_reached_and_left_again(messages: tuple[Message, ...], data: st.DataObject) -> None:
    chat = grown(messages)
    start = data.draw(st.sampled_from(messages)).id
    step = data.draw(st.integers(-3, 3))
    moved = conversation.show_sibling(chat, start, step)
    those = [each.id for each in conversation.siblings(chat, start)]
    if moved is not chat:
        target = those[those.index(start) + step]
        assert target in path(moved)
        back = conversation.show_sibling(moved, target, -step)
        assert start in path(back)
