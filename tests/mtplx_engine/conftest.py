"""Models that several tests of the engine share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine import template
from tests.support import tiny_chat

if TYPE_CHECKING:
    from mtplx_engine.models.loader import LoadedModel


@pytest.fixture(scope="session", autouse=True)
def _template_process() -> None:
    """Start what all tests share, so that no test seems to leave it behind."""
    template.shared().start()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """A tiny random model; its tokens decode to one character each."""
    return tiny_chat.load(tmp_path_factory.mktemp("tiny"))
