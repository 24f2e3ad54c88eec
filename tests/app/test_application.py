"""The program from end to end: real window, real store, real link, an engine process that follows a script."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.chat.conversation import MessageStatus
from app.chat.generation import RowAction
from app.chat.metrics import MEASURING
from app.model_manager.downloads import DownloadState
from app.services.engine_worker import EngineState
from mtplx_engine.errors import ErrorKind
from mtplx_engine.hub import remote_inspect, settings
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.hub.settings import HubSettings
from mtplx_engine.models import library, starter
from tests.support import model_folder
from tests.support.fake_hub import BLOCK, FakeHub, FakeRepo, running
from tests.support.fake_script import Script

SLOW = Script(answer="one two three four five six seven eight nine ten " * 20, cycle_s=0.02)


def test_type_send_stream_and_find_it_again_tomorrow(start):
    today = start(Script(cycle_s=0.02))
    today.ask("Why are there tides?")
    today.until(lambda: "near side" in today.shown_text)
    assert today.composer.text() == ""
    assert today.composer.button.accessibleName() == "Stop"
    today.until_idle()
    assert "Ask a harbour for local times." in today.shown_text
    assert "**" not in today.shown_text
    figures = today.answer.figures.text()
    assert "tok/s · 2.6 per step · 53 % of only 81 drafts · 71 tokens" in figures
    assert today.composer.button.accessibleName() == "Send"
    assert today.composer.chip.text() == ""

    tomorrow = start()
    tomorrow.until(lambda: len(tomorrow.transcript.rows) == 2)
    assert tomorrow.answer.message.status is MessageStatus.DONE
    assert "Ask a harbour for local times." in tomorrow.shown_text
    assert tomorrow.answer.figures.text() == figures
    assert tomorrow.window.sidebar.list.chat_at_cursor() == tomorrow.program.session.shown.chat.id
    assert tomorrow.pane.header.title.text() == "Why are there tides?"
    tomorrow.ask("And tonight?")
    tomorrow.until_idle()
    assert len(tomorrow.transcript.rows) == 4


def test_chip_measures_while_the_answer_is_written(start):
    driver = start(SLOW)
    driver.ask("Count")
    driver.until(lambda: driver.composer.chip.text() == MEASURING)
    driver.until(lambda: "per step" in driver.composer.chip.text())
    assert "per step: tokens that one step" in driver.composer.chip.toolTip()
    driver.program.session.stop()
    assert driver.composer.chip.text() == ""


def test_question_asked_while_the_model_loads_is_answered_once_it_is_in(start):
    driver = start(Script(load_s=0.4))
    driver.ask("Why?")
    driver.until(lambda: driver.answer.words.text().startswith("Loading SmolLM2 135M"))
    assert driver.pane.header.bar.fraction is not None
    driver.until(lambda: "near side" in driver.shown_text)
    driver.until_idle()
    assert driver.pane.header.bar.fraction is None
    assert driver.answer.message.status is MessageStatus.DONE


@pytest.mark.parametrize("stage", ["loading", "prefill", "in a block"])
def test_stop_leaves_a_window_that_can_be_used_at_once(start, stage):
    scripts = {"loading": Script(load_s=3), "prefill": Script(prefill_s=3), "in a block": SLOW}
    driver = start(scripts[stage])
    if stage != "loading":
        driver.until(lambda: driver.program.link.state is EngineState.READY)
    driver.ask("Why are there tides?")
    if stage == "in a block":
        driver.until(lambda: len(driver.shown_text) > 20)
    else:
        driver.until(driver.answer.words.isVisible)

    driver.composer.button.click()
    assert not driver.program.session.busy
    assert driver.composer.button.accessibleName() == "Send"
    assert "Stopped" in driver.answer.figures.text()
    stopped, text = driver.answer, driver.answer.message.text
    driver.type("next")
    assert driver.composer.button.isEnabled()
    assert driver.transcript.rows[0].message.text == "Why are there tides?"
    if stage == "in a block":
        driver.until(lambda: "tokens" in stopped.figures.text())  # the engine's figures follow
        assert stopped.message.text == text


def test_killed_engine_leaves_the_partial_answer_and_a_restart_that_works(start):
    driver = start(SLOW)
    driver.ask("Count")
    driver.until(lambda: len(driver.shown_text) > 40)
    driver.kill_engine()
    driver.until_idle()
    partial = driver.answer
    assert partial.message.status is MessageStatus.ERROR
    assert partial.view.toPlainText().startswith("one two three")
    assert partial.card.isVisible()
    assert "the answer so far is kept" in partial.card.label.text()
    assert partial.card.button.text() == "Restart"
    assert driver.composer.isEnabled()

    partial.card.button.click()
    driver.until(lambda: driver.answer is not partial and len(driver.shown_text) > 40)
    again = driver.answer
    assert again.footer.arrows.isVisible()
    again.footer.button(RowAction.PREVIOUS).click()
    assert driver.shown_text.startswith("one two three")
    assert driver.answer.card.isVisible()
    driver.answer.footer.button(RowAction.NEXT).click()
    driver.program.session.stop()
    driver.ask("Go on")
    driver.until(lambda: driver.program.session.busy and len(driver.shown_text) > 10)


def test_engine_that_dies_again_and_again_is_given_up_and_can_be_restarted(start):
    driver = start(Script(crash_after=1, cycle_s=0.001))
    driver.ask("Count")
    driver.until_idle()
    for _ in range(3):
        driver.answer.card.button.click()
        driver.until_idle()
    driver.until(lambda: driver.program.link.state is EngineState.GAVE_UP)
    assert driver.pane.header.model.text() == "Engine stopped"
    driver.ask("Still there?")
    assert not driver.program.session.busy
    assert "no longer starts it by itself" in driver.answer.card.label.text()
    driver.answer.card.button.click()
    driver.until(lambda: driver.program.link.state is not EngineState.GAVE_UP)
    driver.until_idle()


def test_model_that_does_not_load_says_so_where_the_answer_would_be(start):
    driver = start(Script(load_error="The model file is damaged at byte 12. Get it again."))
    driver.ask("Why?")
    driver.until_idle()
    assert driver.answer.card.label.text() == "The model file is damaged at byte 12. Get it again."
    assert driver.answer.card.button.text() == "Restart"
    driver.program.session.new_chat()
    assert driver.pane.empty.action.text() == "Restart"


def test_answer_that_fails_shows_a_sentence_and_no_traceback(start):
    driver = start(Script(answer_error="The model produced numbers that are not finite. Try again."))
    driver.ask("Why?")
    driver.until_idle()
    assert driver.answer.card.label.text() == "The model produced numbers that are not finite. Try again."
    assert driver.answer.card.button.text() == "Try again"
    driver.answer.card.button.click()
    assert driver.program.session.busy
    driver.until_idle()


def test_answer_goes_on_in_its_own_chat_and_drafts_stay_in_theirs(start):
    driver = start(Script(answer="{question} " * 60, cycle_s=0.02))
    session = driver.program.session
    driver.ask("alpha")
    first = session.shown.chat.id
    driver.until(lambda: "alpha" in driver.shown_text)
    driver.window.menus.new_chat.trigger()
    driver.type("draft in the second")
    assert driver.composer.button.accessibleName() == "Send"
    assert driver.program.chats.index_of(first).data(Qt.ItemDataRole.AccessibleTextRole) == "alpha, answering"
    driver.composer.stop_requested.emit()  # of a chat that is idle

    driver.window.sidebar.chosen.emit(first)
    driver.until(lambda: driver.composer.button.accessibleName() == "Stop")
    assert driver.composer.text() == ""
    driver.type("draft in the first")
    driver.window.menus.new_chat.trigger()
    assert driver.composer.text() == "draft in the second"
    driver.composer.set_text("")
    driver.ask("beta")
    second = session.shown.chat.id
    driver.until(lambda: "another chat" in driver.answer.words.text())

    driver.until(lambda: "beta" in driver.shown_text)
    assert "alpha" not in driver.shown_text
    driver.window.sidebar.chosen.emit(first)
    driver.until(lambda: session.shown.chat.id == first)
    assert driver.composer.text() == "draft in the first"
    assert driver.answer.message.status is MessageStatus.DONE
    assert "beta" not in driver.shown_text
    driver.window.sidebar.chosen.emit(second)
    driver.until_idle()


def test_deleted_chat_comes_back_with_undo(start):
    driver = start()
    driver.ask("Keep me")
    driver.until_idle()
    chat_id = driver.program.session.shown.chat.id
    driver.window.menus.delete_chat.trigger()
    assert driver.program.chats.rowCount() == 0
    assert driver.transcript.isHidden()
    assert driver.window.toast.isVisible()
    driver.window.toast.button.click()
    driver.until(lambda: driver.program.session.shown.chat.id == chat_id)
    assert driver.program.chats.index_of(chat_id).isValid()
    assert "near side" in driver.shown_text


def test_drafting_choice_is_kept_and_takes_effect_with_the_next_answer(start):
    driver = start(Script(cycle_s=0.001))
    driver.until(lambda: driver.program.link.state is EngineState.READY)
    off = driver.window.menus.drafting_action(0)
    assert driver.window.menus.drafting_action("auto").isChecked()
    off.trigger()
    driver.ask("Plainly")
    driver.until_idle()
    assert "per step" not in driver.answer.figures.text()
    assert "tok/s" in driver.answer.figures.text()
    again = start()
    assert again.program.queue.drafting == 0
    assert again.window.menus.drafting_action(0).isChecked()


def test_keys(start):
    driver = start(SLOW)
    window = driver.window
    driver.activate()
    driver.ask("Count")
    driver.until(lambda: len(driver.shown_text) > 20)
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not driver.program.session.busy
    driver.until_offered()
    QTest.keyClick(window, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert QGuiApplication.clipboard().text().startswith("one two three")
    QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    assert driver.program.session.shown.messages == ()
    window.sidebar.list.setFocus()
    QTest.keyClick(window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert driver.composer.edit.hasFocus()


def test_sidebar_stays_hidden_over_a_restart(start):
    driver = start()
    driver.pane.header.sidebar_button.click()
    assert driver.window.sidebar.isHidden()
    assert start().window.sidebar.isHidden()


def test_sample_prompt_is_sent(start):
    driver = start()
    driver.pane.empty._samples[0].click()
    assert driver.transcript.rows[0].message.text.startswith("Explain tides")
    driver.until_idle()


TOO_BIG = Script(
    load_error="It will not fit into memory: 20 GB in all; this machine has 16 GB.",
    load_error_kind=ErrorKind.TOO_BIG,
)


def test_model_that_will_not_fit_is_refused_with_the_sum_and_loaded_anyway(start):
    driver = start(TOO_BIG)
    driver.until(lambda: driver.program.link.state is EngineState.NO_MODEL)
    assert driver.pane.empty._sentence.text() == TOO_BIG.load_error
    assert driver.pane.empty.action.text() == "Load anyway"
    driver.pane.empty.action.click()
    driver.until(lambda: driver.program.link.state is EngineState.READY)


def test_answer_whose_model_will_not_fit_offers_to_load_it_anyway(start):
    driver = start(TOO_BIG)
    driver.ask("Why are there tides?")
    driver.until_idle()
    card = driver.answer.card
    assert (card.label.text(), card.button.text()) == (TOO_BIG.load_error, "Load anyway")
    card.button.click()
    driver.until(lambda: "near side" in driver.shown_text)


def test_loading_can_be_stopped(start):
    driver = start(Script(load_s=60))
    stop = driver.window.menus.unload_model
    driver.until(stop.isEnabled)
    assert stop.text() == "Stop Loading"
    stop.trigger()
    driver.until(lambda: driver.program.link.state is EngineState.NO_MODEL)
    assert not stop.isEnabled()
    assert stop.text() == "Unload Model"
    assert driver.pane.empty.action.text() == "Load"


def test_model_that_will_not_fit_can_be_the_first_one_to_be_loaded(start, monkeypatch):
    monkeypatch.setattr(starter, "is_installed", lambda *_: False)
    driver = start(TOO_BIG)
    driver.until(lambda: driver.pane.empty.action.text() == "Get the model")
    driver.program.models.load_requested.emit("/models/large", "Large", True)
    driver.until(lambda: driver.program.link.state is EngineState.READY)


def test_download_goes_on_at_the_next_start(start, tmp_path):
    folder = model_folder.write(tmp_path / "original")
    files = {path.name: path.read_bytes() for path in folder.iterdir()} | {"LICENSE": bytes(40 * BLOCK)}
    with running(FakeHub({"makers/model": FakeRepo(files)}, pause_s=0.05)) as hub:
        settings.write_settings(tmp_path, HubSettings(hub.endpoint))
        today = start()
        today.program.models.downloads.enqueue(
            remote_inspect.plan_download(HubConnection(hub.endpoint), "makers/model")
        )
        today.until(lambda: today.program.models.downloads.rows()[0].done > 4 * BLOCK)
        tomorrow = start()
        hub.pause_s = 0.0
        downloads = tomorrow.program.models.downloads
        tomorrow.until(lambda: [row.state for row in downloads.rows()] == [DownloadState.DONE])
    assert [model.name for model in library.installed_models(tmp_path)] == ["makers--model"]
