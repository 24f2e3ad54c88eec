"""Finding in a chat: counted in every message, shown and gone to, and built first where it is not built yet."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from app.chat.conversation import ChatSummary, Conversation, Message, MessageStatus, Role
from app.chat_view.find import FindBar, FindInChat
from app.chat_view.transcript import Transcript
from tests.support.fake_script import Script

ANSWER = "An answer with **word** in it.\n\n" + "More text of it. " * 20


def conversation(texts):
    messages = []
    for number, text in enumerate(texts):
        role = Role.ASSISTANT if number % 2 else Role.USER
        parent = messages[-1].id if messages else None
        messages.append(Message(f"m{number}", "c", parent, role, text, MessageStatus.DONE, 0))
    return Conversation(ChatSummary("c", "A chat", 0, 0), tuple(messages), messages[-1].id)


class Finder:
    def __init__(self, theme, qtbot):
        self.qtbot = qtbot
        self.page = QWidget()
        rows = QVBoxLayout(self.page)
        self.transcript = Transcript(theme, dict)
        self.bar = FindBar(theme, self.page)
        rows.addWidget(self.bar)
        rows.addWidget(self.transcript)
        self.finder = FindInChat(self.bar, self.transcript)
        self.page.resize(700, 500)
        qtbot.addWidget(self.page)
        self.page.show()

    def show(self, texts):
        self.transcript.show_chat(conversation(texts))
        self.settle()

    def settle(self):
        for _ in range(8):
            QApplication.processEvents()

    def find(self, words):
        self.bar.open()
        self.bar.field.setText(words)
        self.qtbot.waitUntil(lambda: not self.bar._throttle._pending)
        self.settle()

    def until(self, condition):
        self.qtbot.waitUntil(condition, timeout=20_000)

    @property
    def match(self):
        return self.finder._match()

    @property
    def box(self):
        """Where what is looked at stands in the window."""
        row = self.transcript.row(self.match.message_id)
        view = getattr(row, "view", None) or row.bubble
        return view.found_box().translated(view.mapTo(self.transcript.viewport(), view.rect().topLeft()))


@pytest.fixture
def finder(theme, qtbot):
    return Finder(theme, qtbot)


def test_all_are_counted_and_the_present_one_is_told(finder):
    finder.show(["word one", ANSWER, "Word two", "no"])
    finder.find("word")
    assert finder.bar.count.text() == "1 of 3"
    QTest.keyClick(finder.bar.field, Qt.Key.Key_Return)
    assert finder.bar.count.text() == "2 of 3"
    QTest.keyClick(finder.bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(finder.bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert finder.bar.count.text() == "3 of 3"
    finder.find("nowhere")
    assert finder.bar.count.text() == "Not found"
    assert not finder.bar.next.isEnabled()


def test_a_count_that_ends_at_the_limit_says_so(finder):
    finder.show(["a" * 9_999])
    finder.find("a")
    assert finder.bar.count.text() == "1 of 9,999"
    finder.show(["a" * 10_001])
    finder.finder.refresh()
    assert finder.bar.count.text().endswith("10,000+")


def test_all_are_shown_and_the_present_one_in_another_colour(finder):
    finder.show(["word and word", ANSWER])
    finder.find("word")
    question, answer = finder.transcript.rows
    first, second = question.bubble._view.extraSelections()
    assert [each.cursor.selectedText() for each in (first, second)] == ["word", "word"]
    assert first.format.background() != second.format.background()
    assert answer.view._decoration.found
    assert not answer.view._decoration.found_now
    QTest.keyClick(finder.bar.field, Qt.Key.Key_Return)
    QTest.keyClick(finder.bar.field, Qt.Key.Key_Return)
    assert answer.view._decoration.found_now


def test_what_is_not_built_is_found_built_and_gone_to(finder):
    finder.show(["needle at the start", *[ANSWER, "another question"] * 40, ANSWER])
    assert finder.transcript.row("m0") is None
    finder.find("needle")
    assert finder.bar.count.text() == "1 of 1"
    finder.until(lambda: finder.transcript.row("m0") is not None)
    finder.settle()
    assert 0 <= finder.box.top() < finder.transcript.viewport().height()


def test_every_match_comes_into_view(finder):
    finder.show(["question", *[ANSWER, "word here"] * 12])
    finder.find("word")
    for _ in range(24):
        QTest.keyClick(finder.bar.field, Qt.Key.Key_Return)
        finder.until(lambda: finder.transcript.row(finder.match.message_id) is not None)
        finder.settle()
        assert 0 <= finder.box.top() < finder.transcript.viewport().height()
        assert finder.bar.count.text().endswith("of 24")


def test_escape_ends_it_and_nothing_stays_marked(finder, qtbot):
    finder.show(["word", ANSWER])
    finder.find("word")
    with qtbot.waitSignal(finder.bar.closed):
        QTest.keyClick(finder.bar.field, Qt.Key.Key_Escape)
    assert not finder.bar.isVisible()
    question, answer = finder.transcript.rows
    assert question.bubble._view.extraSelections() == []
    assert not answer.view._decoration.found


def test_a_hidden_part_of_a_long_message_is_shown_for_what_is_in_it(finder):
    finder.show(["\n".join(["line"] * 400) + "\nneedle", ANSWER])
    finder.find("needle")
    finder.settle()
    assert finder.transcript.rows[0].bubble._view.toPlainText().endswith("needle")
    assert 0 <= finder.box.top() < finder.transcript.viewport().height()


def test_another_message_is_counted_without_moving(finder):
    finder.show(["word", ANSWER])
    finder.find("word")
    at = finder.transcript.verticalScrollBar().value()
    message = Message("new", "c", "m1", Role.USER, "word and word", MessageStatus.DONE, 0)
    finder.transcript.add(message)
    finder.transcript.verticalScrollBar().setValue(at)
    finder.finder.refresh()
    assert finder.bar.count.text() == "1 of 4"
    assert finder.transcript.verticalScrollBar().value() == at


def test_everything_has_a_name(finder):
    for widget in (finder.bar.field, finder.bar.previous, finder.bar.next, finder.bar.close_button):
        assert widget.accessibleName()


def test_find_is_opened_by_its_key_and_escape_leaves_the_answer_alone(start):
    driver = start(Script(answer="alpha beta " * 300, cycle_s=0.02))
    driver.ask("word?")
    driver.until(lambda: "beta" in driver.shown_text)
    driver.activate()
    QTest.keyClick(driver.window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    bar = driver.pane.find_bar
    driver.until(bar.isVisible)
    QTest.keyClicks(bar.field, "word?")
    driver.until(lambda: bar.count.text() == "1 of 1")
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    assert not bar.isVisible()
    assert driver.program.session.busy
    assert driver.composer.edit.hasFocus()
