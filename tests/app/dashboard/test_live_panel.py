"""The panel: it follows the engine while it is seen, and nothing in it jumps."""

from __future__ import annotations

import dataclasses
import threading

import pytest
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication

from app.dashboard.live_panel import LivePanel
from app.dashboard.live_stats import LiveFeed, PowerWatch
from app.services.engine_worker import EngineState
from app.widgets.layouts import ColumnArea
from mtplx_engine.ipc.protocol import DepthChosen, DepthReason, Finished, Heartbeat, PrefillProgress, Tokens
from mtplx_engine.measure.measurement import FEW_STEPS
from mtplx_engine.stats import DecodeStats, FinishReason
from mtplx_engine.util.system import Power, SystemState
from tests.support.cut_off import cut_off
from tests.support.fake_services import MODEL, FakeLink, FakeQueue


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def link(qapp):
    return FakeLink()


@pytest.fixture
def power(qapp):
    watch = PowerWatch(read=lambda: SystemState(power=Power.MAINS))
    yield watch
    watch.want(on=False)


@pytest.fixture
def panel(theme, qtbot, link, clock, power):
    queue = FakeQueue()
    link.happened.connect(queue.take)
    panel = LivePanel(theme, LiveFeed(link, queue, clock=clock), power)
    queue.setParent(panel)
    qtbot.addWidget(panel)
    panel.resize(640, 520)
    return panel


def write(link, clock, cycles, generation=1):
    for _ in range(cycles):
        clock.now += 0.02
        link.happened.emit(Tokens(generation, (1, 2, 3), "x", 2, 2, clock.now))


def values(panel):
    return [tile.value.text() for tile in panel.tiles]


def test_it_shows_what_the_engine_tells(panel, link, clock, qtbot):
    panel.show()
    assert panel.state.text() == "No answer yet. Ask something in a chat, and its figures show here."
    qtbot.waitUntil(lambda: panel.supply.text() == "mains")
    link.become_ready()
    link.happened.emit(Heartbeat(4_200_000_000))
    link.happened.emit(DepthChosen(1, 2, DepthReason.FASTEST, 1.4))
    link.happened.emit(PrefillProgress(1, 100, 900, 0))
    qtbot.waitUntil(lambda: panel.state.text() == "Reading 100 of 900 tokens")
    write(link, clock, 100)
    qtbot.waitUntil(lambda: values(panel) == ["150 tok/s", "3.0 per step", "100 %"])
    assert panel.state.text() == "Toy is answering"
    assert panel.drafting.text() == "depth 2: expected 1.40x"
    assert panel.memory.text() == "4.2 GB"
    assert panel.positions.chart_data.accepted_at == (100, 100)
    assert panel.steps.chart_data.steps == (0, 0, 100)
    assert panel._steps.heading.text() == "Drafts accepted in a step, of 100 steps"
    assert not panel.strip.chart_data.empty_text
    stats = DecodeStats(emitted=300, verify_steps=100, drafted=200, accepted=200, accepted_at=(100, 100))
    link.happened.emit(Finished(1, FinishReason.END, stats))
    qtbot.waitUntil(lambda: panel.state.text() == "Last answer, just now")
    assert values(panel)[1:] == ["3.0 per step", "100 %"]


@pytest.mark.parametrize("cycles", [0, 4, 200])
def test_nothing_is_cut_off_at_the_minimum_size_of_the_window(panel, link, clock, cycles):
    page = ColumnArea()
    page.fill([panel])
    page.resize(640, 440)
    page.show()
    link.become_ready(dataclasses.replace(MODEL, name="A model with a rather long name 4B · 4-bit " * 3))
    link.happened.emit(DepthChosen(1, 2, DepthReason.FASTEST, 1.4))
    write(link, clock, cycles)
    panel._refresh()
    QApplication.processEvents()
    assert cut_off(page) == []
    panel.setParent(None)  # the panel outlives its page
    page.close()
    few = "only " if 0 < cycles < FEW_STEPS else ""
    assert panel._steps.heading.text().endswith(f"of {few}{cycles} steps" if cycles else "in a step")


