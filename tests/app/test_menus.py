"""The menu bar: every command with its key, each offered only while it can act."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from app import menus
from app.chat.generation import RowAction
from app.services.engine_worker import EngineState
from app.widgets.dialogs import AboutBox, LinkSheet, ShortcutSheet
from mtplx_engine import paths
from tests.support.fake_script import Script


@pytest.fixture
def opened_urls(monkeypatch):
    urls = []
    monkeypatch.setattr(QDesktopServices, "openUrl", urls.append)
    return urls


def commands(bar):
    """Return the commands of all menus by name. `QAction.menu` is not used: its menus go with the action's wrapper."""
    menus = bar.findChildren(QMenu)
    return {action.text(): action for menu in menus for action in menu.actions() if not action.isSeparator()}


def test_menu_bar_has_every_command_and_its_key(start):
    bar = start().window.menuBar()
    titles = [action.text() for action in bar.actions()]
    assert titles == ["File", "Edit", "View", "Chat", "Model", "Window", "Help"]
    keys = {name: [key.toString() for key in action.shortcuts()] for name, action in commands(bar).items()}
    assert keys["New Chat"] == ["Ctrl+N"]
    assert keys["Close Window"] == ["Ctrl+W"]
    assert keys["Stop"] == ["Ctrl+.", "Esc"]
    assert keys["Copy Answer"] == ["Ctrl+Shift+C"]
    assert keys["Go to Message Field"] == ["Ctrl+L"]
    assert keys["Settings…"] == ["Ctrl+,"]
    assert keys["Show Inspector"] == ["Ctrl+Alt+I"]
    assert keys["Previous Chat"] == ["Ctrl+["]
    assert keys["Next Chat"] == ["Ctrl+]"]
    assert keys["Speed…"] == ["Ctrl+Shift+S"]
    assert keys["Make Text Bigger"] == ["Ctrl++", "Ctrl+="]
    assert keys["Usual Text Size"] == ["Ctrl+0"]
    assert {"Automatic", "Off", "Depth 1", "Depth 8", "Restart Engine", "Show Logs"} <= keys.keys()
    taken = [key for keys_of_one in keys.values() for key in keys_of_one]
    assert len(taken) == len(set(taken))


def test_about_is_wide_enough_to_be_read(start, qtbot):
    driver = start()
    driver.program.window.menus.about.trigger()
    (box,) = driver.program.window.findChildren(AboutBox)
    qtbot.waitUntil(box.isVisible)
    assert box.text().startswith("MTPLX 0.")
    assert "Apache-2.0" in box.informativeText()
    assert "Qt 6." in box.informativeText()
    assert "LGPL 3.0" in box.informativeText()
    assert box.width() > box.height()
    box.close()


def test_about_leads_to_the_licences_inside_the_app(start, monkeypatch, tmp_path):
    driver = start()
    monkeypatch.setattr(paths, "bundle", lambda: tmp_path / "MTPLX.app")
    driver.program.window.menus.about.trigger()
    (box,) = driver.program.window.findChildren(AboutBox)
    assert str(tmp_path / "MTPLX.app" / "Contents" / "Resources" / "licences") in box.informativeText()
    box.close()


def test_about_and_quit_go_where_a_mac_looks_for_them(start):
    driver = start()
    roles = {name: action.menuRole() for name, action in commands(driver.window.menuBar()).items()}
    assert roles["About MTPLX"] is QAction.MenuRole.AboutRole
    assert roles["Quit MTPLX"] is QAction.MenuRole.QuitRole
    assert roles["Check for Updates…"] is QAction.MenuRole.ApplicationSpecificRole
    assert roles["Settings…"] is QAction.MenuRole.PreferencesRole
    # Qt would otherwise guess a role from words like "Settings" or "Setup".
    assert roles["Show Logs"] is QAction.MenuRole.NoRole


def test_without_a_page_for_releases_no_command_leads_to_one(start):
    assert menus.RELEASES == ""
    assert not start().window.menus.updates.isVisible()


def test_updates_are_a_page_that_opens_once_the_user_has_seen_where(start, opened_urls, monkeypatch):
    monkeypatch.setattr(menus, "RELEASES", "https://example.org/releases")
    driver = start()
    assert driver.window.menus.updates.isVisible()
    driver.window.menus.updates.trigger()
    (sheet,) = driver.window.findChildren(LinkSheet)
    assert opened_urls == []
    sheet.open_button.click()
    assert opened_urls == [QUrl(menus.RELEASES)]


