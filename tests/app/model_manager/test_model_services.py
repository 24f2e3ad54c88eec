"""The Models window in the program: one of it, with its key, and what it asks of the engine."""

from __future__ import annotations

import shutil

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.model_manager.downloads import DownloadState
from app.model_manager.hub_client import HubClient, HubQuestion
from app.model_manager.model_library import ModelLibrary
from app.model_manager.row_state import Action
from app.services.engine_worker import EngineState
from app.widgets.dialogs import MessageBox
from mtplx_engine import paths
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.models import starter
from mtplx_engine.models.library import ModelPreferences
from tests.support import model_folder
from tests.support.fake_models import row
from tests.support.fake_script import Script

KEYS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def asked(monkeypatch):
    """What the hub would be asked about."""
    asked = []
    monkeypatch.setattr(HubClient, "inspect", lambda _, repo_id, head="": asked.append(repo_id))
    return asked


def add_model(data_dir, name):
    folder = paths.models_dir(data_dir) / name
    folder.mkdir(parents=True)
    model_folder.write(folder)
    return folder


def open_window(driver):
    driver.window.menus.models.trigger()
    return driver.program.models.window()


def test_nothing_is_asked_of_the_hub_before_the_window_is_opened(start, asked):
    driver = start()
    driver.until(lambda: driver.program.queue.model is not None)
    assert asked == []
    open_window(driver)
    assert asked


def test_there_is_one_and_it_comes_with_its_key(start, asked):
    driver = start()
    driver.activate()
    QTest.keyClick(driver.window, Qt.Key.Key_M, KEYS)
    first = driver.program.models.window()
    driver.until(first.isVisible)
    first.close()
    assert open_window(driver) is first


def test_a_model_is_loaded_from_its_row(start, asked, tmp_path):
    folder = add_model(tmp_path, "another")
    driver = start()
    driver.until(lambda: driver.program.queue.model is not None)
    window = open_window(driver)
    models = window.controller.installed
    driver.until(lambda: models.models is not None)
    loads = []
    driver.program.link.loaded.connect(lambda info: loads.append(info.path))
    models.act(str(folder), Action.LOAD)
    driver.until(lambda: driver.program.link.model == str(folder))
    assert driver.program.presenter.status.name == "another"
    driver.until(lambda: len(loads) == 1)


def test_the_default_model_is_loaded_at_the_next_start(start, asked, tmp_path):
    folder = add_model(tmp_path, "another")
    ModelPreferences(tmp_path).set_default(folder)
    driver = start()
    driver.until(lambda: driver.program.queue.model is not None)
    assert driver.program.link.model == str(folder)


def test_why_a_model_was_not_loaded_stands_in_its_row(start, asked, tmp_path):
    folder = add_model(tmp_path, "another")
    driver = start(Script(load_error="The model file is damaged at byte 12."))
    models = open_window(driver).controller.installed
    driver.until(lambda: models.models is not None)
    driver.until(lambda: driver.program.commands._engine.name == "NO_MODEL")
    models.act(str(folder), Action.LOAD)
    driver.until(lambda: models.rows[0].problem == "The model file is damaged at byte 12.")


def test_without_the_starter_there_is_a_way_to_other_models(start, asked, monkeypatch):
    driver = start()
    empty = driver.pane.empty
    assert not empty.models.isVisible()
    monkeypatch.setattr(starter, "is_installed", lambda *_: False)
    driver = start()
    driver.until(driver.pane.empty.models.isVisible)
    driver.pane.empty.models.click()
    assert driver.program.models.window().isVisible()


def test_a_folder_is_looked_at_in_the_settings_and_tried_again(start, asked, monkeypatch, tmp_path):
    driver = start()
    manager = open_window(driver).controller
    failed = ErrorInfo(ErrorKind.DOWNLOAD, "The models folder cannot be written.")
    models, resumed = driver.program.models, []
    rows = {
        name: row(name, DownloadState.FAILED, error=failed, problem=problem)
        for name, problem in (("one", HubErrorKind.READ_ONLY), ("two", HubErrorKind.DISK_FULL))
    }
    monkeypatch.setattr(models.downloads, "rows", lambda: tuple(rows.values()))
    monkeypatch.setattr(models.downloads, "resume", resumed.append)
    models.downloads.changed.emit(rows["one"])
    manager.help_download("one")
    assert driver.program.open_settings().models.isVisible()
    disk = tmp_path / "disk"
    disk.mkdir()
    models.folder.choose(disk)
    driver.until(lambda: resumed == ["one"])


