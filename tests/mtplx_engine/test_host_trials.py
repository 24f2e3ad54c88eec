"""The host's loop with trials: they and answers wait for each other, and each ends with exactly one word."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.errors import ErrorKind
from mtplx_engine.host import EXIT_FAULT
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.ipc.protocol import (
    Abandoned,
    Cancel,
    Checked,
    CheckExactness,
    Failed,
    Finished,
    Load,
    Loaded,
    Measure,
    Measured,
    TrialProgress,
)
from mtplx_engine.measure.measurement import PromptKind
from mtplx_engine.measure.store import MeasurementStore
from tests.support import tiny_folder
from tests.support.fake_host import Panic, ScriptedEngine
from tests.support.fake_script import Script
from tests.support.host_app import PLAIN, ask, load, names, starting

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mtplx_engine.ipc.protocol import Event
    from tests.support.host_app import App


@pytest.fixture
def start() -> Iterator[Callable[..., App]]:
    with starting() as make:
        yield make


def measure(generation: int) -> Measure:
    return Measure(generation, (PromptKind.CHAT,), 1024, 64, 3)


def check(generation: int) -> CheckExactness:
    return CheckExactness(generation, prefixes=4, samples=100)


TRIALS = pytest.mark.parametrize(("trial", "result"), [(measure, Measured), (check, Checked)])


@TRIALS
def test_a_trial_waits_for_an_answer_and_an_answer_for_a_trial(start, trial, result: type) -> None:
    app = start(Script(trial_s=0.05))
    app.send(load(), ask(1), trial(2), ask(3))
    ended = [app.next(Finished, Measured, Checked, Failed, Abandoned) for _ in range(3)]
    assert names(ended) == ["Finished 1", f"{result.__name__} 2", "Finished 3"]


def test_what_a_trial_finds_comes_whole_after_word_of_how_far_it_is(start) -> None:
    app = start()
    app.send(load(), measure(1), check(2))
    told = [app.next(TrialProgress) for _ in range(10)]
    assert [event.generation for event in told] == [1] * 10
    assert app.next(Measured, Checked) == Measured(1, PLAIN.measurement)
    assert app.next(Measured, Checked) == Checked(2, PLAIN.report)


@TRIALS
def test_a_trial_is_cancelled_while_it_runs_and_while_it_waits(start, trial, result: type) -> None:
    app = start(Script(trial_s=600))
    app.send(load(), trial(1), trial(2), ask(3))
    app.next(TrialProgress)
    app.send(Cancel(2))
    assert app.next(Abandoned, Measured, Checked) == Abandoned(2)
    app.send(Cancel(1))
    assert app.next(Abandoned, Measured, Checked, Finished) == Abandoned(1)
    assert names([app.next(Abandoned, Measured, Checked, Finished)]) == ["Finished 3"]


@TRIALS
def test_a_trial_that_fails_leaves_the_engine_usable(start, trial, result: type) -> None:
    app = start(Script(trial_error="Nothing drafts for this model."))
    app.send(load(), trial(1), ask(2))
    failed = app.next(Failed)
    assert (failed.generation, failed.error.message) == (1, "Nothing drafts for this model.")
    assert names([app.next(Finished, Failed)]) == ["Finished 2"]


@TRIALS
def test_a_trial_without_a_model_fails_with_the_sentence_of_the_load(start, trial, result: type) -> None:
    app = start(Script(load_error="The file is damaged; fetch it again."))
    app.send(trial(1), load(), trial(2))
    early, loading, late = (app.next(Failed) for _ in range(3))
    assert (early.generation, early.error.kind) == (1, ErrorKind.NO_MODEL)
    assert (late.generation, late.error) == (2, loading.error)


class Panicking(ScriptedEngine):
    def measure(self, request: Measure, cancelled: threading.Event) -> Iterator[TrialProgress | Measured]:
        yield TrialProgress(request.generation, 0.5, "depth 1, chat", None)
        raise Panic


def test_a_panic_fails_the_measurement_and_discards_the_process(start) -> None:
    app = start(Panicking(PLAIN))
    app.send(load(), measure(7))
    failed = app.next(Failed, Measured)
    assert (failed.generation, failed.error.kind) == (7, ErrorKind.INTERNAL)
    assert app.end() == EXIT_FAULT


def test_the_real_process_measures_keeps_and_lets_go_when_it_is_cancelled(tmp_path: Path) -> None:
    model, data = tmp_path / "model", tmp_path / "data"
    model.mkdir()
    tiny_folder.write(model)
    tiny_folder.remember_head(model, data)
    request = Measure(1, (PromptKind.CODE,), context=128, tokens=16, pairs=3, depths=(2,))
    with EngineClient(tmp_path / "logs") as client:
        client.send(Load(str(model), str(data)))
        key = until(client, Loaded, Failed).info.speed_key
        client.send(request)
        client.send(dataclasses.replace(request, generation=2))
        found = until(client, Measured, Failed).measurement
        assert found.depths == (2,)
        assert MeasurementStore(data).latest(key) == found
        until(client, TrialProgress)
        client.send(Cancel(2))
        assert until(client, Abandoned, Measured, Failed) == Abandoned(2)
        client.send(ask(3))
        assert until(client, Finished, Failed).generation == 3
    assert MeasurementStore(data).latest(key) == found


def until(client: EngineClient, *kinds: type) -> Event:
    """Return the next event of one of `kinds`; skips the others."""
    while True:
        event = client.read(30)
        assert event is not None
        if isinstance(event, kinds):
            return event