def test_edit_menu_acts_on_the_field_that_has_the_focus(start):
    driver = start()
    driver.activate()
    driver.type("some words")
    edit = commands(driver.window.menuBar())
    edit["Select All"].trigger()
    edit["Cut"].trigger()
    assert driver.composer.text() == ""
    edit["Paste"].trigger()
    edit["Paste"].trigger()
    assert driver.composer.text() == "some wordssome words"
    edit["Undo"].trigger()
    assert driver.composer.text() == "some words"


def test_stop_is_offered_only_while_there_is_something_to_stop(start):
    driver = start(Script(cycle_s=0.02))
    assert not driver.window.menus.stop.isEnabled()
    driver.ask("Why?")
    assert driver.window.menus.stop.isEnabled()
    driver.window.menus.new_chat.trigger()
    assert not driver.window.menus.stop.isEnabled()


def test_restart_engine_loads_the_model_again(start):
    driver = start()
    driver.until(lambda: driver.program.link.state is EngineState.READY)
    first = driver.program.link._worker._client.pid
    driver.window.menus.restart_engine.trigger()
    driver.until(lambda: driver.program.link.state is not EngineState.READY)
    driver.until(lambda: driver.program.link.state is EngineState.READY)
    assert driver.program.link._worker._client.pid != first


def test_show_logs_opens_the_folder(start, opened_urls, tmp_path):
    start().window.menus.show_logs.trigger()
    assert opened_urls == [QUrl.fromLocalFile(str(tmp_path / "logs"))]


# ---------------------------------------------------------------- when they can act


def open_edit_menu(driver):
    """Open the Edit menu, and return its commands by name."""
    menu = next(menu for menu in driver.window.menuBar().findChildren(QMenu) if menu.title() == "Edit")
    menu.aboutToShow.emit()
    return menu, {action.text(): action for action in menu.actions()}


def enabled(actions):
    return {name for name, action in actions.items() if name and action.isEnabled()}


def test_edit_menu_offers_what_the_field_can_do(start):
    driver = start()
    driver.activate()
    QGuiApplication.clipboard().clear()
    menu, actions = open_edit_menu(driver)
    assert enabled(actions) == set()
    menu.aboutToHide.emit()
    assert "Paste" in enabled(actions)  # its key, for whatever has the focus by then

    driver.type("words")
    driver.composer.edit.selectAll()
    _, actions = open_edit_menu(driver)
    assert enabled(actions) == {"Undo", "Cut", "Copy", "Select All"}
    actions["Copy"].trigger()
    _, actions = open_edit_menu(driver)
    assert "Paste" in enabled(actions)

    driver.window.menus.inspector.trigger()
    number = driver.window.inspector.dials["temperature"].field
    number.setFocus()
    number.lineEdit().deselect()
    _, actions = open_edit_menu(driver)
    assert "Copy" not in enabled(actions)
    actions["Select All"].trigger()
    assert number.lineEdit().selectedText() == number.text()


def test_deletion_is_undone_from_the_edit_menu_long_after_its_notice(start):
    driver = start()
    driver.ask("Keep me")
    driver.until_idle()
    chat_id = driver.program.session.shown.chat.id
    driver.activate()
    driver.window.menus.delete_chat.trigger()
    driver.window.toast.hide()
    driver.window.sidebar.list.setFocus()
    driver.until_offered()
    _, actions = open_edit_menu(driver)
    assert enabled(actions) == {"Undo"}
    actions["Undo"].trigger()
    driver.until(lambda: driver.program.session.shown.chat.id == chat_id)
    driver.window.sidebar.list.setFocus()
    driver.until_offered()
    _, actions = open_edit_menu(driver)
    assert enabled(actions) == {"Find in Chat…", "Find Next", "Find Previous"}


def test_each_deletion_has_an_undo_of_its_own_with_the_keyboard_in_the_empty_message_field(start):
    driver = start()
    asked = []
    for question in ("One", "Two"):
        driver.window.menus.new_chat.trigger()
        driver.ask(question)
        driver.until_idle()
        asked.append(driver.program.session.chat_id)
    driver.activate()
    for chat_id in asked:
        driver.window.sidebar.deletion_requested.emit([chat_id])
    driver.window.toast.tell("Something else happened.")
    driver.until_offered()
    for undone in (1, 2):
        QTest.keySequence(driver.composer.edit, QKeySequence.StandardKey.Undo)
        assert set(driver.program.chats.chat_ids()) == set(asked[-undone:])
    assert not driver.window.toast.can_undo


