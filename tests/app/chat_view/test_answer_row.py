"""Thoughts above an answer: one line that tells the time, all of it when opened, nothing to pay while closed."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.chat_view import answer_row
from app.chat_view.answer_row import ThinkingCard, thought_words
from app.palette import DARK


@pytest.fixture
def card(theme, qtbot):
    page = QWidget()
    rows = QVBoxLayout(page)
    card = ThinkingCard(theme)
    rows.addWidget(card)
    rows.addStretch()
    page.resize(500, 400)
    qtbot.addWidget(page)
    page.show()
    card.page = page
    return card


def test_closed_it_makes_nothing(card):
    for _ in range(1_000):
        card.append("thought ")
    card.finish(3_000)
    assert card.view is None
    assert card.text() == "thought " * 1_000


def test_it_tells_the_time_while_it_thinks_and_afterwards(card, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(answer_row.time, "monotonic", lambda: now[0])
    assert card.head.text() == "Thinking…"
    card.append("a")
    now[0] += 4.2
    card._clock.timeout.emit()
    assert card.head.text() == "Thinking… 4 s"
    card.finish(5_300)
    assert card.head.text() == card.head.accessibleName() == "Thought for 5 s"
    assert not card._clock.isActive()


def test_open_it_streams_every_line(card, qtbot):
    card.append("one\ntw")
    QTest.mouseClick(card.head, Qt.MouseButton.LeftButton)
    assert card.view.toPlainText() == "one\ntw"
    card.append("o\n\n<b>three</b> **x**")
    qtbot.waitUntil(lambda: card.view.toPlainText() == "one\ntwo\n\n<b>three</b> **x**")
    assert card.view.height() >= 4 * 15


def test_the_keyboard_opens_and_closes_it(card):
    card.set_text("all of it", 300)
    card.head.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(card.head, Qt.Key.Key_Space)
    assert card.view.isVisible()
    high = card.sizeHint().height()
    QTest.keyClick(card.head, Qt.Key.Key_Space)
    assert not card.view.isVisible()
    assert card.sizeHint().height() < high
    assert card.head.text() == "Thought for a moment"


def test_other_thoughts_replace_the_first(card):
    card.head.click()
    card.set_text("one", 1_000)
    card.set_text("two", 2_000)
    assert card.view.toPlainText() == "two"
    assert card.text() == "two"


def test_long_thoughts_show_their_end_and_keep_all(card):
    card.set_text("a" * 100_000 + "end", 9_000)
    card.head.click()
    assert card.view.document().characterCount() < 70_000
    assert card.view.toPlainText().endswith("end")
    assert len(card.text()) == 100_003


def test_other_colours_show_the_same(card, theme):
    card.set_text("one\ntwo", 1_000)
    card.head.click()
    theme.use(DARK)
    assert card.view.toPlainText() == "one\ntwo"


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "Thought for a moment"),
        (499, "Thought for a moment"),
        (2_600, "Thought for 3 s"),
        (59_400, "Thought for 59 s"),
        (61_000, "Thought for 1 min 1 s"),
    ],
)
def test_words(ms, words):
    assert thought_words(ms) == words
