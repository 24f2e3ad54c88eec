"""The models that there are: listed, checked, deleted and chosen without anybody waiting."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from app.services.engine_link import EngineLink, EngineState
from app.services.model_shelf import ModelShelf
from mtplx_engine import paths
from mtplx_engine.client import EngineClient
from mtplx_engine.errors import ErrorKind
from mtplx_engine.models import manifest
from mtplx_engine.models.habits import Habits
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder
from tests.support.fake_host import Script, fake_host_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytestqt.qtbot import QtBot


PLAIN = Script()


class Bench:
    """A shelf, what it signalled, and an engine."""

    def __init__(self, qtbot: QtBot, data: Path, script: Script) -> None:
        self.data = data
        self.clients: list[EngineClient] = []
        self.heard: list[tuple[Any, ...]] = []
        self._qtbot = qtbot

        def make_client() -> EngineClient:
            self.clients.append(EngineClient(data / "logs", fake_host_command(script)))
            return self.clients[-1]

        self.link = EngineLink(make_client)
        self.shelf = ModelShelf(data, self.link)
        for name in ("listed", "verified", "removed", "failed"):
            getattr(self.shelf, name).connect(partial(self._hear, name))

    def _hear(self, name: str, *values: Any) -> None:
        self.heard.append((name, *values))

    def wait(self, name: str) -> tuple[Any, ...]:
        """Wait for a signal of that name, and return what it carried; it is not found again."""
        self.until(lambda: any(heard[0] == name for heard in self.heard))
        found = next(heard for heard in self.heard if heard[0] == name)
        self.heard.remove(found)
        return found[1:]

    def until(self, condition: Callable[[], object]) -> None:
        self._qtbot.waitUntil(lambda: bool(condition()), timeout=30_000)

    def load(self, name: str, state: EngineState = EngineState.READY) -> None:
        self.shelf.refresh()
        self.wait("listed")
        self.link.start(name, self.data)
        self.until(lambda: self.link.state is state)

    def folder(self, name: str) -> Path:
        return paths.models_dir(self.data) / name


def install(data: Path, name: str) -> Path:
    folder = model_folder.write(paths.models_dir(data) / name)
    files = manifest.record(folder, sorted(path.name for path in folder.iterdir()))
    manifest.write(folder, Manifest(name, name.title(), "mit", "here", 1, files))
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
        each.shelf.close()
        each.link.shutdown()


def test_models_are_listed_with_what_is_known_of_them(bench: Callable[..., Bench]) -> None:
    app = bench()
    Habits(app.data).note_use(app.folder("two"), 1_700_000_000)
    app.shelf.refresh()
    [models] = app.wait("listed")
    assert [(model.name, model.title, model.complete) for model in models] == [
        ("one", "One", True),
        ("two", "Two", True),
    ]
    assert app.shelf.shelf.default is None
    assert app.shelf.shelf.used == {app.folder("two"): 1_700_000_000}


def test_the_default_is_chosen(bench: Callable[..., Bench]) -> None:
    app = bench()
    app.shelf.set_default("two")
    app.wait("listed")
    assert app.shelf.shelf.default == app.folder("two")
    app.shelf.set_default("")
    app.wait("listed")
    assert app.shelf.shelf.default is None
    app.shelf.set_default("three")
    name, error = app.wait("failed")
    assert (name, error.kind) == ("three", ErrorKind.NOT_FOUND)


def test_every_byte_is_checked(bench: Callable[..., Bench]) -> None:
    app = bench()
    app.shelf.verify("one")
    assert app.wait("verified") == ("one", ())
    weights = app.folder("one") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    app.shelf.verify("one")
    assert app.wait("verified") == ("one", ("model.safetensors",))
    (app.folder("two") / manifest.NAME).unlink()
    app.shelf.verify("two")
    name, error = app.wait("failed")
    assert (name, error.kind) == ("two", ErrorKind.UNSUPPORTED)


def test_a_model_is_deleted_while_another_one_is_in_use(bench: Callable[..., Bench]) -> None:
    app = bench()
    app.load("one")
    app.shelf.remove("two")
    assert app.wait("removed") == ("two",)
    [models] = app.wait("listed")
    assert [model.name for model in models] == ["one"]
    assert not app.folder("two").exists()
    assert app.link.state is EngineState.READY
    assert len(app.clients) == 1


@pytest.mark.parametrize("state", [EngineState.READY, EngineState.LOADING], ids=["loaded", "loading"])
def test_a_model_in_use_is_unloaded_before_it_is_deleted(
    bench: Callable[..., Bench], state: EngineState
) -> None:
    app = bench(Script(load_s=60) if state is EngineState.LOADING else Script())
    app.load("one", state)
    order: list[str] = []
    app.link.state_changed.connect(lambda now: order.append(now.name))
    app.shelf.removed.connect(lambda _name: order.append("removed"))
    app.shelf.remove("one")
    assert app.wait("removed") == ("one",)
    assert order == ["STARTING", "NO_MODEL", "removed"]
    assert not app.folder("one").exists()


def test_what_is_the_persons_own_is_never_deleted(bench: Callable[..., Bench], tmp_path: Path) -> None:
    app = bench()
    own = model_folder.write(tmp_path / "disk" / "mine")
    app.shelf.add_place(tmp_path / "disk")
    [models] = app.wait("listed")
    assert [model.path for model in models if model.place] == [own]
    app.shelf.remove("mine")
    name, error = app.wait("failed")
    assert (name, error.kind) == ("mine", ErrorKind.NOT_FOUND)
    assert (own / "model.safetensors").exists()
    app.shelf.forget_place(tmp_path / "disk")
    [models] = app.wait("listed")
    assert [model.name for model in models] == ["one", "two"]
