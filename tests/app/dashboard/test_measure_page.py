"""The page about this machine in each of its states, as a person sees it and moves through it."""

from __future__ import annotations

import dataclasses
import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.dashboard import measure_page
from app.services.engine_worker import EngineState
from app.widgets.window_geometry import MINIMUM_SIZE
from mtplx_engine.ipc.protocol import CheckExactness, Measure
from mtplx_engine.measure.measurement import PromptKind
from tests.support import speed_window
from tests.support.cut_off import cut_off
from tests.support.measurements import measurement


@pytest.fixture
def show(theme, qtbot):
    shown = []

    def show_state(name):
        bench = speed_window.STATES[name](theme)
        bench.window.activateWindow()
        qtbot.waitUntil(lambda: QApplication.activeWindow() is bench.window)
        shown.append(bench)
        return bench

    yield show_state
    for bench in shown:
        bench.window.close()
        bench.window.deleteLater()
        bench.queue.deleteLater()


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ("no-data", {"plan"}),
        ("no-model", {"plan"}),
        ("faster", {"result", "again"}),
        ("stale", {"result", "again"}),
        ("planning", {"plan", "result"}),
        ("running", {"progress"}),
        ("running-again", {"progress", "result"}),
        ("waiting", {"progress"}),
        ("failed", {"plan", "trouble"}),
        ("cancelled", {"plan"}),
        ("checking", {"progress", "result"}),
    ],
)
def test_each_state_shows_what_it_is_about(show, state, shown):
    page = show(state).page
    parts = ("plan", "progress", "result", "again", "trouble")
    assert {name for name in parts if getattr(page, name).isVisible()} == shown


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("faster", "1.70x faster"),
        ("slower", "0.60x: slower"),
        ("unclear", "No clear difference, 1.01x (0.97–1.06x)"),
        ("few", "Too few pairs, 1.45x (1.40–1.50x)"),
    ],
)
def test_each_verdict_stands_in_words(show, state, words):
    assert show(state).page.result.headline.text() == words


def test_measuring_asks_for_what_was_chosen(show):
    bench = show("no-data")
    plan = bench.page.plan
    plan.kinds[PromptKind.MATHS].click()
    plan.kinds[PromptKind.LANGUAGE].click()
    plan.contexts[8192].click()
    plan.start.click()
    (asked,) = bench.link.trials
    assert isinstance(asked, Measure)
    assert asked.kinds == (PromptKind.CHAT, PromptKind.CODE, PromptKind.COPY)
    assert (asked.context, asked.pairs, asked.depths, asked.temperature) == (8192, 3, (), 0.0)
    assert bench.page.progress.cancel.hasFocus()


def test_without_a_kind_there_is_nothing_to_measure(show):
    plan = show("no-data").page.plan
    for tick in plan.kinds.values():
        tick.click()
    assert not plan.start.isEnabled()
    assert plan.start.accessibleDescription() == "Choose at least one kind of prompts."


def test_lengths_beyond_the_model_are_greyed_and_say_why(show):
    plan = show("small-window").page.plan
    assert [context for context, button in plan.contexts.items() if button.isEnabled()] == [1024]
    assert plan.contexts[8192].accessibleDescription() == (
        "8k are more than the 4,096 tokens that this model can hold."
    )


@pytest.mark.parametrize("state", ["no-model", "no-drafter"])
def test_what_cannot_be_measured_is_not_offered(show, state):
    page = show(state).page
    assert not page.plan.start.isEnabled()
    assert not page.exactness.button.isEnabled()


def test_the_time_is_told_before_it_starts_where_it_can_be(show):
    assert show("no-data").page.plan.start.accessibleDescription().startswith("How long it takes shows after")
    assert show("planning").page.plan.start.accessibleDescription().startswith("About 2 min.")


def test_answers_of_this_run_are_enough_to_reckon_with(show):
    bench = show("no-data")
    stats = measurement(1.0).runs[0].stats
    bench.chat.actions.send("Why?")
    bench.link.say("Because.")
    bench.link.finish(stats=stats)
    bench.measuring.set_context(1024)
    assert bench.page.plan.start.accessibleDescription().startswith("About ")


def test_a_measurement_ends_in_its_result(show, monkeypatch):
    bench = show("running")
    said = []
    monkeypatch.setattr(measure_page, "announce", lambda _, words: said.append(words))
    found = speed_window.rich()
    bench.link.end_measurement(found)
    assert bench.page.result.headline.text() == "1.70x faster"
    assert said == ["1.70x faster"]
    assert not bench.page.progress.isVisible()


def test_a_failure_is_told_once(show, monkeypatch):
    bench = show("running")
    said = []
    monkeypatch.setattr(measure_page, "announce", lambda _, words: said.append(words))
    bench.link.fail_trial("It broke.")
    bench.page.refresh()
    assert said == ["It broke."]
    assert bench.page.trouble.label.text() == "It broke."


def test_cancel_and_the_keyboard(show):
    bench = show("running")
    QTest.keyClick(bench.page.progress.cancel, Qt.Key.Key_Space)
    assert bench.link.cancelled == [bench.link.trials[-1].generation]
    assert not bench.page.progress.cancel.isEnabled()
    bench.link.abandon()
    assert bench.page.plan.start.hasFocus()


def test_stale_results_say_so_and_offer_another_measurement(show):
    page = show("stale").page
    assert page.result.headline.property("tone") == "secondary"
    assert page.again.property("primary")
    assert page._measuring.stale == "The files of the model or this machine have changed since."


def test_a_result_of_another_version_names_it(show):
    bench = show("stale")
    (found,) = bench.records.all
    old = dataclasses.replace(found.subject, version="0.0.1")
    bench.records.put(dataclasses.replace(found, subject=old))
    assert bench.measuring.stale == "Measured with MTPLX 0.0.1; this one may be faster or slower."


