"""What rows offer, and how branches, thinking and edited messages look in the transcript."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from app.chat.conversation import BranchPosition, ChatSummary, Conversation, Message, MessageStatus, Role
from app.chat.generation import Piece, RowAction, RowState
from app.chat_view.message_editor import EditedMessage
from app.chat_view.transcript import Transcript
from tests.support.chats import generation

CHAT = ChatSummary("chat", "A chat", 0, 0)


def message(name, parent, role=Role.USER, text=None, status=MessageStatus.DONE, **fields):
    return Message(name, "chat", parent, role, name if text is None else text, status, 0, **fields)


QUESTION = message("q", None)
ANSWERS = [message(f"a{number}", "q", Role.ASSISTANT) for number in (1, 2)]


class Shown:
    """A transcript whose states a test sets."""

    def __init__(self, qtbot, theme):
        self.states = {}
        self.transcript = Transcript(theme, lambda: self.states)
        self.transcript.resize(700, 400)
        qtbot.addWidget(self.transcript)
        self.transcript.show()
        self.asked = []
        self.transcript.chosen.connect(lambda action, name: self.asked.append((action, name)))
        self.transcript.edited.connect(lambda name, text: self.asked.append((name, text)))

    def show(self, *messages, leaf=None, **states):
        self.states = states
        self.transcript.show_chat(Conversation(CHAT, messages, leaf or messages[-1].id))
        return self.transcript.rows[-1]


@pytest.fixture
def shown(qtbot, theme):
    return Shown(qtbot, theme)


def test_another_branch_keeps_the_rows_that_both_have(shown):
    chat = Conversation(CHAT, (QUESTION, *ANSWERS), "a2")
    shown.transcript.show_chat(chat)
    question = shown.transcript.rows[0]
    shown.transcript.rearrange(Conversation(CHAT, chat.messages, "a1"))
    assert shown.transcript.rows[0] is question
    assert [row.message.id for row in shown.transcript.rows] == ["q", "a1"]
    shown.transcript.rearrange(Conversation(CHAT, chat.messages, None))
    assert shown.transcript.rows == ()


def test_a_branch_of_a_long_chat_whose_beginning_is_not_built(shown, qtbot):
    messages = [message("m0", None)]
    messages += [message(f"m{n}", f"m{n - 1}", text="Long. " * 200) for n in range(1, 40)]
    other = message("other", "m3")
    shown.transcript.show_chat(Conversation(CHAT, (*messages, other), "m39"))
    assert len(shown.transcript.rows) < 30
    shown.transcript.rearrange(Conversation(CHAT, (*messages, other), "other"))
    qtbot.waitUntil(lambda: [row.message.id for row in shown.transcript.rows][-2:] == ["m3", "other"])


def test_arrows_are_there_where_there_are_siblings_and_say_which_one_it_is(shown):
    both = frozenset({RowAction.PREVIOUS})
    row = shown.show(QUESTION, ANSWERS[1], a2=RowState(BranchPosition(2, 2), both))
    footer = row.footer
    assert footer.arrows.isVisible()
    assert footer._place.text() == "2/2"
    assert footer.button(RowAction.PREVIOUS).isEnabled()
    assert not footer.button(RowAction.NEXT).isEnabled()
    footer.button(RowAction.PREVIOUS).click()
    assert shown.asked == [(RowAction.PREVIOUS, "a2")]
    assert not shown.transcript.rows[0].footer.arrows.isVisible()


def test_what_can_be_done_changes_without_moving_anything(shown):
    row = shown.show(QUESTION, ANSWERS[0])
    places = [row.footer.button(action).geometry() for action in (RowAction.COPY, RowAction.REGENERATE)]
    height = row.height()
    shown.states = {"a1": RowState(offers=frozenset(RowAction))}
    shown.transcript.refresh()
    assert [row.footer.button(a).geometry() for a in (RowAction.COPY, RowAction.REGENERATE)] == places
    assert row.height() == height
    assert row.footer.button(RowAction.RESUME).isVisible()
    assert row.footer.button(RowAction.COPY).revealed  # or the other one would stand alone in the line
    shown.states = {}
    shown.transcript.refresh()
    assert not row.footer.button(RowAction.COPY).revealed


def test_an_edited_message_is_written_in_its_place_and_escape_leaves_it_alone(shown):
    row = shown.show(QUESTION, q=RowState(offers=frozenset({RowAction.EDIT})))
    row.footer.button(RowAction.EDIT).click()
    assert shown.asked.pop() == (RowAction.EDIT, "q")
    shown.transcript.edit("q")
    assert not row.bubble.isVisible()
    assert row.editor.edit.toPlainText() == "q"
    QTest.keyClicks(row.editor.edit, " more")
    QTest.keyClick(row.editor.edit, Qt.Key.Key_Return)
    assert shown.asked == [("q", EditedMessage("q more"))]
    QTest.keyClick(row.editor.edit, Qt.Key.Key_Escape)
    assert row.editor is None
    assert row.bubble.isVisible()


def test_thoughts_stand_above_the_answer_and_are_not_copied(shown, qapp):
    row = shown.show(QUESTION, message("a1", "q", Role.ASSISTANT, "", MessageStatus.STREAMING))
    assert row.waiting.isVisible()
    shown.transcript.append(generation("a1"), Piece("", "Hm", thought_ms=0))
    assert not row.waiting.isVisible()
    shown.transcript.append(generation("a1"), Piece("Yes.", ", so", thought_ms=4000))
    assert row.thoughts.text() == "Hm, so"
    assert row.thoughts.head.text() == "Thought for 4 s"
    assert row.layout().indexOf(row.thoughts) < row.layout().indexOf(row.view)
    done = message("a1", "q", Role.ASSISTANT, "Yes.", thinking="Hm, so", thought_ms=4000)
    shown.transcript.change(done)
    row.copy()
    assert qapp.clipboard().text() == "Yes."
    again = shown.show(QUESTION, done)
    assert (again.thoughts.text(), again.thoughts.head.text()) == ("Hm, so", "Thought for 4 s")


def test_a_finished_answer_that_is_written_on_grows_again(shown, qtbot):
    row = shown.show(QUESTION, message("a1", "q", Role.ASSISTANT, "One", MessageStatus.LENGTH))
    shown.transcript.change(message("a1", "q", Role.ASSISTANT, "One", MessageStatus.STREAMING))
    shown.transcript.append(generation("a1"), Piece(", two"))
    qtbot.waitUntil(lambda: row.view.toPlainText() == "One, two")
    shown.transcript.change(message("a1", "q", Role.ASSISTANT, "One, two"))
    assert row.view.markdown() == "One, two"


def test_the_keyboard_goes_through_a_row_as_the_eye_does(shown):
    done = message("a1", "q", Role.ASSISTANT, "Yes.", thinking="Hm", thought_ms=4000)
    row = shown.show(QUESTION, done, a1=RowState(BranchPosition(1, 2), frozenset(RowAction)))
    stops = [row.thoughts.head, row.view, *row.footer.stops()]
    for before, after in itertools.pairwise(stops):
        following = before.nextInFocusChain()
        while following not in stops:
            following = following.nextInFocusChain()
        assert following is after
    places = [stop.mapTo(row, stop.rect().center()).x() for stop in row.footer.stops()]
    assert places == sorted(places)


def test_a_shorter_branch_that_is_all_in_view_needs_no_way_to_its_end(shown, qtbot):
    long = message("long", "q", Role.ASSISTANT, "A line.\n\n" * 80)
    messages = (QUESTION, long, ANSWERS[0])
    shown.transcript.show_chat(Conversation(CHAT, messages, "long"))
    qtbot.waitUntil(lambda: shown.transcript.verticalScrollBar().maximum() > 400)
    shown.transcript.rearrange(Conversation(CHAT, messages, "a1"))
    qtbot.waitUntil(lambda: shown.transcript.verticalScrollBar().maximum() == 0)
    assert shown.transcript.following
    assert not shown.transcript.latest.isVisible()


def test_a_line_says_what_the_model_does_not_read(shown):
    row = shown.show(QUESTION, q=RowState(boundary=True))
    assert row.boundary.isVisible()
    assert row.boundary.findChild(QLabel).text() == "The model does not read what is above"
    row.boundary.findChild(QPushButton).click()
    assert shown.asked == [(RowAction.READ_ALL, "q")]