def test_an_answer_is_asked_of_another_model_that_is_installed(start, monkeypatch):
    driver = start()
    commands, menu = driver.program.commands.messages, driver.window.menus.answer_with
    assert not menu.isEnabled()
    driver.ask("Why?")
    driver.until_idle()
    assert menu.isEnabled()
    asked = []
    monkeypatch.setattr(driver.program.link, "load", lambda *names, **_: asked.extend(names))
    commands.show_models((("other", "Other & Sons"),))
    menu.aboutToShow.emit()
    [action] = menu.actions()
    assert action.text() == "Other && Sons"
    action.trigger()
    assert asked == ["other"]
    assert driver.program.session.settings.model == ""
    assert len(driver.program.session.shown.messages) == 3
    driver.program.session.stop()
    commands.show_models(())
    menu.aboutToShow.emit()
    assert [(each.text(), each.isEnabled()) for each in menu.actions()] == [("No model is installed", False)]


def test_any_answer_offers_the_other_models_in_its_own_menu(start, monkeypatch):
    driver = start()
    for question in ("One", "Two"):
        driver.ask(question)
        driver.until_idle()
    driver.program.commands.messages.show_models((("other", "Other"),))
    first = driver.transcript.rows[1]
    entry = first.footer._entries[RowAction.OTHER_MODEL]
    assert entry.isVisible()
    assert entry.text() == "Answer Again With"
    entry.menu().aboutToShow.emit()
    [action] = entry.menu().actions()
    asked = []
    monkeypatch.setattr(driver.program.link, "load", lambda *names, **_: asked.extend(names))
    action.trigger()
    assert asked == ["other"]
    assert [row.message.text for row in driver.transcript.rows[::2]] == ["One"]
    assert not driver.answer.footer._entries[RowAction.OTHER_MODEL].isVisible()  # while an answer is to come
    driver.program.session.stop()


def test_undo_belongs_to_a_field_that_has_anything_to_undo(start):
    driver = start()
    driver.ask("One")
    driver.until_idle()
    driver.activate()
    driver.window.menus.delete_chat.trigger()
    driver.until_offered()
    driver.type("a")
    QTest.keySequence(driver.composer.edit, QKeySequence.StandardKey.Undo)
    assert driver.composer.text() == ""
    assert driver.program.chats.chat_ids() == ()
    QTest.keySequence(driver.composer.edit, QKeySequence.StandardKey.Undo)
    assert len(driver.program.chats.chat_ids()) == 1


def test_commands_about_a_chat_need_one(start):
    driver = start()
    menus = driver.window.menus
    needing = (menus.copy_answer, menus.delete_chat, menus.previous_chat, menus.next_chat)
    assert not any(action.isEnabled() for action in needing)
    driver.ask("One")
    driver.until_idle()
    assert menus.copy_answer.isEnabled()
    assert menus.delete_chat.isEnabled()
    assert not menus.next_chat.isEnabled()
    menus.new_chat.trigger()
    driver.until_offered()
    assert not menus.copy_answer.isEnabled()
    assert not menus.delete_chat.isEnabled()
    assert menus.next_chat.isEnabled()


def test_commands_look_once_at_what_a_question_changes(start, monkeypatch):
    driver = start(Script(answer="word " * 500, cycle_s=0.05))
    driver.until(lambda: driver.program.link.state is EngineState.READY)
    driver.until_offered()
    looks = []
    monkeypatch.setattr(driver.program.commands.messages, "refresh", lambda: looks.append(True))
    driver.type("Why?")
    QTest.keyClick(driver.composer.edit, Qt.Key.Key_Return)
    assert driver.window.menus.stop.isEnabled()
    assert looks == []
    driver.until_offered()
    assert len(looks) == 1


def test_keys_walk_through_the_chats_in_the_order_of_the_list(start):
    driver = start()
    session, menus = driver.program.session, driver.window.menus
    for question in ("one", "two", "three"):
        menus.new_chat.trigger()
        driver.ask(question)
        driver.until_idle()
    menus.new_chat.trigger()
    driver.activate()
    seen = []
    while menus.next_chat.isEnabled():
        before = session.shown.chat.id
        QTest.keyClick(driver.window, Qt.Key.Key_BracketRight, Qt.KeyboardModifier.ControlModifier)
        driver.until(lambda before=before: session.shown.chat.id != before)
        seen.append(session.shown.chat.title)
    assert seen == ["three", "two", "one"]
    menus.previous_chat.trigger()
    driver.until(lambda: session.shown.chat.title == "two")


