"""The host's loop with a scripted engine, in process: order, cancel at every stage, faults, the exit; then trials."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.config import ChatMessage
from mtplx_engine.errors import ErrorKind
from mtplx_engine.host import EXIT_FAULT
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.ipc.protocol import (
    Abandoned,
    Cancel,
    Checked,
    CheckExactness,
    Count,
    Counted,
    Failed,
    Finished,
    Generate,
    Heartbeat,
    Hello,
    Load,
    Loaded,
    LoadProgress,
    Measure,
    Measured,
    PrefillProgress,
    Shutdown,
    Tokens,
    TrialProgress,
    Unload,
)
from mtplx_engine.measure.measurement import PromptKind
from mtplx_engine.measure.store import MeasurementStore
from mtplx_engine.stats import FinishReason
from tests.support import tiny_folder
from tests.support.fake_host import Panic, ScriptedEngine
from tests.support.fake_script import Script
from tests.support.host_app import PLAIN, SECRET, ask, load, names, starting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mtplx_engine.ipc.protocol import Event
    from tests.support.host_app import App


@pytest.fixture
def start() -> Iterator[Callable[..., App]]:
    with starting() as make:
        yield make


def test_what_is_advised_against_is_loaded_anyway(start) -> None:
    app = start(Script(load_error="It will not fit."))
    app.send(load())
    assert isinstance(app.next(Failed, Loaded), Failed)
    app.send(replace(load(), anyway=True))
    assert isinstance(app.next(Failed, Loaded), Loaded)


def test_a_request_sent_with_the_load_is_answered_after_it(start) -> None:
    app = start(Script(load_s=0.05))
    app.send(load(), ask(1))
    assert isinstance(app.next(LoadProgress, Loaded), LoadProgress)
    assert isinstance(app.next(Loaded, PrefillProgress), Loaded)
    assert isinstance(app.next(PrefillProgress, Tokens), PrefillProgress)
    text, event = "", app.next(Tokens)
    while isinstance(event, Tokens):
        text += event.text
        event = app.next(Tokens, Finished)
    assert text == PLAIN.answer
    assert event.reason is FinishReason.END
    assert sum(event.stats.accepted_at) == event.stats.accepted > 0


def test_the_heart_beats_while_the_model_works(start) -> None:
    app = start(Script(prefill_s=5))
    app.send(load(), ask(1))
    app.next(PrefillProgress)
    assert isinstance(app.next(Heartbeat, PrefillProgress, Finished), Heartbeat)


def test_an_answer_that_waits_is_cancelled_at_once_without_tokens(start) -> None:
    app = start(Script(load_s=60))
    app.send(load(), ask(1), ask(2), Cancel(2))
    event = app.next(Finished, Tokens, Loaded)
    assert isinstance(event, Finished)
    assert (event.generation, event.reason) == (2, FinishReason.CANCELLED)
    assert event.stats.emitted == 0


def test_an_answer_is_cancelled_in_prefill(start) -> None:
    app = start(Script(prefill_s=60))
    app.send(load(), ask(1))
    app.next(PrefillProgress, Loaded)
    app.send(Cancel(1))
    event = app.next(Finished, Tokens)
    assert isinstance(event, Finished)
    assert event.reason is FinishReason.CANCELLED


def test_an_answer_is_cancelled_while_decoding_and_the_next_one_is_whole(start) -> None:
    app = start(Script(cycle_s=0.02))
    app.send(load(), ask(1))
    app.next(Tokens)
    app.send(Cancel(1), ask(2))
    first, second = app.next(Finished), app.next(Finished)
    assert (first.generation, first.reason) == (1, FinishReason.CANCELLED)
    assert (second.generation, second.reason) == (2, FinishReason.END)
    assert first.stats.emitted < second.stats.emitted


def test_cancelling_what_is_over_or_unknown_does_nothing(start) -> None:
    app = start()
    app.send(load(), ask(1))
    app.next(Finished)
    app.send(Cancel(1), Cancel(77), ask(2))
    assert app.next(Finished, Failed).reason is FinishReason.END


def test_a_load_replaces_the_unfinished_one_and_answers_go_to_the_new_model(start) -> None:
    app = start(Script(load_s=0.2))
    app.send(load("first"), ask(1))
    app.next(LoadProgress)
    app.send(load("second"))
    assert names(app.until_answered(3)) == ["Unloaded ", "second", "Finished 1"]


def test_every_load_is_answered_once(start) -> None:
    app = start(Script(load_s=0.1))
    app.send(load("a"), load("b"), load("c"))
    assert names(app.until_answered(3)) == ["Unloaded ", "Unloaded ", "c"]


def test_an_unload_ends_the_load_and_answers_then_lack_a_model(start) -> None:
    app = start(Script(load_s=60))
    app.send(load())
    app.next(LoadProgress)
    app.send(Unload(), ask(1))
    events = app.until_answered(3)
    assert names(events) == ["Unloaded ", "Unloaded ", "Failed 1"]
    assert events[-1].error.kind is ErrorKind.NO_MODEL


def test_a_failed_load_fails_what_waits_for_it_with_the_same_sentence(start) -> None:
    app = start(Script(load_error="The file is damaged; fetch it again."))
    app.send(load(), ask(1))
    loading, answer = app.until_answered(2)
    assert isinstance(loading, Failed)
    assert isinstance(answer, Failed)
    assert (loading.generation, answer.generation) == (None, 1)
    assert answer.error == loading.error
    assert answer.error.message == "The file is damaged; fetch it again."


def test_a_failed_answer_leaves_the_engine_usable(start) -> None:
    app = start(Script(answer_error="The model produced no number."))
    app.send(load(), ask(1), ask(2))
    assert names(app.until_answered(3)) == ["model", "Failed 1", "Failed 2"]


def test_a_panic_fails_the_answer_and_discards_the_process(start) -> None:
    app = start(Script(panic_after=1))
    app.send(load(), ask(1))
    error = app.next(Failed).error
    assert error.kind is ErrorKind.INTERNAL
    assert "Panic" in error.details
    assert SECRET not in error.message + error.details  # the panic quoted the question
    with pytest.raises(EOFError):
        app.next(Loaded)
    assert app.end() == EXIT_FAULT


def test_an_engine_that_cannot_be_made_is_a_failed_load(start) -> None:
    app = start(ImportError("libmlx is missing"))
    app.send(load())
    error = app.next(Failed).error
    assert error.kind is ErrorKind.INTERNAL
    assert "libmlx is missing" in error.details
    assert app.end() == EXIT_FAULT


@pytest.mark.parametrize("script", [PLAIN, Script(load_s=60), Script(prefill_s=60), Script(cycle_s=0.1)])
def test_shutdown_ends_the_host_at_every_stage(start, script: Script) -> None:
    app = start(script)
    app.send(load(), ask(1))
    app.next(LoadProgress)
    app.send(Shutdown())
    with pytest.raises(EOFError):
        app.next(Hello)
    assert app.end() == 0


def test_the_end_of_the_app_ends_the_host_even_when_the_engine_hears_nothing(start) -> None:
    app = start(Script(deaf_after=0))
    app.send(load(), ask(1))
    app.next(PrefillProgress)
    assert app.end() == 0


def test_an_app_that_sends_events_is_hung_up_on(start) -> None:
    app = start()
    app.channel.send(Heartbeat())
    with pytest.raises(EOFError):
        app.next(Loaded)
    assert app.end() == EXIT_FAULT


class Unsound(ScriptedEngine):
    def generate(self, request: Generate, cancelled: threading.Event) -> Iterator[Tokens]:
        yield Tokens(request.generation, (1,), "a", 0, 0, float("nan"))


def test_a_number_that_cannot_be_sent_is_a_fault_and_not_a_hang(start) -> None:
    app = start(Unsound(PLAIN))
    app.send(load(), ask(1))
    assert app.next(Failed, Tokens).error.kind is ErrorKind.INTERNAL
    assert app.end() == EXIT_FAULT


def test_prompts_are_counted_while_an_answer_is_written(start) -> None:
    app = start(Script(cycle_s=0.05))
    app.send(Count(1, (ChatMessage("user", "too early"),)))
    assert app.next(Counted) == Counted(1, None)
    app.send(load(), ask(1))
    app.next(Tokens)
    app.send(Count(2, (ChatMessage("user", "one two"), ChatMessage("user", "three")), ("four five",)))
    assert app.next(Counted, Finished) == Counted(2, 3, (2,))


def test_a_newer_count_replaces_one_that_waits(start) -> None:
    engine = Slow(PLAIN)
    app = start(engine)
    app.send(load())
    app.next(Loaded)
    app.send(Count(0, ()))
    assert engine.counting.wait(10)
    app.send(*(Count(number, ()) for number in range(1, 5)), load())
    app.next(Loaded)  # so all of them have come
    engine.go_on.set()
    assert [app.next(Counted).request for _ in range(2)] == [0, 4]


def test_a_count_that_panics_is_no_number_and_the_next_one_is(start) -> None:
    app = start(Uncountable(PLAIN))
    app.send(load())
    app.next(Loaded)
    app.send(Count(1, ()))
    assert app.next(Counted) == Counted(1, None)
    app.send(Count(2, ()))
    assert app.next(Counted) == Counted(2, 0)


class Slow(ScriptedEngine):
    """Counts when it is told to."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.counting = threading.Event()
        self.go_on = threading.Event()

    def count(self, request: Count) -> Counted:
        self.counting.set()
        assert self.go_on.wait(10)
        return super().count(request)


class Uncountable(ScriptedEngine):
    """Cannot count the first time."""

    def count(self, request: Count) -> Counted:
        if request.request == 1:
            raise Panic(SECRET)
        return super().count(request)


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


def test_the_result_of_a_trial_comes_after_its_progress(start) -> None:
    app = start()
    app.send(load(), measure(1), check(2))
    progress = [app.next(TrialProgress) for _ in range(10)]
    assert [event.generation for event in progress] == [1] * 10
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
        client.send(replace(request, generation=2))
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
