"""The inspector: edits become the chat's settings, and the settings of the chat are shown."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QToolTip

from app.chat.settings import ChatSettings, Preset
from app.inspector.inspector import Inspector
from app.storage.settings import SettingsFile
from mtplx_engine.config import SamplerConfig
from tests.support.fake_services import MODEL

THINKER = dataclasses.replace(MODEL, token_bytes=1000, thinking_switch=True)


@pytest.fixture
def file(tmp_path):
    return SettingsFile(tmp_path)


@pytest.fixture
def panel(qtbot, theme, file):
    panel = Inspector(theme, file)
    qtbot.addWidget(panel)
    panel.told = []
    panel.changed.connect(lambda _, settings: panel.told.append(settings))
    panel.show_models((("smol", "SmolLM2 135M"), ("qwen", "Qwen3.5")))
    panel.show_model(MODEL)
    panel.show()
    return panel


def choose(button, name):
    next(action for action in button.menu().actions() if action.text() == name).trigger()


def answer(panel, text):
    dialog = panel.findChild(QInputDialog)
    dialog.setTextValue(text)
    dialog.accept()
    dialog.setParent(None)


def type_number(field, text):
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_shows_what_the_makers_recommend_and_says_nothing(panel):
    assert panel.dials["temperature"].field.text() == "0.7"
    assert panel.dials["repetition_penalty"].field.text() == "1.1"
    assert panel.dials["top_p"].field.text() == panel.dials["top_k"].field.text() == "off"
    assert not panel.dials["temperature"].reset.isVisible()
    assert not panel.reset.isEnabled()
    assert panel.told == []


def test_a_number_is_typed_and_reset(panel):
    row = panel.dials["temperature"]
    type_number(row.field, "0,25")
    assert panel.told[-1] == ChatSettings(sampler=dataclasses.replace(MODEL.recommended, temperature=0.25))
    assert row.reset.isVisible()
    QTest.keyClick(row.field, Qt.Key.Key_Up)
    assert panel.told[-1].sampler.temperature == 0.35
    row.reset.click()
    assert panel.told[-1] == ChatSettings()
    assert row.field.text() == "0.7"


def test_a_word_turns_a_dial_off(panel):
    row = panel.dials["repetition_penalty"]
    type_number(row.field, "off")
    assert panel.told[-1].sampler.repetition_penalty == 1.0
    type_number(row.field, "x")
    assert row.field.text() == "off"
    assert len(panel.told) == 1


def test_seed_takes_only_a_whole_number(panel):
    type_number(panel.seed.field, "4711")
    assert panel.told[-1].sampler.seed == 4711
    for nonsense in ("-3", "abc", str(2**63), "٣"):
        panel.seed.field.setText(nonsense)
        QTest.keyClick(panel.seed.field, Qt.Key.Key_Return)
        assert panel.seed.field.text() == "4711"
    panel.seed.field.clear()
    QTest.keyClick(panel.seed.field, Qt.Key.Key_Return)
    assert panel.told[-1] == ChatSettings()


@pytest.mark.parametrize("typed", ["-5", "1" + "0" * 23])
def test_what_is_no_seed_is_said(panel, monkeypatch, typed):
    told, shown = [], []
    monkeypatch.setattr("app.widgets.feedback.announce", lambda _, words: told.append(words))
    monkeypatch.setattr(QToolTip, "showText", lambda _place, words, _widget: shown.append(words))
    panel.seed.field.setText(typed)
    panel.seed.field.editingFinished.emit()
    assert shown == told == [f"“{typed}” is no seed: type a whole number from 0 to {2**63 - 1}."]
    assert panel.told == []


def test_a_number_with_an_exponent_is_that_number_or_none(panel):
    field = panel.dials["top_k"].field
    type_number(field, "1e1")
    assert field.value() == 10
    type_number(field, "1e9")
    assert field.value() != 19
    assert all(settings.sampler.top_k != 19 for settings in panel.told)


@pytest.mark.parametrize(("typed", "said"), [("1e9", True), ("5000000", True), ("12", False), ("1e", False)])
def test_a_number_out_of_range_is_not_taken_back_without_a_word(panel, monkeypatch, typed, said):
    told = []
    monkeypatch.setattr("app.widgets.feedback.announce", lambda _, words: told.append(words))
    type_number(panel.dials["top_k"].field, typed)
    expected = f"“{typed}” is out of range: type a number from 0 to 1,000,000."
    assert told == ([expected] if said else [])
    QToolTip.hideText()


def test_wheel_changes_no_number(panel):
    field = panel.dials["temperature"].field
    field.setFocus()
    before = field.value()
    QTest.qWait(0)
    event = _wheel(field)
    field.wheelEvent(event)
    assert not event.isAccepted()
    assert field.value() == before


def _wheel(field):
    from PySide6.QtCore import QPoint, QPointF
    from PySide6.QtGui import QWheelEvent

    return QWheelEvent(
        QPointF(5, 5),
        QPointF(5, 5),
        QPoint(0, 120),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )


def test_choices_become_settings(panel):
    panel.show_model(THINKER)
    choose(panel.model, "Qwen3.5")
    choose(panel.drafting.choice, "Off")
    choose(panel.context, "2,048 tokens")
    choose(panel.thinking, "Answers at once")
    type_number(panel.longest, "300")
    assert panel.told[-1] == ChatSettings(model="qwen", drafting=0, context=2048, max_tokens=300, thinking=False)
    assert panel._cost.text().startswith("Up to 2 MB")
    panel.reset.click()
    assert panel.told[-1] == ChatSettings(model="qwen")


def test_thinking_is_offered_only_where_the_template_has_a_switch(panel):
    assert not panel.thinking.isVisible()
    panel.show_model(THINKER)
    assert panel.thinking.isVisible()


def test_system_prompt_is_taken_after_a_pause_and_when_its_field_is_left(panel, qtbot):
    panel._typing.setInterval(1)
    QTest.keyClicks(panel.prompt, "Be")
    qtbot.waitUntil(lambda: panel.told == [ChatSettings(system_prompt="Be")])
    panel._typing.setInterval(60_000)
    panel.prompt.moveCursor(panel.prompt.textCursor().MoveOperation.End)
    QTest.keyClicks(panel.prompt, " kind.")
    assert len(panel.told) == 1
    panel.settle()
    assert panel.told[-1].system_prompt == "Be kind."


def test_half_typed_system_prompt_belongs_to_the_chat_that_is_left(start):
    driver = start()
    window, session = driver.window, driver.program.session
    window.menus.inspector.trigger()
    driver.ask("One")
    driver.until_idle()
    first = session.shown.chat.id
    window.inspector.prompt.setPlainText("For the first chat")
    window.menus.new_chat.trigger()
    assert session.shown.settings.system_prompt == window.inspector.prompt.toPlainText() == ""
    window.sidebar.chosen.emit(first)
    driver.until(lambda: session.shown.chat.id == first)
    assert window.inspector.prompt.toPlainText() == "For the first chat"
    tomorrow = start()
    tomorrow.until(lambda: tomorrow.program.session.shown.chat.id == first)
    assert tomorrow.window.inspector.prompt.toPlainText() == "For the first chat"


@pytest.mark.parametrize("way", ["delete", "new", "step"])
def test_half_typed_system_prompt_is_in_no_other_chat_however_its_chat_is_left(start, way):
    driver = start()
    window, session = driver.window, driver.program.session
    window.menus.inspector.trigger()
    for question in ("One", "Two"):
        window.menus.new_chat.trigger()
        driver.ask(question)
        driver.until_idle()
    second = session.chat_id
    window.inspector.prompt.setPlainText("Half typ")
    leave = {
        "delete": window.menus.delete_chat,
        "new": window.menus.new_chat,
        "step": window.menus.next_chat,
    }[way]
    driver.until_offered()
    leave.trigger()
    driver.until(lambda: session.chat_id != second)
    assert not window.inspector._typing.isActive()
    assert session.settings == ChatSettings()
    assert window.inspector.prompt.toPlainText() == ""
    window.menus.new_chat.trigger()
    driver.ask("Three")
    driver.until_idle()
    assert session.settings == ChatSettings()
    if way == "delete":
        window.toast.undo()
    window.sidebar.chosen.emit(second)
    driver.until(lambda: session.chat_id == second)
    assert session.settings == ChatSettings(system_prompt="Half typ")
    assert window.inspector.prompt.toPlainText() == "Half typ"


def test_half_typed_system_prompt_outlives_another_setting_and_gives_way_to_another_prompt(panel):
    panel.show_chat("one", ChatSettings())
    panel.prompt.setPlainText("Be k")
    panel.show_settings(ChatSettings(reads_from="later"))
    assert panel.prompt.toPlainText() == "Be k"
    panel.settle()
    assert panel.told == [ChatSettings(reads_from="later", system_prompt="Be k")]
    panel.prompt.setPlainText("Be kind")
    panel.show_settings(ChatSettings(system_prompt="From a preset"))
    panel.settle()
    assert panel.prompt.toPlainText() == "From a preset"
    assert len(panel.told) == 1


def test_preset_is_saved_changed_renamed_deleted_and_brought_back(panel, file):
    deleted = []
    panel.presets.deleted.connect(deleted.append)
    type_number(panel.dials["temperature"].field, "0")
    panel.presets.save_as.trigger()
    answer(panel, "  Exact ")
    assert panel.told[-1].preset == "Exact"
    assert panel.presets.choice.text() == "Exact"
    assert not panel.presets.save.isEnabled()

    type_number(panel.dials["top_k"].field, "5")
    assert panel.presets.choice.text() == "Exact (changed)"
    panel.presets.save.trigger()
    assert panel.presets.choice.text() == "Exact"
    panel.presets.rename.trigger()
    answer(panel, "Precise")
    assert [preset.name for preset in file.value.presets] == ["Precise"]
    assert panel.told[-1].preset == panel.presets.choice.text() == "Precise"
    assert file.value.presets[0].settings.sampler == dataclasses.replace(MODEL.recommended, temperature=0.0, top_k=5)

    choose(panel.presets.choice, "None")
    assert panel.told[-1] == ChatSettings()
    choose(panel.presets.choice, "Precise")
    assert panel.dials["top_k"].field.text() == "5"
    panel.presets.delete.trigger()
    assert file.value.presets == ()
    assert panel.presets.choice.text() == "None"
    panel.presets.restore(*deleted)
    assert panel.presets.choice.text() == "Precise"


def test_blank_name_saves_nothing(panel, file):
    panel.presets.save_as.trigger()
    answer(panel, "  ")
    assert file.value.presets == ()


def test_another_chat_shows_its_own_settings(panel, file):
    file.change(presets=(Preset("Calm", ChatSettings(sampler=SamplerConfig(temperature=0.1))),))
    panel.show_settings(
        ChatSettings(
            model="/far/model",
            preset="Calm",
            sampler=SamplerConfig(temperature=0.1),
            context=700,
            max_tokens=5,
        )
    )
    assert panel.told == []
    assert panel.model.text() == "/far/model"
    assert panel.presets.choice.text() == "Calm (changed)"
    assert panel.context.text() == "700 tokens"
    assert panel.longest.text() == "5"
    assert panel.dials["temperature"].reset.isVisible()


def test_settings_of_the_chat_reach_the_session_and_the_panel_remembers_that_it_is_open(start):
    driver = start()
    window = driver.window
    assert window.inspector.isHidden()
    driver.pane.header.inspector_button.click()
    assert window.inspector.isVisible()
    assert driver.pane.header.inspector_button.accessibleName() == "Hide the inspector"
    type_number(window.inspector.dials["temperature"].field, "0.1")
    assert driver.program.session.shown.settings.sampler.temperature == 0.1
    window.inspector._close.click()
    assert window.inspector.isHidden()
    window.menus.inspector.trigger()
    assert start().window.inspector.isVisible()


def test_sidebar_gives_way_in_a_narrow_window_and_comes_back(start):
    driver = start()
    window = driver.window
    window.menus.inspector.trigger()
    window.resize(700, 600)
    assert window.sidebar.isHidden()
    assert window.menus.sidebar.isChecked()
    window.resize(1080, 720)
    assert window.sidebar.isVisible()
