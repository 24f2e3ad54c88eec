"""The composer's keys, with and without an input method, its height, and Send turning into Stop."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QEvent, QMimeData, Qt
from PySide6.QtGui import QInputMethodEvent, QKeyEvent, QTextOption
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.chat.metrics import Reading
from app.chat_view.composer import Composer
from mtplx_engine.ipc.protocol import DepthChosen, DepthReason


@pytest.fixture
def composer(qtbot, theme):
    composer = Composer(theme)
    composer.resize(600, 100)
    qtbot.addWidget(composer)
    composer.show()
    composer.sent = []
    composer.stops = []
    composer.submitted.connect(lambda text, _files: composer.sent.append(text))
    composer.stop_requested.connect(lambda: composer.stops.append(True))
    return composer


def compose(composer, preedit, commit=""):
    event = QInputMethodEvent(preedit, [])
    event.setCommitString(commit)
    QApplication.sendEvent(composer.edit, event)


def press(composer, key, modifier=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(composer.edit, key, modifier)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_return_sends(composer, key):
    composer.set_text("Hello")
    press(composer, key)
    assert composer.sent == ["Hello"]


def test_shift_return_is_a_new_line(composer):
    composer.set_text("one")
    press(composer, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.edit, "two")
    assert composer.sent == []
    assert composer.text() == "one\ntwo"


def test_nothing_is_painted_under_what_is_composed(composer):
    assert composer.edit.placeholderText() == "Message"
    compose(composer, "にほん")
    assert composer.edit.placeholderText() == ""
    compose(composer, "", "日本")
    assert composer.edit.placeholderText() == "Message"


@pytest.mark.parametrize("blank", ["", "  ", "\n \n"])
def test_blank_text_is_not_sent(composer, blank):
    composer.set_text(blank)
    press(composer, Qt.Key.Key_Return)
    assert composer.sent == []
    assert not composer.button.isEnabled()


def test_d10_return_during_composition_commits_only(composer, qtbot):
    compose(composer, "にほん")
    press(composer, Qt.Key.Key_Return)
    assert composer.sent == []
    compose(composer, "", "日本")
    QApplication.processEvents()
    press(composer, Qt.Key.Key_Return)
    assert composer.sent == ["日本"]
    assert composer.text() == "日本"


def test_return_that_arrives_after_its_own_commit(composer):
    # Some systems end the composition first and deliver the very same key press after it.
    compose(composer, "にほん")
    compose(composer, "", "日本")
    press(composer, Qt.Key.Key_Return)
    assert composer.sent == []
    QApplication.processEvents()
    press(composer, Qt.Key.Key_Return)
    assert composer.sent == ["日本"]


def test_text_committed_without_composing_sends_at_once(composer):
    compose(composer, "", "é")  # a dead key, dictation, an emoji picker
    press(composer, Qt.Key.Key_Return)
    assert composer.sent == ["é"]


@pytest.mark.parametrize("composing", [True, False])
def test_escape_belongs_to_an_open_composition(composer, composing):
    if composing:
        compose(composer, "にほん")
    event = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    event.ignore()
    QApplication.sendEvent(composer.edit, event)
    assert event.isAccepted() == composing


def test_grows_to_eight_lines(composer):
    heights = []
    for lines in (1, 2, 8, 9, 30):
        composer.set_text("\n".join(["line"] * lines))
        heights.append(composer.edit.height())
    one, two, eight, nine, thirty = heights
    line = two - one
    assert line > 10
    assert eight == pytest.approx(one + 7 * line, abs=2)
    assert eight == nine == thirty


def test_grows_with_wrapped_lines(composer):
    one = composer.edit.height()
    composer.set_text("many words " * 40)
    assert composer.edit.height() > 2 * one


def test_send_turns_into_stop_in_the_same_place(composer):
    composer.set_text("next question")
    place = composer.button.geometry()
    composer.set_busy(busy=True)
    composer.set_reading(Reading(42.0, 2.6, 0.71), DepthChosen(1, 2, DepthReason.FASTEST, 1.4))
    QApplication.processEvents()
    assert composer.button.accessibleName() == "Stop"
    assert composer.button.geometry() == place
    assert composer.chip.text() == "42 tok/s · 2.6 per step · 71 %"
    assert composer.chip.toolTip().endswith("\nDrafting – depth 2: expected 1.40x.")
    composer.button.click()
    assert (composer.sent, composer.stops) == ([], [True])
    press(composer, Qt.Key.Key_Return)
    assert composer.sent == []
    assert composer.text() == "next question"

    composer.set_busy(busy=False)
    QApplication.processEvents()
    assert composer.button.accessibleName() == "Send"
    assert composer.button.geometry() == place
    assert composer.chip.text() == ""
    composer.button.click()
    assert composer.sent == ["next question"]


def test_late_reading_does_not_revive_the_chip(composer):
    composer.set_busy(busy=True)
    composer.set_busy(busy=False)
    composer.set_reading(Reading(42.0))
    assert composer.chip.text() == ""


def test_stop_works_with_an_empty_field(composer):
    composer.set_busy(busy=True)
    composer.button.click()
    assert composer.stops == [True]


def test_paste_is_plain_and_a_long_run_may_break_anywhere(composer):
    mime = QMimeData()
    mime.setHtml("<b>bold</b>")
    mime.setText("bold")
    composer.edit.insertFromMimeData(mime)
    assert composer.text() == "bold"
    assert composer.edit.wordWrapMode() != QTextOption.WrapMode.WrapAnywhere
    mime.setText("A" * 100_000)
    composer.edit.insertFromMimeData(mime)
    assert composer.edit.wordWrapMode() == QTextOption.WrapMode.WrapAnywhere
    assert len(composer.text()) == 100_004


def test_a_long_run_leaves_the_field_as_it_was_once_it_is_gone(composer):
    """A look that is quick to lay out, for a text that would hold up the window; it has its size from outside."""
    usual = composer.edit.font()
    composer.set_text("x" * 5000)
    assert composer.edit.wordWrapMode() == QTextOption.WrapMode.WrapAnywhere
    assert not composer.edit.font().kerning()
    assert (composer.edit.font().family(), composer.edit.font().pixelSize()) == (
        usual.family(),
        usual.pixelSize(),
    )
    composer.set_text("x y")
    assert composer.edit.wordWrapMode() == QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
    assert composer.edit.font() == usual


def test_the_scroll_bar_takes_no_width_from_a_text_that_becomes_long(composer):
    """It would have all of it laid out twice."""
    width = composer.edit.viewport().width()
    assert not composer.edit.verticalScrollBar().isEnabled()
    composer.set_text("word\n" * 50)
    assert composer.edit.verticalScrollBar().isEnabled()
    assert composer.edit.viewport().width() == width


@pytest.mark.parametrize(("text", "blank"), [("", True), (" \n\t\n\u2003", True), ("\n\n x", False)])
def test_blank_is_what_has_only_spaces(composer, text, blank):
    composer.set_text(text)
    assert composer.edit.is_blank() is blank


def test_a_long_run_is_gone_as_quickly_as_it_came(composer):
    """Its usual line breaks would take seconds."""
    started = time.process_time()
    composer.set_text("ab1" * 100_000)
    composer.set_text("")
    assert time.process_time() - started < 1
