"""Sent messages that are written anew: nothing that is written there is lost on the way through other chats."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip

from app.chat.conversation import Attachment
from app.chat.generation import RowAction
from app.chat_view.attachments import LONGEST_PASTE, MAX_FILES
from tests.support.fake_script import Script


def test_an_edit_that_is_open_is_there_again_when_its_chat_is(start):
    driver = start()
    driver.ask("One")
    driver.until_idle()
    first = driver.program.session.chat_id
    question = driver.transcript.rows[0]
    driver.transcript.edit(question.message.id)
    assert question.editor.edit.hasFocus() or not driver.window.isActiveWindow()
    question.editor.edit.set_text("Another one, half writ")
    driver.window.menus.new_chat.trigger()
    driver.ask("Two")
    driver.until_idle()
    driver.window.sidebar.chosen.emit(first)
    driver.until(lambda: driver.program.session.chat_id == first)
    editor = driver.transcript.rows[0].editor
    assert editor.edit.toPlainText() == "Another one, half writ"
    editor.send.click()
    driver.until_idle()
    assert driver.transcript.rows[0].message.text == "Another one, half writ"
    driver.pane.act(RowAction.PREVIOUS, driver.transcript.rows[0].message.id)
    assert driver.transcript.rows[0].message.text == "One"
    assert driver.transcript.rows[0].editor is None


def test_an_edit_that_was_cancelled_stays_so(start):
    driver = start()
    driver.ask("One")
    driver.until_idle()
    first = driver.program.session.chat_id
    question = driver.transcript.rows[0]
    driver.transcript.edit(question.message.id)
    question.editor.edit.set_text("Something else")
    question.editor.cancel.click()
    driver.window.menus.new_chat.trigger()
    driver.window.sidebar.chosen.emit(first)
    driver.until(lambda: driver.program.session.chat_id == first)
    assert driver.transcript.rows[0].editor is None


def test_home_and_end_in_an_answer_go_to_the_ends_of_the_chat(start):
    driver = start(Script(answer="A line.\n\n" * 200, cycle_s=0.0))
    driver.ask("Why?")
    driver.until_idle()
    bar = driver.transcript.verticalScrollBar()
    driver.until(lambda: bar.maximum() > 2 * bar.pageStep() and bar.value() == bar.maximum())
    QTest.keyClick(driver.answer.view, Qt.Key.Key_Home)
    assert bar.value() == bar.minimum()
    assert not driver.transcript.following
    QTest.keyClick(driver.answer.view, Qt.Key.Key_End)
    assert bar.value() == bar.maximum()
    assert driver.transcript.following


def test_page_keys_in_the_message_field_turn_the_pages_of_the_chat(start):
    driver = start(Script(answer="A line.\n\n" * 200, cycle_s=0.0))
    driver.ask("Why?")
    driver.until_idle()
    bar = driver.transcript.verticalScrollBar()
    driver.until(lambda: bar.maximum() > 2 * bar.pageStep() and bar.value() == bar.maximum())
    QTest.keyClick(driver.composer.edit, Qt.Key.Key_PageUp)
    above = bar.value()
    assert above < bar.maximum()
    QTest.keyClick(driver.composer.edit, Qt.Key.Key_PageDown)
    assert bar.value() > above
    driver.composer.set_text("word\n" * 50)
    before = bar.value()
    QTest.keyClick(driver.composer.edit, Qt.Key.Key_PageUp)
    assert bar.value() == before


LONG = "word " * (LONGEST_PASTE // 5 + 1)


def paste(edit, text):
    data = QMimeData()
    data.setText(text)
    edit.insertFromMimeData(data)


def open_editor(driver, text, *files):
    """Send a message, have it answered, and return the editor in its place."""
    driver.program.actions.send(text, files)
    driver.until_idle()
    question = driver.transcript.rows[0]
    driver.transcript.edit(question.message.id)
    return question.editor


def test_a_long_text_that_is_pasted_into_a_sent_message_goes_along_as_a_file(start):
    driver = start(Script(window=10**6))
    file = Attachment("a.txt", 1, "x")
    editor = open_editor(driver, "Sum it", file)
    assert driver.transcript.rows[0].files.isHidden()  # its chips are in the editor, to be removed
    paste(editor.edit, LONG)
    assert editor.edit.toPlainText() == "Sum it"
    assert [each.name for each in editor.chips.attachments] == ["a.txt", "Pasted text"]
    editor.send.click()
    driver.until_idle()
    assert driver.transcript.rows[0].message.text == "Sum it"
    assert [each.text for each in driver.transcript.rows[0].message.attachments] == ["x", LONG]
    driver.pane.act(RowAction.PREVIOUS, driver.transcript.rows[0].message.id)
    assert driver.transcript.rows[0].message.attachments == (file,)


def test_a_long_message_is_edited_as_a_file_and_is_what_it_was_while_nothing_is_changed(start):
    driver = start(Script(window=10**6))
    editor = open_editor(driver, LONG)
    assert editor.edit.toPlainText() == ""
    assert [each.text for each in editor.chips.attachments] == [LONG]
    editor.send.click()
    driver.until(lambda: driver.transcript.rows[0].editor is None)
    assert len(driver.program.session.shown.messages) == 2
    driver.transcript.edit(driver.transcript.rows[0].message.id)
    editor = driver.transcript.rows[0].editor
    QTest.keyClicks(editor.edit, "Sum this")
    editor.send.click()
    driver.until_idle()
    message = driver.transcript.rows[0].message
    assert (message.text, [each.text for each in message.attachments]) == ("Sum this", [LONG])


def test_a_message_that_has_all_its_files_takes_no_long_text(start):
    driver = start(Script(window=10**6))
    files = [Attachment(f"{number}.txt", 1, "x") for number in range(MAX_FILES)]
    editor = open_editor(driver, "Sum them", *files)
    paste(editor.edit, LONG)
    assert len(editor.chips.attachments) == MAX_FILES
    assert QToolTip.text() == "A message takes 10 files at most."
    QToolTip.hideText()