def test_a_proxy_is_looked_at_in_the_settings(start, asked):
    driver = start()
    manager = open_window(driver).controller
    failure = ErrorInfo(ErrorKind.DOWNLOAD, "The proxy wants a password.")
    manager.hub.failed.emit(HubQuestion.INSPECT, failure, HubErrorKind.PROXY)
    manager.help_connection()
    assert driver.program.open_settings().network.isVisible()


def test_the_picker_follows_the_library(start, asked, tmp_path):
    driver = start()
    library = driver.program.models.library
    driver.until(lambda: library.contents.models is not None)
    add_model(tmp_path, "another")  # as the command does
    driver.window.menus.inspector.trigger()
    picker = driver.window.inspector.model
    driver.until(lambda: "another" in [action.text() for action in picker.menu().actions()])
    menu = driver.window.menus.answer_with
    driver.ask("Why?")
    driver.until_idle()
    menu.aboutToShow.emit()
    assert "another" in [action.text() for action in menu.actions()]
    library.remove(paths.models_dir(tmp_path) / "another")
    driver.until(lambda: "another" not in [action.text() for action in picker.menu().actions()])


def test_until_somebody_has_looked_no_model_is_said_to_be_missing(start, asked, monkeypatch):
    monkeypatch.setattr(ModelLibrary, "refresh", lambda _: None)
    driver = start()
    driver.ask("Why?")
    driver.until_idle()
    menu = driver.window.menus.answer_with
    menu.aboutToShow.emit()
    assert [(each.text(), each.isEnabled()) for each in menu.actions()] == [("Looking for models…", False)]


def test_what_is_gone_leaves_the_loaded_model_alone(start, asked, tmp_path):
    folder = add_model(tmp_path, "another")
    driver = start()
    driver.until(lambda: driver.program.queue.model is not None)
    window = open_window(driver)
    models = window.controller.installed
    driver.until(lambda: models.models is not None)
    before = driver.program.link.model
    shutil.rmtree(folder)
    models.act(str(folder), Action.LOAD)
    driver.until(lambda: not any(model.path == folder for model in models.models))
    box = window.findChild(MessageBox)
    assert f"{folder} is not there any more" in box.informativeText()
    box.close()
    assert driver.program.link.model == before
    assert driver.program.link.state is EngineState.READY


def delete(driver, folder):
    models = open_window(driver).controller.installed
    driver.until(lambda: any(model.path == folder for model in models.models or ()))
    driver.program.models.library.remove(folder)
    driver.until(lambda: not folder.exists())


def test_when_the_loaded_model_is_deleted_the_starter_takes_its_place(start, asked, tmp_path):
    folder = add_model(tmp_path, "another")
    ModelPreferences(tmp_path).set_default(folder)
    driver = start()
    driver.until(lambda: driver.program.queue.model is not None)
    delete(driver, folder)
    driver.until(lambda: driver.program.link.model == starter.shipped_recipe().id)
    driver.until(lambda: driver.program.link.state is EngineState.READY)


def test_when_the_loaded_starter_is_deleted_it_can_be_got_again(start, asked, tmp_path, monkeypatch):
    recipe = starter.shipped_recipe()
    folder = add_model(tmp_path, recipe.id)
    driver = start()
    driver.until(lambda: driver.program.queue.model is not None)
    monkeypatch.setattr(starter, "is_installed", lambda *_: False)
    got = []
    monkeypatch.setattr(driver.program.setup, "start", lambda: got.append(True))
    delete(driver, folder)
    driver.until(lambda: driver.program.presenter.status.missing)
    status = driver.program.presenter.status
    assert (status.name, status.action) == (recipe.name, "Get the model")
    driver.pane.empty.action.click()
    assert got == [True]
