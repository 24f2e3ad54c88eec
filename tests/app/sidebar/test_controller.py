"""The sidebar in the whole program: search, names, pins, deletion with undo, drafts, files."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog

from app.chat.formats import to_json
from app.storage.database import ChatDatabase
from app.storage.errors import StoreError
from tests.support.chats import NOW, chat, message
from tests.support.fake_script import Script


@pytest.fixture
def filled(tmp_path):
    """Three chats on the disk, one of them with branches."""
    with ChatDatabase(tmp_path / "chats", NOW) as database:
        for name in ("one", "two", "three"):
            database.add_chat(chat(name))
            database.add_message(message(f"q-{name}", name, text=f"question {name}"))
        for number in range(30):
            parent = f"a{number - 1}" if number else "q-one"
            database.add_message(message(f"a{number}", "one", parent, text=f"long\n\n\n\nline {number}"))
        database.add_message(message("other", "one", "q-one", text="another branch: xylophone"))
        database.set_leaf("one", "a29")
    return tmp_path


@pytest.fixture
def driver(filled, start):
    driver = start()
    driver.until(lambda: len(driver.program.chats.chat_ids()) == 3)
    driver.activate()
    return driver


def listed(driver):
    return set(driver.program.chats.chat_ids())


def show(driver, chat_id):
    driver.program.session.open_chat(chat_id)
    driver.until(lambda: driver.program.session.shown.chat.id == chat_id)


def search(driver, query):
    driver.window.menus.search.trigger()
    QTest.keyClicks(driver.window.sidebar.search, query)
    driver.until(driver.window.sidebar.found.isVisible)


def test_search_opens_a_chat_at_the_message_in_whatever_branch(driver):
    search(driver, "xylo")
    assert QApplication.focusWidget() is driver.window.sidebar.search
    QTest.keyClick(driver.window.sidebar.search, Qt.Key.Key_Down)
    QTest.keyClick(driver.window.sidebar.found, Qt.Key.Key_Down)
    QTest.keyClick(driver.window.sidebar.found, Qt.Key.Key_Return)
    driver.until(lambda: driver.program.session.shown.chat.id == "one")
    assert driver.program.session.shown.path()[-1].id == "other"


def test_search_goes_to_a_message_far_above_the_end(driver):
    driver.window.resize(800, 480)
    show(driver, "one")
    search(driver, "line 3")
    driver.program.library.open_at("one", "a3")
    row = driver.transcript.row("a3")
    assert row is not None
    driver.until(lambda: row in driver.transcript.rows_in_view())
    assert not driver.transcript.following


def test_deleted_chats_vanish_from_the_results_and_come_back_with_undo(driver):
    search(driver, "question two")
    driver.program.library.delete(["two", "three"])
    driver.until(lambda: not driver.window.sidebar.found.isVisible())
    assert listed(driver) == {"one"}
    assert "2 chats" in driver.window.toast.button.accessibleName()
    driver.window.toast.button.click()
    driver.until(driver.window.sidebar.found.isVisible)
    assert listed(driver) == {"one", "two", "three"}


def test_several_are_deleted_by_keyboard_and_brought_back_by_ctrl_z(driver):
    show(driver, "two")
    chats = driver.window.sidebar.list
    chats.setFocus()
    QTest.keyClick(chats, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(chats, Qt.Key.Key_Delete)
    assert listed(driver) == set()
    assert driver.program.session.shown.messages == ()
    chats.setFocus()
    QTest.keyClick(chats, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    driver.until(lambda: driver.program.session.shown.chat.id == "two")
    assert listed(driver) == {"one", "two", "three"}


def test_names_and_pins_last_and_are_shown_everywhere(driver, start):
    show(driver, "two")
    menus = driver.window.menus
    menus.rename_chat.trigger()
    field = QApplication.focusWidget()
    QTest.keyClicks(field, "Renamed")
    QTest.keyClick(field, Qt.Key.Key_Return)
    driver.until(lambda: driver.program.chats.chat("two").title == "Renamed")
    assert driver.program.session.shown.chat.title == "Renamed"
    menus.pin_chat.trigger()
    driver.until_offered()
    assert menus.pin_chat.text() == "Unpin Chat"
    driver.ask("More?")
    driver.until_idle()
    again = start()
    again.until(lambda: len(again.program.chats.chat_ids()) == 3)
    found = again.program.chats.chat("two")
    assert (found.title, found.pinned) == ("Renamed", True)
    assert again.program.chats.index(0).data() == "Pinned"


def test_d15_drafts_last_over_the_end_of_the_program(driver, start):
    driver.type("to nobody yet")
    show(driver, "one")
    driver.type("to one")
    show(driver, "two")
    driver.type("to two")
    again = start()
    again.until(lambda: again.program.session.shown.chat.id == "two")
    assert again.composer.text() == "to two"
    show(again, "one")
    assert again.composer.text() == "to one"
    again.program.session.new_chat()
    assert again.composer.text() == "to nobody yet"


def test_d15_a_draft_that_rests_is_stored_without_an_end_of_the_program(driver, monkeypatch):
    kept = []
    monkeypatch.setattr(driver.program.store, "set_draft", lambda _, text: kept.append(text))
    driver.type("a text that rests")
    driver.until(lambda: kept == ["a text that rests"])
    driver.type("!")
    driver.until(lambda: kept[-1] == "a text that rests!")
    driver.pane.drafts.keep()  # as at the end: nothing has changed since
    assert len(kept) == 2


def test_d15_what_was_sent_is_no_draft_any_more(driver, start):
    driver.type("a question")
    driver.until(lambda: not driver.pane.drafts._pause.isActive())
    driver.ask("")
    driver.until_idle()
    again = start()
    again.until(lambda: bool(again.program.session.shown.messages))
    assert again.composer.text() == ""
    again.program.session.new_chat()
    assert again.composer.text() == ""


# ---------------------------------------------------------------- files


def dialog_of(driver):
    driver.until(lambda: driver.window.findChild(QFileDialog) is not None)
    return driver.window.findChild(QFileDialog)


def choose(driver, path):
    """Answer the file sheet that is open."""
    dialog = dialog_of(driver)
    dialog.fileSelected.emit(str(path))
    dialog.close()


@pytest.mark.parametrize("suffix", ["md", "txt", "json"])
def test_the_shown_chat_goes_to_a_file(driver, tmp_path, suffix):
    show(driver, "two")
    driver.window.menus.export_chat.trigger()
    assert dialog_of(driver).selectedFiles()[0].endswith("Title two.md")
    choose(driver, tmp_path / f"out.{suffix}")
    text = (tmp_path / f"out.{suffix}").read_text()
    assert "question two" in text
    assert text.startswith({"md": "# Title two", "txt": "Title two\n---", "json": "{"}[suffix])
    assert driver.window.toast.isVisible()
    assert not driver.window.toast.button.isVisible()


def test_another_chat_goes_to_a_file_from_its_menu(driver, tmp_path):
    show(driver, "two")
    driver.window.sidebar.export_requested.emit("three")
    choose(driver, tmp_path / "out.md")
    assert "question three" in (tmp_path / "out.md").read_text()
    assert driver.program.session.shown.chat.id == "two"


def test_all_chats_go_to_a_file_and_come_in_again_beside_those_there_are(driver, tmp_path):
    driver.window.menus.export_all.trigger()
    choose(driver, tmp_path / "all.json")
    driver.until((tmp_path / "all.json").exists)
    assert len(json.loads((tmp_path / "all.json").read_text())["chats"]) == 3
    driver.window.menus.import_chats.trigger()
    choose(driver, tmp_path / "all.json")
    driver.until(lambda: len(listed(driver)) == 6)


def test_what_cannot_be_imported_or_exported_is_said(driver, tmp_path):
    told = []
    driver.program.session.notice.connect(told.append)
    (tmp_path / "bad.json").write_text("{}")
    driver.window.menus.import_chats.trigger()
    choose(driver, tmp_path / "bad.json")
    driver.until(lambda: bool(told))
    assert "holds no chats" in told[0]
    show(driver, "two")
    driver.window.menus.export_chat.trigger()
    choose(driver, tmp_path / "nowhere" / "out.md")
    assert "could not be exported" in driver.window.toast._label.text()


def test_chats_that_cannot_be_saved_stay_on_the_screen_and_can_be_exported(start, tmp_path, monkeypatch):
    def full(*_):
        raise StoreError("The disk is full (0 MB free). Free some space.", retryable=True)

    driver = start(Script())
    driver.ask("Why?")
    driver.until_idle()
    with monkeypatch.context() as patch:
        patch.setattr(ChatDatabase, "add_message", full)
        driver.ask("And now?")
        driver.until(lambda: driver.window.toast.button.text() == "Export…")
        assert "The disk is full" in driver.program.session.shown.path()[-1].error
        driver.until(lambda: driver.window.toast._label.text() == "This chat is not saved yet.")
        driver.window.toast.button.click()
        choose(driver, tmp_path / "out.json")
    shown = driver.program.session.shown
    assert (tmp_path / "out.json").read_text() == to_json([shown])
    assert [each.text for each in shown.path()][::2] == ["Why?", "And now?"]
