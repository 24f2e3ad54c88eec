"""Sent messages that are written anew: nothing that is written there is lost on the way through other chats."""

from __future__ import annotations

from app.chat.row_state import RowAction


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
