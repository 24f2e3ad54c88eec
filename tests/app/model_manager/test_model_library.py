"""The models that there are: listed, checked, deleted and chosen without anybody waiting."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from app.model_manager.model_library import ModelLibrary
from app.services.engine_link import EngineLink
from app.services.engine_worker import EngineState
from mtplx_engine import paths
from mtplx_engine.errors import ErrorKind
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.models import library, manifest
from mtplx_engine.models.inspection import Tier
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.models.manifest import Manifest
from mtplx_engine.util import system
from mtplx_engine.util.system import Machine
from tests.support import model_folder
from tests.support.fake_host import fake_host_command
from tests.support.fake_script import Script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from mtplx_engine.models.folders import InstalledModel


PLAIN = Script()


class Bench:
    """A library, what it signalled, and an engine."""

    def __init__(self, qtbot: QtBot, data: Path, script: Script) -> None:
        self.data = data
        self.clients: list[EngineClient] = []
        self.heard: list[tuple[Any, ...]] = []
        self._qtbot = qtbot

        def make_client() -> EngineClient:
            self.clients.append(EngineClient(data / "logs", fake_host_command(script)))
            return self.clients[-1]

        self.link = EngineLink(make_client)
        self.library = ModelLibrary(data, self.link)
        for name in ("changed", "loadable", "verified", "removed", "failed"):
            getattr(self.library, name).connect(partial(self._hear, name))

    def _hear(self, name: str, *values: Any) -> None:
        self.heard.append((name, *values))

    def wait(self, name: str) -> tuple[Any, ...]:
        """Wait for a signal of that name, and return what it carried; it is not found again."""
        self.until(lambda: any(heard[0] == name for heard in self.heard))
        found = next(heard for heard in self.heard if heard[0] == name)
        self.heard.remove(found)
        return found[1:]

    def listed(self) -> tuple[InstalledModel, ...]:
        """Wait until models have been looked for, and return them."""
        self.wait("changed")
        return self.library.models

    def until(self, condition: Callable[[], object]) -> None:
        self._qtbot.waitUntil(lambda: bool(condition()), timeout=30_000)

    def load(self, name: str, state: EngineState = EngineState.READY) -> None:
        self.library.refresh()
        self.listed()
        self.link.start(name, self.data)
        self.until(lambda: self.link.state is state)

    def folder(self, name: str) -> Path:
        return paths.models_dir(self.data) / name


def install(data: Path, name: str) -> Path:
    folder = model_folder.write(paths.models_dir(data) / name)
    files = manifest.record_files(folder, sorted(path.name for path in folder.iterdir()))
    manifest.write_manifest(folder, Manifest(name, name.title(), "mit", "here", 1, files))
    return folder


@pytest.fixture
def bench(qtbot: QtBot, tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(script: Script = PLAIN) -> Bench:
        made.append(Bench(qtbot, tmp_path, script))
        return made[-1]

    for name in ("one", "two"):
        install(tmp_path, name)
    yield make
    for each in made:
        each.library.close()
        each.link.shutdown()


def test_models_are_listed_with_what_is_known_of_them(bench: Callable[..., Bench]) -> None:
    app = bench()
    ModelPreferences(app.data).note_use(app.folder("two"), 1_700_000_000)
    app.library.refresh()
    models = app.listed()
    assert [(model.name, model.title, model.complete) for model in models] == [
        ("one", "One", True),
        ("two", "Two", True),
    ]
    assert app.library.contents.default is None
    assert app.library.contents.used == {app.folder("two"): 1_700_000_000}


def test_the_default_is_chosen(bench: Callable[..., Bench]) -> None:
    app = bench()
    app.library.set_default(app.folder("two"))
    app.listed()
    assert app.library.contents.default == app.folder("two")
    app.library.set_default(None)
    app.listed()
    assert app.library.contents.default is None
    app.library.set_default(app.folder("three"))
    folder, error = app.wait("failed")
    assert (folder, error.kind) == (app.folder("three"), ErrorKind.NOT_FOUND)


def test_what_is_not_loaded_is_no_default(bench: Callable[..., Bench]) -> None:
    app = bench()
    (app.folder("two") / "run.py").write_text("")
    app.library.set_default(app.folder("two"))
    folder, error = app.wait("failed")
    assert (folder, error.kind) == (app.folder("two"), ErrorKind.REFUSED)
    assert ModelPreferences(app.data).default() is None


def test_every_byte_is_checked(bench: Callable[..., Bench]) -> None:
    app = bench()
    one, two = app.folder("one"), app.folder("two")
    app.library.verify(one)
    assert app.wait("verified") == (one, ())
    weights = one / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    app.library.verify(one)
    assert app.wait("verified") == (one, ("model.safetensors",))
    (two / manifest.MANIFEST_NAME).unlink()
    app.library.verify(two)
    folder, error = app.wait("failed")
    assert (folder, error.kind) == (two, ErrorKind.UNSUPPORTED)


def test_a_model_is_deleted_while_another_one_is_in_use(bench: Callable[..., Bench]) -> None:
    app = bench()
    app.load("one")
    app.library.remove(app.folder("two"))
    assert app.wait("removed") == (app.folder("two"),)
    models = app.listed()
    assert [model.name for model in models] == ["one"]
    assert not app.folder("two").exists()
    assert app.link.state is EngineState.READY
    assert len(app.clients) == 1


@pytest.mark.parametrize("state", [EngineState.READY, EngineState.LOADING], ids=["loaded", "loading"])
def test_a_model_in_use_is_unloaded_before_it_is_deleted(bench: Callable[..., Bench], state: EngineState) -> None:
    app = bench(Script(load_s=60) if state is EngineState.LOADING else Script())
    app.load("one", state)
    order: list[str] = []
    app.link.state_changed.connect(lambda now: order.append(now.name))
    app.library.removed.connect(lambda _folder: order.append("removed"))
    app.library.remove(app.folder("one"))
    assert app.wait("removed") == (app.folder("one"),)
    assert order == ["STARTING", "NO_MODEL", "removed"]
    assert not app.folder("one").exists()


def test_what_is_the_persons_own_is_never_deleted(bench: Callable[..., Bench], tmp_path: Path) -> None:
    app = bench()
    own = model_folder.write(tmp_path / "disk" / "mine")
    app.library.add_folder(tmp_path / "disk")
    models = app.listed()
    assert [model.path for model in models if model.place] == [own]
    app.library.remove(own)
    folder, error = app.wait("failed")
    assert (folder, error.kind) == (own, ErrorKind.NOT_FOUND)
    assert (own / "model.safetensors").exists()
    app.listed()
    assert app.library.contents.user_folders == {tmp_path / "disk"}
    app.library.forget_folder(tmp_path / "disk")
    models = app.listed()
    assert [model.name for model in models] == ["one", "two"]


def test_of_two_models_with_one_name_only_the_one_that_was_meant_is_touched(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    app = bench()
    twins = [model_folder.write(tmp_path / disk / "one") for disk in ("first", "second")]
    for twin in twins:
        app.library.add_folder(twin.parent)
        app.listed()
    app.library.set_default(twins[1])
    app.listed()
    assert app.library.contents.default == twins[1]
    app.library.verify(twins[0])
    folder, error = app.wait("failed")
    assert (folder, error.kind) == (twins[0], ErrorKind.UNSUPPORTED)  # it is not the one that we installed
    app.link.start(str(twins[1]), app.data)
    app.until(lambda: app.link.state is EngineState.READY)
    app.library.remove(app.folder("one"))
    assert app.wait("removed") == (app.folder("one"),)
    assert app.link.state is EngineState.READY
    assert all(twin.is_dir() for twin in twins)


def test_what_cannot_be_loaded_leaves_the_loaded_one_alone(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = bench()
    app.load("one")
    two = app.folder("two")
    app.library.check(two, anyway=False)
    app.until(lambda: ("loadable", two) in app.heard)
    monkeypatch.setattr(system, "this_machine", lambda: Machine(1 << 20, 1 << 20, packed=False, chunk=64))
    app.library.check(two, anyway=False)
    assert app.wait("failed")[1].kind is ErrorKind.TOO_BIG
    app.heard.clear()
    app.library.check(two, anyway=True)
    assert app.wait("loadable") == (two,)
    weights = two / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    app.library.check(two, anyway=True)
    assert app.wait("failed")[1].kind is ErrorKind.REFUSED
    shutil.rmtree(two)
    app.heard.clear()
    app.library.check(two, anyway=True)
    folder, error = app.wait("failed")
    assert (folder, error.kind) == (two, ErrorKind.NOT_FOUND)
    models = app.listed()  # what was listed was not so
    assert [model.name for model in models] == ["one"]
    assert app.link.state is EngineState.READY
    assert len(app.clients) == 1


def test_what_can_be_loaded_is_there_to_choose(bench: Callable[..., Bench]) -> None:
    app = bench()
    (app.folder("two") / "model.safetensors").unlink()
    assert app.library.choices() == ()
    app.library.refresh()
    app.listed()
    assert app.library.choices() == (("one", "One"),)


def test_an_older_look_that_ends_later_takes_nothing_back(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = bench()
    looked, go_on = threading.Event(), threading.Event()
    look = library.installed_models

    def slow(data: Path) -> tuple[InstalledModel, ...]:
        found = look(data)
        looked.set()
        go_on.wait(30)
        return found

    monkeypatch.setattr(library, "installed_models", slow)
    app.library.refresh()
    assert looked.wait(30)
    monkeypatch.setattr(library, "installed_models", look)
    shutil.rmtree(app.folder("two"))
    app.library.refresh()
    assert [model.name for model in app.listed()] == ["one"]
    go_on.set()
    app.until(lambda: not app.library._tasks.busy)
    assert [model.name for model in app.library.models] == ["one"]
    assert ("changed",) not in app.heard


def test_each_sound_folder_is_inspected(bench: Callable[..., Bench], qtbot: QtBot) -> None:
    app = bench()
    told: list[str] = []
    app.library.inspected.connect(lambda folder: told.append(folder.name))
    install(app.data, "a-gone")
    (app.folder("one") / "run.py").write_text("")
    app.library.refresh()
    app.listed()
    shutil.rmtree(app.folder("a-gone"))
    app.library.inspect()
    qtbot.waitUntil(lambda: told == ["one", "two"])
    tiers = {folder.name: found.tier for folder, found in app.library.inspections.items()}
    assert tiers["one"] is Tier.REFUSED
    assert tiers["two"] in (Tier.UNVERIFIED, Tier.NO_HEAD)


def test_after_the_end_no_inspection_is_told(bench: Callable[..., Bench], qtbot: QtBot) -> None:
    app = bench()
    app.library.refresh()
    app.listed()
    app.library.inspect()
    with qtbot.assertNotEmitted(app.library.inspected, wait=50):
        app.library.close()