def test_what_comes_while_nobody_looks_is_there_when_it_is_opened(panel, link, clock):
    link.become_ready()
    write(link, clock, 100)
    assert values(panel) == ["–", "–", "–"]  # nothing was spent on it
    panel.show()
    assert values(panel) == ["150 tok/s", "3.0 per step", "100 %"]


def test_two_hundred_events_a_second_are_few_updates(panel, link, clock, monkeypatch):
    panel.show()
    updates = []
    monkeypatch.setattr(panel.positions, "show_data", updates.append)
    write(link, clock, 200)
    assert len(updates) <= 1


def test_no_engine_has_no_memory_and_another_model_makes_figures_old(panel, link, clock, qtbot):
    panel.show()
    link.become_ready()
    link.happened.emit(Heartbeat(1_000_000_000))
    write(link, clock, 60)
    link.happened.emit(Finished(1, FinishReason.END, DecodeStats(emitted=180)))
    link.become(EngineState.NO_MODEL)
    qtbot.waitUntil(lambda: panel.memory.text() == "–")
    link.loaded.emit(MODEL)
    qtbot.waitUntil(lambda: panel.state.text().startswith("Last answer"))
    link.loaded.emit(dataclasses.replace(MODEL, path="/models/other"))
    qtbot.waitUntil(lambda: panel.state.text().startswith("An earlier answer"))
    assert all(tile.value.property("tone") == "tertiary" for tile in panel.tiles)


def test_nothing_moves_when_figures_come(panel, link, clock, qtbot):
    panel.show()
    link.become_ready()
    before = [widget.geometry() for widget in (*panel.tiles, panel.drafting, panel.memory, panel.strip.parentWidget())]
    link.happened.emit(DepthChosen(1, 0, DepthReason.TURNED_OFF, 0.6))
    write(link, clock, 300)
    qtbot.waitUntil(lambda: values(panel)[0] == "150 tok/s")
    after = [widget.geometry() for widget in (*panel.tiles, panel.drafting, panel.memory, panel.strip.parentWidget())]
    assert after == before


def test_a_screen_reader_hears_what_each_figure_is(panel, link, clock, qtbot):
    panel.show()
    write(link, clock, 100)
    qtbot.waitUntil(lambda: panel.tiles[2].caption.text() == "accepted, 200 of 200 drafted")
    interface = QAccessible.queryAccessibleInterface(panel.tiles[2].value)
    assert "accepted, 200 of 200 drafted" in interface.text(QAccessible.Text.Name)
    assert panel.drafting.accessibleName() == "Drafting"


# ---------------------------------------------------------------- power


def test_power_is_looked_at_on_another_thread_and_only_while_it_is_wanted(qtbot):
    threads, answers = [], [SystemState(), SystemState(power=Power.BATTERY), OSError("pmset is gone")]

    def look():
        threads.append(threading.current_thread())
        outcome = answers[len(threads) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    watch = PowerWatch(read=look)
    assert watch.state is None
    watch.want(on=True)
    watch.want(on=True)
    qtbot.waitUntil(lambda: watch.state == SystemState())
    watch._timer.timeout.emit()
    qtbot.waitUntil(lambda: watch.state == SystemState(power=Power.BATTERY))
    watch._timer.timeout.emit()
    qtbot.waitUntil(lambda: watch.state is None)  # unknown again, and no fault of anybody
    watch.want(on=False)
    assert not watch._timer.isActive()
    assert watch._timer.interval() == 30_000
    assert len(threads) == 3
    assert threading.main_thread() not in threads


def test_a_look_that_hangs_keeps_nobody_waiting(qtbot):
    let_go = threading.Event()
    watch = PowerWatch(read=lambda: let_go.wait(5) and SystemState())
    watch.want(on=True)
    watch._timer.timeout.emit()  # one look at a time
    watch.want(on=False)
    let_go.set()
    assert watch.state is None
