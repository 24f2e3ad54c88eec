"""The same with nothing played: a measurement and a check by the real engine process, on a model that is small."""

from __future__ import annotations

from functools import partial

import pytest

from app.application import Application
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.ipc.protocol import Measure
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import PromptKind
from mtplx_engine.measure.store import MeasurementStore
from mtplx_engine.models.library import ModelPreferences
from tests.support.toy import TOY

_PATIENCE_MS = 120_000


@pytest.fixture
def driver(qapp, tmp_path, drive):
    ModelPreferences(tmp_path).set_default(TOY)
    logs = tmp_path / "logs"
    return drive(lambda: Application(qapp, tmp_path, logs, partial(EngineClient, logs)))


def test_a_real_measurement_ends_in_a_result_card(driver, qtbot, tmp_path):
    speed = driver.program.speed
    driver.until(lambda: driver.program.queue.model is not None)
    driver.window.menus.speed.trigger()
    page = speed.window().pages[1]
    speed.window().open_tab(page)
    request = Measure(next(driver.program.queue.generations), (PromptKind.COPY,), 320, 24, 3, depths=(2,))
    speed.runner.start(request, str(TOY), "Toy")
    assert page.progress.isVisible()
    qtbot.waitUntil(lambda: speed.runner.trial is None, timeout=_PATIENCE_MS)
    assert speed.runner.problem is None, speed.runner.problem
    assert page.result.isVisible()
    (kept,) = MeasurementStore(tmp_path).all()
    assert kept == speed.measuring.shown
    assert kept.subject.key == driver.program.queue.model.speed_key
    assert kept.kinds == (PromptKind.COPY,)
    best = results.results_of(kept).headline
    assert best.identical == (3, 3)
    assert page.result.headline.text()
    assert page.result.facts["identical"].text() == "identical 3/3"
