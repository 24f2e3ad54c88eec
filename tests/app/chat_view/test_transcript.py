"""Following the stream, staying put when the person reads elsewhere, and long chats that open at once."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QMetaMethod, QPointF, Qt
from PySide6.QtGui import QColor, QEnterEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.chat.conversation import Attachment, ChatSummary, Conversation, Message, MessageStatus, Role
from app.chat.generation import Piece, RowAction, RowState
from app.chat_view import message_row
from app.chat_view.answer_row import AnswerRow
from app.chat_view.question_row import QuestionRow
from app.chat_view.transcript import Transcript
from app.palette import DARK, LIGHT
from mtplx_engine.stats import DecodeStats
from tests.support.chats import generation

CHAT = ChatSummary("chat", "A chat", 0, 0)
STATS = DecodeStats(emitted=212, verify_steps=80, drafted=160, accepted=128, decode_s=5.0, decode_tokens=205)


def message(number, role, text, status=MessageStatus.DONE, **fields):
    return Message(f"m{number}", "chat", f"m{number - 1}" if number else None, role, text, status, 0, **fields)


def conversation(turns, text="A paragraph of an answer, long enough to be a line or so. " * 4):
    messages = []
    for number in range(turns):
        messages.append(message(2 * number, Role.USER, f"Question {number}?"))
        messages.append(message(2 * number + 1, Role.ASSISTANT, f"Answer {number}. {text}", stats=STATS))
    return Conversation(CHAT, tuple(messages), messages[-1].id)


@pytest.fixture
def transcript(qtbot, theme):
    def states():
        messages = [*transcript._older, *(row.message for row in transcript.rows)]
        return {
            message.id: RowState(
                offers=frozenset({RowAction.COPY} if message.text else ()),
                fix="Try again" if message.error and message is messages[-1] else "",
            )
            for message in messages
        }

    transcript = Transcript(theme, states)
    transcript.resize(700, 400)
    qtbot.addWidget(transcript)
    transcript.show()
    transcript.bar = transcript.verticalScrollBar()
    return transcript


@pytest.fixture
def streaming(transcript, qtbot):
    """A chat of some length with an answer that has begun."""
    chat = conversation(8)
    answer = message(17, Role.ASSISTANT, "", MessageStatus.STREAMING)
    transcript.show_chat(chat.with_message(message(16, Role.USER, "And?")).with_message(answer))
    transcript.append(generation(answer.id), come("It begins. "))
    settle(qtbot, transcript)
    assert transcript.bar.maximum() > 0
    return transcript


def come(text):
    return Piece(text)


def settle(qtbot, transcript):
    """Wait until what was appended is laid out and nothing moves any more."""
    seen = []

    def still():
        seen.append((transcript.bar.maximum(), transcript.bar.value()))
        return len(seen) > 5 and len(set(seen[-5:])) == 1

    qtbot.waitUntil(still)


def stream(qtbot, transcript, paragraphs=6):
    for number in range(paragraphs):
        transcript.append(generation("m17"), come(f"\n\nParagraph {number} " + "of the answer that grows. " * 10))
        settle(qtbot, transcript)


def test_follows_the_answer_while_its_end_is_in_view(streaming, qtbot):
    before = streaming.bar.maximum()
    stream(qtbot, streaming)
    assert streaming.bar.maximum() > before + 100
    assert streaming.bar.value() == streaming.bar.maximum()
    assert not streaming.latest.isVisible()


def test_stays_where_the_person_scrolled_to_and_follows_again_at_the_end(streaming, qtbot):
    streaming.bar.setValue(streaming.bar.maximum() - 300)
    assert streaming.latest.isVisible()
    row = streaming.rows[-3]
    place = row.mapTo(streaming.viewport(), row.rect().topLeft())
    stream(qtbot, streaming)
    assert row.mapTo(streaming.viewport(), row.rect().topLeft()) == place
    assert not streaming.following

    streaming.latest.click()
    assert not streaming.latest.isVisible()
    assert streaming.bar.value() == streaming.bar.maximum()
    stream(qtbot, streaming)
    assert streaming.bar.value() == streaming.bar.maximum()


def test_scrolling_down_by_hand_follows_again(streaming, qtbot):
    streaming.bar.setValue(streaming.bar.maximum() - 300)
    stream(qtbot, streaming, 2)
    streaming.bar.setValue(streaming.bar.maximum())
    assert streaming.following
    stream(qtbot, streaming, 2)
    assert streaming.bar.value() == streaming.bar.maximum()


def test_end_of_an_answer_moves_nothing(streaming, qtbot):
    stream(qtbot, streaming, 2)
    row = streaming.rows[-1]
    place, height = row.mapTo(streaming.viewport(), row.rect().topLeft()), row.height()
    streaming.change(message(17, Role.ASSISTANT, row.view.markdown(), stats=STATS))
    settle(qtbot, streaming)
    assert (row.mapTo(streaming.viewport(), row.rect().topLeft()), row.height()) == (place, height)
    assert row.figures.text() == "41 tok/s · 2.6 per step · 80 % · 212 tokens"


def test_sending_goes_to_the_end(streaming, qtbot):
    streaming.bar.setValue(0)
    streaming.add(message(18, Role.USER, "New question"))
    settle(qtbot, streaming)
    assert streaming.bar.value() == streaming.bar.maximum()


def test_long_chat_builds_only_what_is_near_the_end(transcript, qtbot):
    chat = conversation(100)
    transcript.show_chat(chat)
    settle(qtbot, transcript)
    assert len(transcript.rows) < 30
    assert transcript.rows[-1].message.id == "m199"
    assert transcript.bar.value() == transcript.bar.maximum()


def test_older_messages_appear_without_moving_what_is_read(transcript, qtbot):
    transcript.show_chat(conversation(100))
    settle(qtbot, transcript)
    built = len(transcript.rows)
    top = transcript.rows[0]
    transcript.bar.setValue(transcript.viewport().height() - 1)
    place = top.mapTo(transcript.viewport(), top.rect().topLeft())
    qtbot.waitUntil(lambda: len(transcript.rows) > built)
    settle(qtbot, transcript)
    assert top.mapTo(transcript.viewport(), top.rect().topLeft()) == place

    def all_built():
        transcript.bar.setValue(0)
        return len(transcript.rows) == 200

    qtbot.waitUntil(all_built)
    assert [row.message.id for row in transcript.rows] == [f"m{number}" for number in range(200)]


def test_hidden_transcript_builds_nothing_until_it_is_shown(transcript, qtbot):
    transcript.hide()
    transcript.show_chat(conversation(100))
    assert transcript.rows == ()
    transcript.show()
    qtbot.waitUntil(lambda: len(transcript.rows) > 0)
    settle(qtbot, transcript)
    assert len(transcript.rows) < 30
    assert transcript.bar.value() == transcript.bar.maximum()


def test_another_chat_replaces_all_rows(transcript, qtbot):
    transcript.show_chat(conversation(3))
    other = Conversation(CHAT, (message(50, Role.USER, "Other"),), "m50")
    transcript.show_chat(other)
    assert [row.message.text for row in transcript.rows] == ["Other"]
    transcript.append(generation("m1"), come("late text of the first chat"))
    settle(qtbot, transcript)
    assert transcript.findChildren(QuestionRow) == [transcript.rows[0]]


def test_half_written_answer_can_be_shown_and_goes_on(transcript, qtbot):
    answer = message(1, Role.ASSISTANT, "One ", MessageStatus.STREAMING)
    transcript.show_chat(Conversation(CHAT, (message(0, Role.USER, "Q"), answer), "m1"))
    transcript.append(generation("m1"), come("two"))
    qtbot.waitUntil(lambda: transcript.rows[-1].view.toPlainText() == "One two")


# ---------------------------------------------------------------- rows


def answer_row(transcript, status, text="", **fields):
    answer = message(1, Role.ASSISTANT, text, status, **fields)
    transcript.show_chat(Conversation(CHAT, (message(0, Role.USER, "Q"), answer), "m1"))
    row = transcript.rows[-1]
    assert isinstance(row, AnswerRow)
    return row


def test_waiting_line_gives_way_to_the_text(transcript, qtbot):
    row = answer_row(transcript, MessageStatus.STREAMING)
    transcript.set_waiting("m1", "Loading SmolLM2 135M… 62 %")
    assert row.words.text() == "Loading SmolLM2 135M… 62 %"
    assert row.waiting.isVisible()
    transcript.append(generation("m1"), come(""))
    assert row.waiting.isVisible()
    transcript.append(generation("m1"), come("Text"))
    assert not row.waiting.isVisible()


@pytest.mark.parametrize(
    ("status", "text", "stats", "line"),
    [
        (MessageStatus.DONE, "A", STATS, "41 tok/s · 2.6 per step · 80 % · 212 tokens"),
        (MessageStatus.STOPPED, "A", STATS, "Stopped · 41 tok/s · 2.6 per step · 80 % · 212 tokens"),
        (MessageStatus.STOPPED, "", None, "Stopped"),
        (MessageStatus.LENGTH, "A", None, "Ended at the length limit"),
        (MessageStatus.INTERRUPTED, "A", None, "Interrupted when MTPLX closed"),
    ],
)
def test_line_under_an_answer(transcript, status, text, stats, line):
    row = answer_row(transcript, status, text, stats=stats)
    assert row.figures.text() == line
    assert row.card is None
    assert row.footer.button(RowAction.COPY).isEnabled() == bool(text)


def test_error_has_a_sentence_and_one_button_on_the_last_answer_only(transcript, qtbot):
    sentence = "The prompt has 9,000 tokens, the model takes 8,192. Shorten it."
    row = answer_row(transcript, MessageStatus.ERROR, "Half", error=sentence)
    assert row.card.label.text() == sentence
    with qtbot.waitSignal(transcript.fix_pressed) as pressed:
        row.card.button.click()
    assert pressed.args == ["m1"]
    transcript.add(message(2, Role.USER, "Never mind"))
    assert row.card.isVisible()
    assert not row.card.button.isVisible()


def test_copy_is_seen_only_when_pointed_at_or_focused_and_moves_nothing(transcript, qtbot, monkeypatch):
    monkeypatch.setattr(message_row, "_COPIED_MS", 20)
    row = answer_row(transcript, MessageStatus.DONE, "**Bold** answer")
    height = row.height()

    def painted():
        image = row.footer.button(RowAction.COPY).grab().toImage()
        empty = image.pixelColor(0, 0)
        return any(image.pixelColor(x, y) != empty for x in range(image.width()) for y in range(image.height()))

    assert not painted()
    point = QPointF(1, 1)
    QApplication.sendEvent(row, QEnterEvent(point, point, point))
    assert painted()
    assert row.height() == height
    QApplication.sendEvent(row, QEvent(QEvent.Type.Leave))
    assert not painted()

    QTest.mouseClick(row.footer.button(RowAction.COPY), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "**Bold** answer"
    assert row.footer.button(RowAction.COPY).accessibleName() == "Copied"
    qtbot.waitUntil(lambda: row.footer.button(RowAction.COPY).accessibleName() == "Copy answer")


def receivers(sender):
    """Count what waits for the signals of an object."""
    kind = sender.metaObject()
    signals = (kind.method(number) for number in range(kind.methodCount()))
    return sum(
        sender.receivers(f"2{signal.methodSignature().toStdString()}")
        for signal in signals
        if signal.methodType() is QMetaMethod.MethodType.Signal
    )


def test_rows_connect_to_nothing_of_the_theme(transcript, theme, qtbot):
    """PySide keeps an entry of each connection until its sender is gone, and the theme never is."""
    before = receivers(theme)
    shown = (
        message(0, Role.USER, "And this?", attachments=(Attachment("notes.txt", 11, "Some notes."),)),
        message(1, Role.ASSISTANT, "So:\n```python\npass\n```\n", thinking="Hm.", stats=STATS),
        message(2, Role.USER, "And then?"),
        message(3, Role.ASSISTANT, "", MessageStatus.ERROR, error="It broke."),
    )
    transcript.show_chat(Conversation(CHAT, shown, "m3"))
    settle(qtbot, transcript)
    assert len(transcript.rows) == len(shown)
    assert receivers(theme) == before


def test_rows_take_what_changes_in_the_theme(transcript, theme, qtbot):
    transcript.show_chat(conversation(1))
    settle(qtbot, transcript)
    row = transcript.rows[-1]
    button, size = row.footer.button(RowAction.COPY), row.footer.button(RowAction.COPY).iconSize()
    before = button.icon().pixmap(size).toImage()
    theme.use(LIGHT if theme.palette.dark else DARK)
    assert button.icon().pixmap(size).toImage() != before
    assert row.view.palette().text().color() == QColor(theme.palette.text)
    assert not row.view._tinted
    theme.set_tinted(on=True)
    assert row.view._tinted
