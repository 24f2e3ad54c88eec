"""From an empty list to a loaded model, with the real services and a hub on this machine."""

from __future__ import annotations

from app.model_manager.row_state import Action
from mtplx_engine import paths
from mtplx_engine.hub import catalogue, settings
from mtplx_engine.hub.catalogue import Entry
from mtplx_engine.hub.settings import HubSettings
from mtplx_engine.models import starter
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, running

REPO = "makers/model"


def test_the_offered_model_is_fetched_and_loaded_by_itself_and_may_be_measured(start, tmp_path, monkeypatch):
    source = model_folder.write(tmp_path / "source")
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    monkeypatch.setattr(catalogue, "entries", lambda: (Entry("Model", REPO, "", "tests", 1),))
    monkeypatch.setattr(starter, "is_installed", lambda *_: False)
    with running(FakeHub({REPO: FakeRepo(files)})) as hub:
        settings.write_settings(tmp_path, HubSettings(hub.endpoint))
        driver = start()
        driver.window.menus.models.trigger()
        window = driver.program.models.window()
        driver.until(window.recommended.offer.isVisible)
        window.recommended.offer.button.click()
        driver.until(lambda: driver.program.queue.model is not None)
        folder = paths.models_dir(tmp_path) / "makers--model"
        assert driver.program.link.model == str(folder)
        assert (folder / "config.json").is_file()
        driver.until(lambda: [face.state for face in window.controller.installed.rows] == ["Loaded"])
        window.controller.installed.act_on_download("makers--model", Action.CLEAR)
        driver.until(lambda: not window.strip.isVisible())
        assert folder.is_dir()
        window.close()
        driver.activate()
        driver.until(driver.window.toast.isVisible)
        assert driver.window.toast.button.accessibleName().startswith("Measure: makers--model is ready.")


def test_the_model_that_the_main_window_offers_is_fetched_and_loaded(start, tmp_path, monkeypatch):
    source = model_folder.write(tmp_path / "source")
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    monkeypatch.setattr(catalogue, "entries", lambda: (Entry("Model", REPO, "", "tests", 1),))
    model_folder.write(paths.models_dir(tmp_path) / starter.shipped_recipe().id)
    with running(FakeHub({REPO: FakeRepo(files)})) as hub:
        settings.write_settings(tmp_path, HubSettings(hub.endpoint))
        driver = start()
        card = driver.program.first_card
        driver.until(card.isVisible)
        driver.until(lambda: driver.program.queue.model is not None)
        assert hub.asked == []  # nobody was asked for it
        card.get.click()
        folder = paths.models_dir(tmp_path) / "makers--model"
        driver.until(lambda: driver.program.link.model == str(folder))
        driver.until(card.isHidden)
        assert not driver.program.settings.value.first_offer
        assert not driver.program.models.window().isVisible()


def test_where_the_hub_does_not_have_it_the_models_window_says_so(start, tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "entries", lambda: (Entry("Model", REPO, "", "tests", 1),))
    model_folder.write(paths.models_dir(tmp_path) / starter.shipped_recipe().id)
    with running(FakeHub({})) as hub:
        settings.write_settings(tmp_path, HubSettings(hub.endpoint))
        driver = start()
        card = driver.program.first_card
        driver.until(card.isVisible)
        card.get.click()
        window = driver.program.models.window()
        driver.until(window.isVisible)
        driver.until(
            lambda: window.recommended.trouble.isVisible() or bool(window.recommended.list.cards[REPO].row.fit)
        )
        assert card.get.isEnabled()


def test_the_sidebar_leads_to_the_models(start):
    driver = start()
    driver.window.sidebar.models_button.click()
    assert driver.program.models.window().isVisible()
