"""One trial at a time, never beside an answer, and over at once when it is cancelled."""

from __future__ import annotations

import dataclasses

import pytest

from app.dashboard.benchmark_runner import BenchmarkRunner, Stage
from app.services.engine_worker import EngineState
from app.session.observers import IdleUnload
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import Abandoned, CheckExactness, Measure
from mtplx_engine.measure.measurement import PromptKind
from tests.support.fake_services import MODEL
from tests.support.measurements import measurement, report
from tests.support.session_bench import make_bench

OTHER = dataclasses.replace(MODEL, name="Other", path="/models/other")


class Bench:
    """Trials beside a chat, with an engine that the test plays."""

    def __init__(self):
        self.chat = make_bench()
        self.link, self.queue = self.chat.link, self.chat.line
        self.runner = BenchmarkRunner(self.queue, self.link)
        self.ends, self.loads = [], []
        self.runner.measured.connect(self.ends.append)
        self.runner.checked.connect(self.ends.append)
        self.runner.load_requested.connect(lambda *asked: self.loads.append(asked))
        self.link.become_ready()

    def measure(self, model=MODEL):
        request = Measure(next(self.queue.generations), (PromptKind.CHAT,), 1024, 64, 3)
        self.runner.start(request, model.path, model.name)
        return request

    @property
    def stage(self):
        return self.runner.trial.stage if self.runner.trial else None

    @property
    def waits(self):
        return self.chat.waits[self.chat.answer.id]


@pytest.fixture
def bench(qapp):
    made = Bench()
    yield made
    made.queue.deleteLater()  # which looks at the clock while an answer is awaited


def test_a_measurement_runs_at_once_when_nothing_is_answered(bench):
    request = bench.measure()
    assert bench.link.trials == [request]
    bench.link.show_trial(0.4, "depth 2, chat", 41.0)
    assert (bench.runner.trial.fraction, bench.runner.trial.step) == (0.4, "depth 2, chat")
    bench.link.end_measurement(measurement(2.0, 2.0, 2.0))
    assert bench.ends == [measurement(2.0, 2.0, 2.0)]
    assert bench.stage is None
    assert not bench.queue.held


def test_it_waits_for_the_answers_that_came_first(bench):
    bench.chat.actions.send("Why?")
    bench.measure()
    assert bench.stage is Stage.WAITING
    assert bench.link.trials == []
    bench.link.say("Because.")
    bench.link.finish()
    assert bench.stage is Stage.RUNNING
    assert len(bench.link.trials) == 1


def test_a_question_asked_meanwhile_waits_and_says_why(bench):
    bench.measure()
    bench.link.show_trial(0.5, left_s=41.0)
    bench.chat.actions.send("Why?")
    assert bench.link.asked == []
    assert bench.waits == "Waiting for the measurement in the Speed window: about 41 s…"
    bench.link.show_trial(0.9, left_s=7.0)
    assert bench.waits.endswith("about 7 s…")
    bench.link.end_measurement(measurement(1.0, 1.0, 1.0))
    assert len(bench.link.asked) == 1
    assert bench.waits == ""


def test_a_question_to_another_model_does_not_take_the_engine_away(bench):
    bench.measure()
    settings = dataclasses.replace(bench.chat.session.settings, model="other")
    bench.chat.session.set_settings(settings)
    bench.chat.actions.send("Why?")
    assert bench.link.loads == []
    bench.link.abandon()
    assert bench.link.loads == ["other"]


def test_cancel_ends_a_running_one_when_the_engine_says_so(bench):
    request = bench.measure()
    bench.runner.cancel()
    bench.runner.cancel()
    assert bench.link.cancelled == [request.generation]
    assert bench.stage is Stage.STOPPING
    bench.link.show_trial(0.9)
    assert bench.stage is Stage.STOPPING
    bench.link.abandon()
    assert bench.stage is None
    assert bench.runner.cancelled
    assert bench.runner.problem is None


def test_one_that_had_to_be_killed_was_cancelled_too(bench):
    bench.measure()
    bench.runner.cancel()
    bench.link.fail_trial("The engine did not stop in time.", ErrorKind.ENGINE_LOST)
    assert bench.runner.cancelled
    assert bench.runner.problem is None


def test_cancel_ends_a_waiting_one_at_once(bench):
    bench.chat.actions.send("Why?")
    bench.measure()
    bench.runner.cancel()
    assert bench.stage is None
    bench.link.say("Because.")
    bench.link.finish()
    assert bench.link.trials == []


def test_a_failure_is_kept_until_the_next_one(bench):
    bench.measure()
    bench.link.fail_trial("The engine stopped; nothing of what it measured is kept.")
    assert bench.runner.problem.message.startswith("The engine stopped")
    assert not bench.queue.held
    bench.measure()
    assert bench.runner.problem is None


def test_another_model_is_loaded_first(bench):
    bench.measure(OTHER)
    assert bench.stage is Stage.LOADING
    assert bench.loads == [("/models/other", "Other", False)]
    bench.link.become(EngineState.STARTING)
    bench.chat.actions.send("Why?")
    bench.link.become_ready(OTHER)
    assert bench.stage is Stage.RUNNING
    assert bench.link.asked == []


def test_a_model_that_cannot_be_loaded_is_not_measured(bench):
    bench.measure(OTHER)
    bench.link.fail_to_load("It needs 24 GB of 16 GB.")
    assert bench.stage is None
    assert bench.runner.problem.message == "It needs 24 GB of 16 GB."


def test_an_engine_that_is_given_up_ends_it(bench):
    bench.measure(OTHER)
    bench.link.lost.emit(ErrorInfo(ErrorKind.ENGINE_LOST, "The engine stopped 4 times."))
    bench.link.become(EngineState.GAVE_UP)
    assert bench.runner.problem.message == "The engine stopped 4 times."


def test_a_third_model_in_between_ends_it(bench):
    bench.measure(OTHER)
    bench.link.become_ready(MODEL)
    assert bench.runner.problem.message == "Another model was loaded, so nothing was measured."


def test_a_model_that_rests_is_loaded_for_it(bench):
    bench.link.become(EngineState.NO_MODEL)
    bench.measure()
    assert bench.loads == [("/models/toy", "Toy", False)]


def test_an_idle_unload_never_cuts_it_off(bench):
    idle = IdleUnload(bench.queue, bench.link)
    idle.set_minutes(1)
    bench.measure()
    idle._clock.timeout.emit()
    assert bench.link.unloads == 0
    bench.link.abandon()
    idle._clock.timeout.emit()
    assert bench.link.unloads == 1


def test_a_check_ends_with_its_report(bench):
    bench.runner.start(CheckExactness(next(bench.queue.generations), 8, 200), MODEL.path, MODEL.name)
    bench.link.end_check(report())
    assert bench.ends == [report()]


def test_events_of_another_generation_are_not_about_it(bench):
    request = bench.measure()
    bench.link.happened.emit(Abandoned(request.generation + 1))
    assert bench.stage is Stage.RUNNING
