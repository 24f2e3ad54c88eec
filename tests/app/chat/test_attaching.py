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
    assert "KB" in chip.words()
    data.setText("x" * 100_000)
    driver.composer.edit.insertFromMimeData(data)
    assert len(driver.composer.text()) == 100_000
    assert len(driver.composer.chips.chips) == 1
