"""Models that several tests of the engine share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine.engine import Engine
from mtplx_engine.text import template
from tests.support import engine_runs, tiny_chat, tiny_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel


@pytest.fixture(scope="session", autouse=True)
def _template_process() -> None:
    """Start what all tests share, so that no test seems to leave it behind."""
    template.shared().start()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """A tiny random model; its tokens decode to one character each."""
    return tiny_chat.load(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random model with a head."""
    folder = tmp_path_factory.mktemp("model")
    tiny_folder.write(folder)
    return folder


@pytest.fixture
def engine(tiny_path: Path) -> Iterator[Engine]:
    """An engine with that model."""
    engine = Engine()
    engine_runs.load(engine, tiny_path)
    yield engine
    engine.unload()
