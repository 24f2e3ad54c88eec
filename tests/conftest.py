"""What every test gets: Qt without a screen, and a check that nothing keeps running afterwards."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from mtplx_engine import paths
from mtplx_engine.models import starter
from tests.support import leaks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before any Qt import
os.environ["HF_HUB_CACHE"] = "/nowhere"  # the models that a developer has there are no part of a test

# A busy machine is no fault of a test, and a green run stays green: new examples are searched for by
# `make test-long`, with the profile "searching".
_calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("calm", _calm, derandomize=True)
settings.register_profile("searching", _calm, max_examples=500)
settings.load_profile("calm")

# A shell starts what it puts into the background with these ignored, and so would be the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with leaks.no_leaks(leaks.recording(monkeypatch)):
        yield


@pytest.fixture(scope="session")
def starter_dir() -> Path:
    """The folder of the starter model, set up first when it is not there."""
    return starter.ensure(paths.data_dir(), lambda *_: None)
