"""The Speed window in the program: one of it, with its key, and a whole measurement by an engine of a script."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.dashboard.benchmark_runner import Stage
from app.storage.settings import SettingsFile
from mtplx_engine.measure.store import MeasurementStore
from tests.support.fake_script import Script
from tests.support.measurements import measurement, report

KEYS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def open_tab(driver):
    driver.until(lambda: driver.program.queue.model is not None)
    driver.window.menus.speed.trigger()
    driver.program.speed.window().open_tab(driver.program.speed._page)
    return driver.program.speed._page


def test_there_is_one_and_it_comes_with_its_key(start):
    driver = start()
    driver.activate()
    QTest.keyClick(driver.window, Qt.Key.Key_S, KEYS)
    first = driver.program.speed.window()
    driver.until(first.isVisible)
    first.close()
    driver.window.sidebar.speed_button.click()
    assert driver.program.speed.window() is first
    assert first.isVisible()


def test_models_are_beside_it_in_the_sidebar(start):
    driver = start()
    driver.window.sidebar.models_button.click()
    assert driver.program.models.window().isVisible()


def test_a_measurement_from_the_button_to_the_result(start):
    driver = start(Script(trial_s=0.2))
    page = open_tab(driver)
    page.plan.start.click()
    assert page.progress.isVisible()
    driver.until(page.result.isVisible)
    assert page.result.headline.text() == "2.00x faster"


def test_a_question_waits_for_the_measurement_and_is_answered(start):
    driver = start(Script(trial_s=0.5, answer="Because."))
    page = open_tab(driver)
    page.plan.start.click()
    driver.until(lambda: driver.program.speed.runner.trial.left_s is not None)
    driver.ask("Why?")
    driver.until(lambda: driver.program.queue.pending != ())
    assert driver.program.queue.held
    driver.until_idle()
    assert driver.shown_text == "Because."
    driver.until(page.result.isVisible)


def test_cancel_ends_it_and_keeps_nothing(start):
    driver = start(Script(trial_s=60))
    page = open_tab(driver)
    page.plan.start.click()
    driver.until(lambda: driver.program.speed.runner.trial.stage is Stage.RUNNING)
    page.progress.cancel.click()
    driver.until(lambda: driver.program.speed.runner.trial is None)
    assert page.plan.isVisible()
    assert not driver.program.queue.held


def test_the_program_ends_in_the_middle_of_a_measurement(start):
    driver = start(Script(trial_s=60))
    page = open_tab(driver)
    page.plan.start.click()
    driver.until(lambda: driver.program.speed.runner.trial.stage is Stage.RUNNING)
    driver.program.close()
    assert driver.program.link.state.name == "CLOSED"


@pytest.fixture
def slower(tmp_path):
    MeasurementStore(tmp_path).keep(measurement(0.6, 0.6, 0.6))


def test_where_drafting_is_off_menu_and_inspector_say_so_and_the_way_back(start, slower, tmp_path):
    driver = start()
    menus, section = driver.window.menus, driver.window.inspector.drafting
    driver.until(menus.draft_again.isVisible)
    assert menus.drafting_action("auto").text() == (
        "Automatic – off in chats up to 1k tokens: slower here (measured 29 Nov)"
    )
    menus.inspector.trigger()
    assert section.draft_again.isVisible()
    section.draft_again.click()
    driver.until(lambda: not menus.draft_again.isVisible())
    assert menus.drafting_action("auto").text() == "Automatic"
    assert not section.draft_again.isVisible()
    [kept] = MeasurementStore(tmp_path).all()
    assert kept == measurement(0.6, 0.6, 0.6, lifted=True)


def test_a_chosen_depth_says_nothing_about_what_is_off(start, slower):
    driver = start()
    menus = driver.window.menus
    driver.until(menus.draft_again.isVisible)
    menus.inspector.trigger()
    menus.drafting_action(2).trigger()
    assert not driver.window.inspector.drafting.draft_again.isVisible()


def test_drafting_that_changes_what_is_said_is_turned_off_beside_the_verdict(start):
    driver = start(Script(trial_s=0.1, report=report(p_value=1e-9)))
    page = open_tab(driver)
    page.exactness.button.click()
    driver.until(page.exactness.turn_off.isVisible)
    page.exactness.turn_off.click()
    assert driver.program.queue.drafting == 0
    assert driver.window.menus.drafting_action(0).isChecked()


def test_the_first_model_that_was_fetched_is_offered_to_be_measured_once(start):
    driver = start(Script(trial_s=0.1))
    driver.until(lambda: driver.program.queue.model is not None)
    toast = driver.window.toast
    driver.program.models.first_loaded.emit(driver.program.queue.model)
    driver.activate()
    driver.until(toast.isVisible)
    assert toast.button.text() == "Measure"
    toast.button.click()
    page = driver.program.speed._page
    driver.until(page.result.isVisible)
    driver.activate()
    assert not toast.isVisible()


def test_a_model_that_does_not_draft_is_not_offered(start):
    driver = start(Script(note="It has no head."))
    driver.until(lambda: driver.program.queue.model is not None)
    driver.activate()
    driver.program.models.first_loaded.emit(driver.program.queue.model)
    assert not driver.window.toast.isVisible()


def test_its_place_is_there_at_the_next_start(start, tmp_path):
    driver = start()
    driver.window.menus.speed.trigger()
    window = driver.program.speed.window()
    window.setGeometry(30, 40, 720, 520)
    window.close()
    assert SettingsFile(tmp_path).value.speed_place.width == 720
