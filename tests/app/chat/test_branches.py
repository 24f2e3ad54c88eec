"""Whatever a tree of messages looks like, moving in it and deleting from it keeps to its branches."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from app.chat import branches
from app.chat.conversation import Message, Role
from tests.support.trees import grown, message, trees


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
    assert branches.places(chat)["a2"] == (2, 3)
    assert path(branches.beside(chat, "a3", -1)) == ["q", "a2", "q2"]
    assert path(branches.beside(chat, "a2", -1)) == ["q", "a1"]
    assert branches.beside(chat, "a3", 1) is chat
    assert branches.beside(chat, "a1", -1) is chat
    assert branches.places(chat)["q"] == (1, 1)


def test_a_deleted_branch_gives_way_to_the_nearest_one() -> None:
    chat = grown(forked())
    assert path(branches.without(chat, "a3")) == ["q", "a2", "q2"]
    first = branches.beside(branches.beside(chat, "a3", -1), "a2", -1)
    assert path(branches.without(first, "a1")) == ["q", "a2", "q2"]
    assert path(branches.without(first, "a2")) == ["q", "a1"]
    assert path(branches.without(chat, "q")) == []


@given(trees(), st.data())
def test_deleting_takes_a_message_with_all_that_follow_it_and_undo_brings_them_back(
    messages: tuple[Message, ...], data: st.DataObject
) -> None:
    chat = dataclasses.replace(grown(messages), leaf_id=data.draw(st.sampled_from(messages)).id)
    gone = data.draw(st.sampled_from(messages)).id
    left = branches.without(chat, gone)
    kept = {each.id for each in left.messages}
    assert gone not in kept
    assert all(each.parent_id is None or each.parent_id in kept for each in left.messages)
    for each in chat.messages:
        ancestors = {m.id for m in dataclasses.replace(chat, leaf_id=each.id).path()}
        assert (each.id in kept) == (gone not in ancestors)
    assert left.leaf_id is None or left.leaf_id in kept
    later = left.with_message(message("later", left.leaf_id))
    back = branches.with_back(later, chat)
    assert [each.id for each in back.messages] == [*(each.id for each in chat.messages), "later"]
    assert back.path() == chat.path()


@given(trees(), st.data())
def test_any_sibling_can_be_reached_and_left_again(
    messages: tuple[Message, ...], data: st.DataObject
) -> None:
    chat = grown(messages)
    start = data.draw(st.sampled_from(messages)).id
    step = data.draw(st.integers(-3, 3))
    moved = branches.beside(chat, start, step)
    those = [each.id for each in branches.siblings(chat, start)]
    if moved is not chat:
        target = those[those.index(start) + step]
        assert target in path(moved)
        back = branches.beside(moved, target, -step)
        assert start in path(back)
