"""Another hub is chosen while the program runs: all that is asked and begun from then on goes there."""

from __future__ import annotations

import pytest

from app.model_manager.row_state import Action
from mtplx_engine import paths
from mtplx_engine.hub import catalogue, settings
from mtplx_engine.hub.catalogue import Entry
from mtplx_engine.hub.settings import HubSettings
from mtplx_engine.models import manifest
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, running

FIRST, SECOND = "makers/first", "makers/second"


@pytest.fixture
def hubs(tmp_path, monkeypatch):
    source = model_folder.write(tmp_path / "source")
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    large = files | {"README.md": bytes(3_000_000)}
    entries = (Entry("First", FIRST, "", "tests", 1), Entry("Second", SECOND, "", "tests", 1))
    monkeypatch.setattr(catalogue, "entries", lambda: entries)

    def hub(licence):
        repos = {FIRST: FakeRepo(large, licence=licence), SECOND: FakeRepo(files, licence=licence)}
        return FakeHub(repos)

    with running(hub("at-the-hub")) as one, running(hub("at-the-mirror")) as other:
        yield one, other


def choose(driver, address):
    page = driver.program.open_settings().network
    page.hub.setText(address)
    page.hub.editingFinished.emit()
    assert page.fault.text() == ""


def licence(manager, repo_id):
    look = manager.inspection_of(repo_id)
    return look.plan.target.licence if look else None


def test_the_window_follows_and_a_running_download_keeps_its_hub(start, tmp_path, hubs):
    hub, mirror = hubs
    settings.write_settings(tmp_path, HubSettings(hub.endpoint))
    driver = start()
    driver.window.menus.models.trigger()
    window = driver.program.models.window()
    manager = window.controller
    manager.search("second")
    manager.act_on_repo(SECOND, Action.DETAILS)
    driver.until(lambda: licence(manager, FIRST) == licence(manager, SECOND) == "at-the-hub")
    hub.pause_s = 0.02
    manager.act_on_repo(FIRST, Action.GET)
    driver.until(lambda: hub.sent > 200_000)
    before = len(hub.paths)
    choose(driver, mirror.endpoint)
    assert manager.inspection_of(SECOND) is None
    driver.until(lambda: licence(manager, FIRST) == licence(manager, SECOND) == "at-the-mirror")
    driver.until(lambda: [hit.id for hit in manager.hits or ()] == [SECOND])
    driver.until(lambda: "at-the-mirror" in window.details._about.text())
    assert manager.endpoint() == mirror.endpoint
    manager.act_on_repo(SECOND, Action.GET)
    folders = {name: paths.models_dir(tmp_path) / name.replace("/", "--") for name in (FIRST, SECOND)}
    driver.until(lambda: all((folder / manifest.MANIFEST_NAME).exists() for folder in folders.values()))
    sources = {name: manifest.read_manifest(folder).source for name, folder in folders.items()}
    assert sources[FIRST].startswith(hub.endpoint)
    assert sources[SECOND].startswith(mirror.endpoint)
    assert all("/resolve/" in path for path in hub.paths[before:])  # no question any more, only the download


def test_a_hidden_window_asks_when_it_is_opened(start, tmp_path, hubs):
    hub, mirror = hubs
    settings.write_settings(tmp_path, HubSettings(hub.endpoint))
    driver = start()
    driver.window.menus.models.trigger()
    window = driver.program.models.window()
    driver.until(lambda: licence(window.controller, SECOND) == "at-the-hub")
    window.close()
    choose(driver, mirror.endpoint)
    assert mirror.paths == []
    window.open_tab()
    driver.until(lambda: licence(window.controller, SECOND) == "at-the-mirror")