def test_a_slower_model_may_draft_again(show):
    bench = show("slower")
    assert bench.page.result.draft_again.isVisible()
    bench.page.result.draft_again.click()
    assert bench.records.all[0].lifted
    assert bench.page.result.isVisible()
    assert not bench.page.result.draft_again.isVisible()


def test_what_a_newer_one_of_about_the_same_length_overrules_is_shown_as_such(show):
    bench = show("slower")
    (found,) = bench.records.all
    newer = dataclasses.replace(found, context=500)
    bench.records.put(newer, found)
    assert bench.measuring.stale == ""
    bench.measuring.choose_context(found.context)
    assert bench.measuring.stale == "A newer measurement decides for chats of this length."
    assert not bench.page.result.draft_again.isVisible()


@pytest.mark.parametrize("state", ["faster", "unclear", "few", "stale"])
def test_only_where_drafting_is_off_it_can_be_let_again(show, state):
    assert not show(state).page.result.draft_again.isVisible()


def test_one_of_several_lengths_can_be_looked_at(show):
    bench = show("two-lengths")
    assert bench.page.context.text() == "up to 1k"
    bench.page.context.menu().actions()[1].trigger()
    assert bench.measuring.shown.context == 8192
    assert bench.page.result.facts["subject"].text().find("up to 8k") > 0


def test_figures_of_few_steps_are_grey(show):
    assert show("few").page.result._length.property("tone") == "tertiary"
    assert show("faster").page.result._length.property("tone") == ""


def test_the_shown_result_is_not_rebuilt_while_something_is_measured(show):
    bench = show("running-again")
    before = bench.page.result._speeds.chart_data
    bench.link.show_trial(0.2, "depth 1, chat", 70.0)
    assert bench.page.result._speeds.chart_data is before


def test_another_model_is_loaded_first(show):
    bench = show("loading")
    assert bench.runner.trial.folder == str(speed_window.OTHER.path)
    assert bench.page.model.text() == "SmolLM2 135M"


def test_what_was_measured_stays_while_the_model_rests(show):
    bench = show("faster")
    bench.link.become(EngineState.NO_MODEL)
    assert bench.measuring.stale == ""
    assert bench.page.result.isVisible()


def test_the_page_goes_along_when_another_model_is_loaded(show):
    bench = show("no-data")
    bench.measuring.choose_model(str(speed_window.OTHER.path))
    assert bench.page.model.text() == "SmolLM2 135M"
    third = dataclasses.replace(speed_window.LOADED, path="/models/third", name="Third")
    bench.link.become_ready(third)
    assert bench.page.model.text() == "Third"


# ---------------------------------------------------------------- exactness


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("exact", "Drafted and plain decoding were the same in every bit."),
        ("rounding", "The same within rounding:"),
        ("differing", "Drafting changes what this model says here, which is a fault."),
    ],
)
def test_the_verdict_of_a_check(show, state, words):
    page = show(state).page
    assert page.exactness.verdict.text().startswith(words)
    assert page.exactness.button.text() == "Check Again"
    assert page.exactness.button.hasFocus()
    assert page.exactness.turn_off.isVisibleTo(page) == words.startswith("Drafting changes")


def test_a_check_is_asked_for_by_its_button(show):
    bench = show("checking")
    assert isinstance(bench.link.trials[-1], CheckExactness)
    assert not bench.page.exactness.button.isEnabled()


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_a_measurement_is_written_with_all_that_it_depends_on(show, qtbot, tmp_path, suffix):
    export = show("faster").page.export
    path = tmp_path / f"speed{suffix}"
    with qtbot.waitSignal(export.ended) as ended:
        export.write(path, speed_window.rich())
    assert ended.args == [f"Exported the measurement to speed{suffix}"]
    text = path.read_text()
    for part in ("Apple M3", "4-bit, group 64", "macOS 26.1", "0.1.0", "2026-11-29", "code-1"):
        assert part in text
    if suffix == ".json":
        body = json.loads(text)
        assert body["winner"] == 2
        assert len(body["measurement"]["runs"]) == 60
    else:
        assert len(text.splitlines()) == 61


def test_a_place_that_cannot_be_written_is_told(show, qtbot, tmp_path):
    export = show("faster").page.export
    with qtbot.waitSignal(export.ended) as ended:
        export.write(tmp_path / "gone" / "speed.json", speed_window.rich())
    assert ended.args[0].startswith("The measurement could not be exported to")


def test_export_asks_where(show):
    bench = show("faster")
    asked = []
    bench.page.export.ask = asked.append
    bench.page.result.export.click()
    assert asked == [bench.measuring.shown]


# ---------------------------------------------------------------- the window


def test_it_remembers_its_place(show):
    bench = show("no-data")
    bench.window.setGeometry(40, 50, 700, 500)
    bench.window.close()
    place = bench.settings.value.speed_place
    assert (place.width, place.height) == (700, 500)


def test_escape_closes_it(show):
    bench = show("no-data")
    QTest.keyClick(bench.window, Qt.Key.Key_Escape)
    assert not bench.window.isVisible()


@pytest.mark.parametrize("state", speed_window.STATES)
def test_nothing_is_cut_off_at_the_minimum_size_of_the_window(show, state):
    bench = show(state)
    bench.window.resize(bench.window.minimumSize())
    QApplication.processEvents()
    assert bench.window.width() == MINIMUM_SIZE.width()
    assert cut_off(bench.page) == []


@pytest.mark.parametrize("state", ["running", "checking"])
def test_what_is_done_begins_with_a_capital_letter(show, state):
    words = show(state).page.progress._step.text()
    assert words[0].isupper()
