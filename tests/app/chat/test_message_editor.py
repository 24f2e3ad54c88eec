"""Sent messages that are written anew: nothing that is written there is lost on the way through other chats."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.chat.row_state import RowAction
from tests.support.fake_host import Script


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