def test_model_is_unloaded_and_loaded_again(start):
    driver = start(Script(cycle_s=0.02))
    menus, program = driver.window.menus, driver.program
    assert not menus.unload_model.isEnabled()
    driver.until(lambda: program.link.state is EngineState.READY)
    driver.until(lambda: menus.unload_model.text() == "Unload Model" and menus.unload_model.isEnabled())
    assert not menus.load_model.isEnabled()
    driver.ask("Why?")
    driver.until_offered()
    assert not menus.unload_model.isEnabled()
    driver.until_idle()
    menus.unload_model.trigger()
    driver.until(lambda: program.link.state is EngineState.NO_MODEL)
    driver.until_offered()
    assert driver.pane.header.model.text() == "No model"
    menus.new_chat.trigger()
    assert "its memory is free" in driver.pane.empty._sentence.text()
    assert driver.pane.empty.action.text() == "Load"
    assert not menus.unload_model.isEnabled()
    menus.load_model.trigger()
    driver.until(lambda: program.link.state is EngineState.READY)


def test_new_chat_brings_a_closed_window_back(start):
    driver = start()
    driver.window.hide()
    driver.window.menus.new_chat.trigger()
    assert driver.window.isVisible()


def test_choosing_a_model_leads_to_the_inspector(start):
    driver = start()
    driver.activate()
    driver.window.menus.choose_model.trigger()
    assert driver.window.inspector.model.hasFocus()


def test_window_commands(start):
    driver = start()
    window, menus = driver.window, driver.window.menus
    driver.activate()
    menus.zoom.trigger()
    assert window.isMaximized()
    menus.zoom.trigger()
    assert not window.isMaximized()
    menus.full_screen.trigger()
    assert window.isFullScreen()
    assert menus.full_screen.text() == "Exit Full Screen"
    menus.full_screen.trigger()
    assert not window.isFullScreen()
    menus.minimize.trigger()
    assert window.isMinimized()
    menus.main_window.trigger()
    assert not window.isMinimized()


def test_shortcut_sheet_shows_every_key(start):
    driver = start()
    driver.window.menus.shortcuts.trigger()
    (sheet,) = driver.window.findChildren(ShortcutSheet)
    shown = {label.text() for label in sheet.findChildren(QLabel)}
    listed = [action for _, actions in driver.window.menus.commands() for action in actions]
    assert {action.text() for action in listed} > {"New Chat", "Undo", "Depth 8", "About MTPLX"}
    for action in listed:
        assert (action.text() in shown) is bool(action.shortcuts()), action.text()
    assert {"Edit", "Ctrl+Alt+I", "Ctrl+. or Esc"} <= shown
    sheet.close()


def test_tint_shows_and_hides_what_was_drafted(start):
    driver = start()
    driver.ask("Why?")
    driver.until_idle()
    assert any(driver.answer.message.marks)
    tint = driver.window.menus.tint
    plain, tinted, plain_again = (_look(driver, tint), _look(driver, tint), _look(driver, tint))
    assert tinted != plain
    assert plain_again == plain
    driver.ask("And then?")  # while it is on
    driver.until_idle()
    tinted = driver.answer.view.grab().toImage()
    assert _look(driver, tint) == tinted
    assert _look(driver, tint) != tinted


def _look(driver, tint):
    """Return how the last answer looks, and switch the tint."""
    image = driver.answer.view.grab().toImage()
    tint.trigger()
    return image


def test_a_message_that_is_edited_from_the_menu_comes_into_sight(start):
    driver = start()
    driver.window.resize(700, 480)
    driver.ask("Why?")
    driver.until_idle()
    bar = driver.transcript.verticalScrollBar()
    for _ in range(5):
        QApplication.processEvents()
    driver.window.resize(700, 480 + bar.maximum() - 20)  # it begins just above what is seen
    driver.until(lambda: 0 < bar.value() == bar.maximum() < 60)
    driver.window.menus.edit_last.trigger()
    for _ in range(3):
        QApplication.processEvents()
    editor = driver.transcript.rows[0].editor.edit
    place = editor.mapTo(driver.transcript.viewport(), editor.rect().topLeft())
    assert driver.transcript.viewport().rect().contains(place)
    assert editor.hasFocus()
