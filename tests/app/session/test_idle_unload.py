"""The model's memory is free after a while without a question, and the next question finds it loaded."""

from __future__ import annotations

import pytest

from app.chat.conversation import MessageStatus
from app.services.engine_worker import EngineState
from app.session.actions import ChatActions
from app.session.observers import IdleUnload
from app.session.queue import GenerationQueue
from app.session.session import ChatSession
from mtplx_engine.errors import ErrorKind
from tests.support.fake_services import FakeLink, FakeStore


class Bench:
    """A real queue and session, and a timer that the test fires."""

    def __init__(self):
        self.link = FakeLink()
        self.queue = GenerationQueue(self.link)
        self.store = FakeStore()
        self.session = ChatSession(self.store, self.queue)
        self.actions = ChatActions(self.session, self.store, self.queue)
        self.idle = IdleUnload(self.queue, self.link)
        self.idle.set_minutes(15)

    @property
    def waits_ms(self):
        """How long it waits altogether, None when it does not."""
        return self.idle._clock.interval() if self.idle._clock.isActive() else None

    def pass_the_time(self):
        self.idle._clock.timeout.emit()

    def answer(self):
        return self.session.shown.path()[-1]


@pytest.fixture
def bench(qapp):
    made = Bench()
    yield made
    made.idle.deleteLater()
    made.queue.deleteLater()


def test_it_waits_only_while_a_model_is_in(bench):
    assert bench.waits_ms is None
    bench.link.become(EngineState.LOADING)
    assert bench.waits_ms is None
    bench.link.become_ready()
    assert bench.waits_ms == 15 * 60_000
    bench.idle.set_minutes(5)
    assert bench.waits_ms == 5 * 60_000
    bench.idle.set_minutes(0)
    assert bench.waits_ms is None
    bench.idle.set_minutes(5)
    bench.link.become(EngineState.GAVE_UP)
    assert bench.waits_ms is None


def test_a_long_answer_is_not_cut_off(bench):
    bench.link.become_ready()
    bench.actions.send("Why?")
    bench.pass_the_time()
    assert bench.link.unloads == 0
    assert bench.waits_ms == 15 * 60_000
    bench.session.stop()
    bench.pass_the_time()
    assert bench.link.unloads == 1


def test_the_next_question_loads_it_again_and_is_answered(bench):
    bench.link.become_ready()
    bench.pass_the_time()
    bench.link.become(EngineState.STARTING)
    bench.link.become(EngineState.NO_MODEL)
    assert (bench.link.unloads, bench.link.restarts) == (1, 0)
    bench.actions.send("Why?")
    assert bench.link.restarts == 1
    assert bench.session.busy
    bench.link.become(EngineState.STARTING)
    bench.link.become_ready()
    assert len(bench.link.asked) == 1


def test_what_the_user_unloads_stays_unloaded(bench):
    bench.link.become_ready()
    bench.link.unload()
    bench.link.become(EngineState.NO_MODEL)
    bench.actions.send("Why?")
    assert bench.link.restarts == 0
    assert bench.answer().status is MessageStatus.ERROR
    fault = bench.session.fault(bench.answer())
    assert fault is not None
    assert fault.kind is ErrorKind.ENGINE_LOST  # whose button is Restart
