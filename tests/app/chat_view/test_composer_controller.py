"""What goes with a message: pasted texts that no field can bear, and files that belong to the chat they came to."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData


@pytest.mark.parametrize("text", ["x" * 100_001, "word " * 21_000, "a line\n" * 15_000])
def test_a_paste_that_the_field_cannot_bear_becomes_a_file_and_is_sent_whole(start, text):
    driver = start()
    data = QMimeData()
    data.setText(text)
    driver.composer.edit.insertFromMimeData(data)
    assert driver.composer.text() == ""
    [chip] = driver.composer.chips.chips
    assert (chip.attachment.name, chip.attachment.text) == ("Pasted text", text)
    assert "kB" in chip.words()
    data.setText("x" * 100_000)
    driver.composer.edit.insertFromMimeData(data)
    assert len(driver.composer.text()) == 100_000
    assert len(driver.composer.chips.chips) == 1


def test_a_file_that_is_still_read_when_another_chat_is_shown_belongs_to_its_own(start, tmp_path):
    driver = start()
    driver.ask("One")
    driver.until_idle()
    first = driver.program.session.chat_id
    attaching = driver.pane.composing._attaching
    names = ["a.txt", "b.txt"]
    for name in names:
        (tmp_path / name).write_text(name)
    attaching.add([tmp_path / name for name in names])
    reader = attaching._reader
    driver.window.menus.new_chat.trigger()
    assert reader.busy
    driver.until(lambda: not reader.busy)
    assert driver.composer.chips.chips == ()
    driver.window.sidebar.chosen.emit(first)
    driver.until(lambda: driver.program.session.chat_id == first)
    assert [each.name for each in driver.composer.chips.attachments] == names


def test_a_file_that_is_still_read_when_the_program_ends_holds_nothing_up(start, tmp_path):
    driver = start()
    (tmp_path / "a.txt").write_text("a")
    attaching = driver.pane.composing._attaching
    attaching.add([tmp_path / "a.txt"])
    reader = attaching._reader
    attaching.show("another")
    driver.pane.stop_reading()
    driver.until(lambda: not reader.busy)
