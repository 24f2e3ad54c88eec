"""From an empty list to a loaded model, with the real services and a hub on this machine."""

from __future__ import annotations

from app.model_manager.face import Action
from mtplx_engine import paths
from mtplx_engine.hub import catalogue
from mtplx_engine.hub import settings as hub_settings
from mtplx_engine.hub.catalogue import Entry
from mtplx_engine.hub.settings import HubSettings
from mtplx_engine.models import starter
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, running

REPO = "makers/model"


def test_the_offered_model_is_fetched_and_loaded_by_itself_and_may_be_measured(start, tmp_path, monkeypatch):
    source = model_folder.write(tmp_path / "source")
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    monkeypatch.setattr(catalogue, "entries", lambda: (Entry("Model", REPO, "", "tests"),))
    monkeypatch.setattr(starter, "is_installed", lambda *_: False)
    with running(FakeHub({REPO: FakeRepo(files)})) as hub:
        hub_settings.write(tmp_path, HubSettings(hub.endpoint))
        driver = start()
        driver.window.menus.models.trigger()
        window = driver.program.models.window()
        driver.until(window.recommended.offer.isVisible)
        window.recommended.offer.button.click()
        driver.until(lambda: driver.program.line.model is not None)
        folder = paths.models_dir(tmp_path) / "makers--model"
        assert driver.program.link.model == str(folder)
        assert (folder / "config.json").is_file()
        driver.until(lambda: [face.state for face in window.manager.keeper.faces] == ["Loaded"])
        window.manager.act_on_download("makers--model", Action.CLEAR)
        driver.until(lambda: not window.strip.isVisible())
        assert folder.is_dir()
        window.close()
        driver.activate()
        driver.until(driver.window.toast.isVisible)
        assert driver.window.toast.button.accessibleName().startswith("Measure: makers--model is ready.")
