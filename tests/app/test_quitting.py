"""The program ends only with the user's consent while chats are not saved."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QFileDialog

from app.chat.conversation import Attachment
from app.quitting import QtProgram
from app.storage.database import ChatDatabase
from app.storage.errors import StoreError


def _no_room(*_):
    raise StoreError("The disk is full (0 MB free). Free some space.", retryable=True)


@pytest.fixture
def unsaved(start, monkeypatch):
    """A program with a question that could not be saved; `room` makes room for it."""
    driver = start()
    with monkeypatch.context() as disk:
        disk.setattr(ChatDatabase, "add_message", _no_room)
        driver.ask("Why are there tides?")
        driver.until(lambda: bool(driver.program.session.refused))
        driver.room = disk.undo
        yield driver


def press(driver, name):
    sheet = driver.program.quitting.sheet
    next(button for button in sheet.buttons() if button.text() == name).click()


def test_program_ends_without_a_question_when_everything_is_saved(start):
    driver = start()
    driver.ask("Why are there tides?")
    driver.until_idle()
    assert driver.program.quitting.may_end()
    assert driver.program.quitting.sheet is None


def test_question_that_could_not_be_saved_keeps_the_program_open(unsaved):
    quitting = unsaved.program.quitting
    unsaved.composer.set_attachments([Attachment("a.txt", 1, "x")])
    assert not unsaved.window.close()
    assert unsaved.window.isVisible()
    sheet = quitting.sheet
    assert sheet.text() == "1 chat is not saved"
    assert {button.text() for button in sheet.buttons()} == {"Export…", "Quit anyway", "Cancel"}
    assert sheet.defaultButton().text() == "Export…"
    assert "1 file is not sent" in sheet.informativeText()
    assert not quitting.may_end()
    assert quitting.sheet is sheet
    press(unsaved, "Cancel")
    unsaved.until(lambda: quitting.sheet is None)
    unsaved.composer.set_attachments([])
    unsaved.room()
    unsaved.until(quitting.may_end)


def test_what_would_be_lost_can_be_exported_first(unsaved, tmp_path, qtbot):
    unsaved.program.quitting.may_end()
    press(unsaved, "Export…")
    unsaved.until(lambda: unsaved.window.findChild(QFileDialog) is not None)
    dialog = unsaved.window.findChild(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "kept.json"))
    dialog.reject()
    (chat,) = json.loads((tmp_path / "kept.json").read_text())["chats"]
    assert "Why are there tides?" in json.dumps(chat)
    assert not unsaved.program.quitting.may_end()
    press(unsaved, "Cancel")


def test_user_who_knows_can_quit(unsaved, monkeypatch):
    ends = []
    monkeypatch.setattr("app.quitting.QCoreApplication.quit", lambda: ends.append(True))
    unsaved.program.quitting.may_end()
    press(unsaved, "Quit anyway")
    unsaved.until(lambda: bool(ends))
    assert unsaved.program.quitting.may_end()


def test_system_that_ends_the_program_is_not_kept_waiting(unsaved, monkeypatch, caplog):
    ends = []
    monkeypatch.setattr("app.quitting.QCoreApplication.quit", lambda: ends.append(True))
    unsaved.program.quitting.end()
    assert ends
    assert "could not be saved: 1" in caplog.text
    assert unsaved.program.quitting.sheet is None
    assert unsaved.program.quitting.may_end()


def test_files_that_wait_to_be_sent_are_not_forgotten_without_a_word(start):
    driver = start()
    driver.ask("Why?")
    driver.until_idle()
    driver.composer.set_attachments([Attachment("a.txt", 1, "x")])
    driver.window.menus.new_chat.trigger()
    driver.composer.set_attachments([Attachment("b.txt", 1, "x")])
    quitting = driver.program.quitting
    assert not quitting.may_end()
    assert quitting.sheet.text() == "2 files are not sent"
    assert {button.text() for button in quitting.sheet.buttons()} == {"Quit anyway", "Cancel"}
    assert quitting.sheet.defaultButton().text() == "Cancel"
    press(driver, "Cancel")
    driver.until(lambda: quitting.sheet is None)
    driver.composer.chips.chips[0].close_button.click()
    assert not quitting.may_end()
    assert quitting.sheet.text() == "1 file is not sent"
    press(driver, "Cancel")


def test_every_wish_to_quit_asks(qapp):
    class Stub(QObject):
        may_end = staticmethod(lambda: False)

    wish = QEvent(QEvent.Type.Quit)
    wish.accept()
    assert QtProgram.event(Stub(), wish)
    assert not wish.isAccepted()
