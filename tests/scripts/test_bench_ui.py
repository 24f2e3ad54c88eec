"""The measurements of the window, in small: that they measure what they say."""

from __future__ import annotations

import importlib
import itertools
import time

import pytest
from PySide6.QtCore import QEventLoop, QTimer

from app.chat.conversation import Role
from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.ipc.protocol import Finished, Generate, Load, Tokens
from mtplx_engine.models import starter
from scripts.bench_ui import chat_pane, program, speed_window
from scripts.bench_ui.__main__ import PARTS
from scripts.bench_ui.timing import LoopWatch, Moment, OwnTime, Result, table
from tests.support.fake_host import fake_host_command
from tests.support.fake_script import Script


def test_the_table_says_what_is_over_its_limit():
    results = [Result("a", 12.34, "ms", 33, 1234.5), Result("longer", 34.0, "ms", 33), Result("b", 2.0, "MB")]
    assert table(results).split("\n") == [
        "what    measured    limit  by the clock",
        "a        12.3 ms  33.0 ms      1,234 ms  ok",
        "longer   34.0 ms  33.0 ms                over",
        "b        2.00 MB",
    ]
    assert [result.over for result in results] == [False, True, False]


def test_a_block_of_the_event_loop_is_seen(qapp):
    watch, loop = LoopWatch(), QEventLoop()
    watch.start()
    QTimer.singleShot(20, loop, lambda: _compute(0.1))
    QTimer.singleShot(60, loop, loop.quit)
    loop.exec()
    watch.stop()
    watch.close()
    assert watch.longest().own >= 0.1
    assert watch.longest().wall >= watch.longest().own
    assert watch.percentile(1.0).own == watch.longest().own
    assert watch.percentile(0.0).own < 0.1


def test_a_share_of_gaps_is_not_above_its_percentile(qapp):
    watch = LoopWatch()
    watch.gaps = [Moment(float(n), n / 2) for n in range(100)]
    assert watch.percentile(0.99) == Moment(99.0, 49.5)
    assert watch.percentile(0.5) == Moment(50.0, 25.0)
    watch.close()


def test_own_time_holds_what_a_thread_computes_and_sleeps():
    with OwnTime() as clock:
        started = clock.now()
        _compute(0.03)
        time.sleep(0.02)
        took = clock.now().since(started)
    assert 0.05 <= took.own <= took.wall


def test_each_section_costs_the_same_number_of_tokens():
    text = program.answer(4)
    assert len(program.tokens_of(text)) == 4 * program.SECTION_TOKENS
    assert text.count("```python") == text.count("| name |") == 4


@pytest.mark.parametrize("count", [2, 9])
def test_a_chat_is_questions_and_answers_in_turn(count):
    chat = program.chat("c", count)
    turns = itertools.cycle((Role.USER, Role.ASSISTANT))
    assert [message.role for message in chat.path()] == list(itertools.islice(turns, count))


def test_pastes_are_as_long_as_they_say():
    assert len(program.long_line(1000).split()) == 1
    assert len(program.long_line(1000)) == 1000
    assert [len(line) for line in program.lines(3, 30).split("\n")] == [30, 30, 30]


def test_the_scripted_engine_keeps_to_the_clock(tmp_path):
    """Cycles that are late do not delay those after them: its clock is what the window's lag is measured by."""
    script = Script(answer=program.answer(1), accepted=(4,), cycle_s=0.002)
    client = EngineClient(tmp_path, fake_host_command(script))
    client.send(Load("m", str(tmp_path)))
    client.send(Generate(1, (ChatMessage("user", "q"),), SamplerConfig(speculative_depth=4)))
    ages = []
    while not isinstance(event := client.read(20), Finished):
        if isinstance(event, Tokens):
            ages.append(event.at_s)
    client.close()
    assert len(ages) == 101  # one token, then five in each cycle
    assert all(age >= 0.002 * (n + 1) for n, age in enumerate(ages))


def test_an_answer_is_measured_to_its_end(qapp, tmp_path, monkeypatch):
    monkeypatch.setattr(starter, "is_installed", lambda *_: True)
    monkeypatch.setattr(chat_pane, "TOKENS_PER_S", 2000)
    monkeypatch.setattr(chat_pane, "_COMPARED_TOKENS", 100)
    monkeypatch.setattr(program, "_CALM_MS", 50)
    measured = {result.what: result.measured for result in chat_pane.measure_streaming(tmp_path, 500, messages=2)}
    assert 100 < measured["streaming: tokens the engine made each second"] < 2010
    assert measured["streaming: longest event-loop gap"] >= measured["streaming: event-loop gap, p99"] > 0
    assert measured["streaming: CPU time of the first 1,000 tokens"] > 0
    assert measured["streaming: lag behind the engine"] > 0


def test_the_live_metrics_are_measured_while_they_are_shown(qapp, tmp_path, monkeypatch):
    refreshed = []
    monkeypatch.setattr(speed_window, "_WARM_UP_S", 0.05)
    monkeypatch.setattr(speed_window.LivePanel, "_refresh", lambda panel: refreshed.append(panel.isVisible()))
    results = speed_window.measure_live(tmp_path, 0.4)
    assert [result.limit for result in results] == [20, None]
    assert refreshed.count(True) >= 2


@pytest.mark.parametrize("part", PARTS)
def test_each_part_can_be_measured(part):
    assert callable(getattr(importlib.import_module(f"scripts.bench_ui.{PARTS[part]}"), f"measure_{part}"))


def _compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
