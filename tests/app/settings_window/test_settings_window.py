"""The settings window: one of it, every choice in effect at once and kept."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel

from app.chat.settings import ChatSettings, Preset
from app.palette import DARK, LIGHT
from app.storage.settings import Appearance, SendKey, Settings
from app.theme import TEXT_PX
from mtplx_engine import paths
from mtplx_engine.hub.settings import HubSettings

CTRL = Qt.KeyboardModifier.ControlModifier
CALM = Preset("Calm", ChatSettings(system_prompt="Be brief."))


@pytest.fixture
def driver(start):
    return start()


def open_window(driver):
    driver.window.menus.settings.trigger()
    window = driver.program._settings_window
    driver.until(window.isActiveWindow)
    return window


def choose(button, name):
    next(action for action in button.menu().actions() if action.text() == name).trigger()


def test_there_is_one_and_it_goes_with_its_key(driver):
    first = open_window(driver)
    assert open_window(driver) is first
    QTest.keyClick(first, Qt.Key.Key_W, CTRL)
    assert not first.isVisible()
    assert driver.window.isVisible()
    assert open_window(driver) is first
    QTest.keyClick(first, Qt.Key.Key_Escape)
    assert not first.isVisible()


def test_the_tab_that_is_shown_has_the_focus(driver):
    driver.program.window.menus.privacy.trigger()
    window = driver.program._settings_window
    assert window.focusWidget().text() == "Privacy"
    window.close()
    window.open_page(window.chats)
    assert window.focusWidget().text() == "Chats"


def test_appearance_follows_the_choice_and_not_the_system(driver):
    page = open_window(driver).general
    choose(page.appearance, "Dark")
    assert driver.program.theme.palette is DARK
    driver.program.theme.follow(Qt.ColorScheme.Light)
    assert driver.program.theme.palette is DARK
    choose(page.appearance, "As the system")
    driver.program.theme.follow(Qt.ColorScheme.Light)
    assert driver.program.theme.palette is LIGHT


def test_ctrl_return_sends_and_return_is_a_new_line(driver):
    choose(open_window(driver).general.send_key, "Ctrl-Return")
    driver.ask("one")
    driver.type("two")
    assert driver.composer.text() == "one\ntwo"
    QTest.keyClick(driver.composer.edit, Qt.Key.Key_Return, CTRL)
    assert driver.transcript.rows[0].message.text == "one\ntwo"
    driver.until_idle()
    choose(driver.program._settings_window.general.send_key, "Return")
    driver.type("three")
    QTest.keyClick(driver.composer.edit, Qt.Key.Key_Return, CTRL)
    assert driver.composer.text() == "three\n"


def test_size_of_messages_is_one_thing_in_menu_and_window(driver):
    page, menus, theme = open_window(driver).general, driver.window.menus, driver.program.theme
    assert not menus.usual_size.isEnabled()
    menus.larger.trigger()
    assert theme.render_style().text_size == TEXT_PX + 1
    assert page.text_px.text() == "15"
    choose(page.text_px, "26")
    assert not menus.larger.isEnabled()
    menus.usual_size.trigger()
    assert page.text_px.text() == "14 (usual)"
    choose(page.text_px, "11")
    assert not menus.smaller.isEnabled()
    assert theme.render_style().code_size == 10


def test_nothing_moves_when_motion_is_reduced(driver):
    open_window(driver).general.motion.click()
    driver.program.session.waiting.disconnect(driver.transcript.set_waiting)
    pulse = _pulse(driver)
    assert pulse.isVisible()
    assert pulse._animation.state() == pulse._animation.State.Stopped


def _pulse(driver):
    from app.widgets.feedback import Pulse

    pulse = Pulse(driver.program.theme, driver.window)
    pulse.show()
    return pulse


def test_drafting_is_one_thing_in_menu_and_window(driver):
    page, menus = open_window(driver).models, driver.window.menus
    choose(page.drafting, "Depth 2")
    assert menus.drafting_action(2).isChecked()
    assert driver.program.queue.drafting == 2
    menus.drafting_action(0).trigger()
    assert page.drafting.text() == "Off"


def test_new_chats_begin_with_a_preset(driver):
    driver.program.settings.change(presets=(CALM,))
    window = open_window(driver)
    choose(window.models.preset, "Calm")
    session = driver.program.session
    assert session.shown.settings.preset == "Calm"
    driver.ask("Why?")
    driver.until_idle()
    driver.window.menus.new_chat.trigger()
    assert session.shown.settings == CALM.applied_to(ChatSettings())
    driver.window.inspector.presets.delete.trigger()
    assert window.models.preset.text() == "What the model recommends"


def test_chats_say_where_they_are(driver, monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    page = open_window(driver).chats
    assert str(tmp_path / "chats") in [label.text() for label in page.findChildren(QLabel)]
    page.show_folder.click()
    assert opened == [QUrl.fromLocalFile(str(tmp_path / "chats"))]


def test_chats_are_exported_from_here_too(driver):
    page = open_window(driver).chats
    assert not page.export.isEnabled()
    driver.ask("Why?")
    driver.until_idle()
    asked = []
    driver.window.menus.export_all.triggered.disconnect()
    driver.window.menus.export_all.triggered.connect(lambda: asked.append(1))
    page.export.click()
    assert asked == [1]


def test_privacy_is_a_command_of_its_own(driver):
    driver.window.menus.privacy.trigger()
    window = driver.program._settings_window
    assert window.windowTitle() == "Privacy"
    assert window.privacy.isVisible()


def test_another_hub_and_a_proxy_are_used_and_kept(start):
    driver = start()
    window = open_window(driver)
    window.open_page(window.network)
    page = window.network
    assert (page.hub.text(), page.hub.placeholderText()) == ("", "https://huggingface.co")
    for field, text in ((page.hub, "https://mirror.example"), (page.proxy, "http://proxy.example:3128")):
        field.setFocus()
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert page.fault.text() == ""
    found = HubSettings("https://mirror.example", "http://proxy.example:3128")
    assert driver.program.models.access.settings == found
    again = open_window(start()).network
    assert (again.hub.text(), again.proxy.text()) == (found.endpoint, found.proxy)
    again.hub.clear()
    again.hub.editingFinished.emit()
    assert again._access.settings == HubSettings(proxy=found.proxy)


def test_a_password_of_a_proxy_is_in_no_file_and_not_shown_again(driver):
    page = open_window(driver).network
    access = driver.program.models.access
    said = [label.text() for label in page.findChildren(QLabel)]
    assert [text for text in said if ("keychain" if access.lasts else "until it quits") in text]
    page.proxy.setText("http://ada:s3cret-p%40ss@proxy.example:3128")
    page.proxy.editingFinished.emit()
    assert page.fault.text() == ""
    assert page.proxy.text() == "http://ada@proxy.example:3128"
    page.proxy.editingFinished.emit()  # nothing was typed
    assert access.connection().proxy == "http://ada:s3cret-p%40ss@proxy.example:3128"
    kept = [path.read_bytes() for path in access._data_dir.rglob("*") if path.is_file()]
    assert not [data for data in kept if b"s3cret" in data]
    assert (access._data_dir / "hub.json").stat().st_mode & 0o077 == 0
    assert "s3cret" not in repr(access.connection())


def test_all_that_is_wrong_is_said_at_once_and_in_colour(driver):
    window = open_window(driver)
    window.open_page(window.network)
    page = window.network
    page.hub.setText("ftp://mirror.example")
    page.proxy.setText("socks5://proxy.example")
    page.proxy.editingFinished.emit()
    assert all(word in page.fault.text() for word in ("ftp://mirror.example", "socks5://proxy.example"))
    assert page.fault.palette().windowText().color().name() == page._theme.palette.slower.lower()
    assert page.fault.height() >= page.fault.heightForWidth(page.fault.width())


def test_an_address_of_no_use_is_said_and_stays_to_be_corrected(driver):
    page = open_window(driver).network
    before = driver.program.models.access.settings
    page.hub.setText("ftp://mirror.example")
    page.hub.editingFinished.emit()
    assert "no https address" in page.fault.text()
    assert driver.program.models.access.settings == before
    assert page.hub.text() == "ftp://mirror.example"
    page.hub.setText("https://mirror.example")
    page.hub.editingFinished.emit()
    assert page.fault.text() == ""


def test_every_setting_is_kept(start):
    driver = start()
    window = open_window(driver)
    choose(window.general.send_key, "Ctrl-Return")
    choose(window.general.appearance, "Dark")
    choose(window.general.text_px, "18")
    window.general.motion.click()
    window.general.tint.click()
    choose(window.models.drafting, "Depth 3")
    choose(window.models.idle, "After 5 minutes")
    again = start()
    assert dataclasses.replace(again.program.settings.value, place=None) == Settings(
        drafting=3,
        tint=True,
        appearance=Appearance.DARK,
        text_px=18,
        reduced_motion=True,
        send_key=SendKey.CTRL_RETURN,
        idle_minutes=5,
    )
    assert again.program.theme.palette is DARK
    assert again.program.theme.reduced_motion
    assert again.program.theme.tinted
    assert again.window.menus.tint.isChecked()
    assert again.composer.edit.send_key is SendKey.CTRL_RETURN
    again.program.theme.set_appearance(Appearance.SYSTEM)


def test_nothing_is_cut_off(driver):
    window = open_window(driver)
    for page in window._all():
        window.open_page(page)
        QApplication.processEvents()
        for label in page.findChildren(QLabel):
            assert label.height() >= label.heightForWidth(label.width()) or not label.wordWrap(), label.text()
            assert label.width() >= label.minimumSizeHint().width(), label.text()


def test_new_models_go_to_a_folder_that_is_chosen(driver, tmp_path, monkeypatch):
    disk, window = tmp_path / "disk", open_window(driver)
    disk.mkdir()
    page, size = window.models, window.size()
    window.open_page(page)
    usual = paths.models_dir(driver.program._data_dir)
    assert page.place.text() == str(usual)
    assert not page.usual.isEnabled()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "")
    page.choose.click()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(disk / "nowhere"))
    page.choose.click()
    driver.until(lambda: "There is no folder" in page.fault.text())
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(disk))
    page.choose.click()
    driver.until(lambda: page.place.text() == str(disk))
    assert page.fault.text() == ""
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    page.show_folder.click()
    assert opened == [QUrl.fromLocalFile(str(disk))]
    disk.rename(tmp_path / "away")
    window.refresh()
    assert "not connected" in page.fault.text()
    assert not page.show_folder.isEnabled()
    page.usual.click()
    driver.until(lambda: page.place.text() == str(usual))
    assert window.size() == size
