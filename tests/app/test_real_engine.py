"""The program with nothing faked: window, store, engine process and the starter model."""

from __future__ import annotations

import dataclasses
from functools import partial

import pytest

from app.application import Application
from app.chat.conversation import MessageStatus
from app.chat.settings import ChatSettings
from app.services.engine_worker import EngineState
from mtplx_engine.config import SamplerConfig
from mtplx_engine.ipc.client import EngineClient

pytestmark = pytest.mark.starter


@pytest.fixture
def start_real(qtbot, qapp, tmp_path, starter_dir, drive):
    (tmp_path / "models").symlink_to(starter_dir.parent)

    def start():
        logs = tmp_path / "logs"
        return drive(lambda: Application(qapp, tmp_path, logs, partial(EngineClient, logs)))

    return start


def be_greedy(driver):
    """Let the answers be the same on every machine, and drafted."""
    line = driver.program.queue
    line.model = dataclasses.replace(
        line.model, recommended=dataclasses.replace(line.model.recommended, temperature=0.0)
    )
    driver.window.menus.drafting_action(2).trigger()


def test_the_starter_answers_in_the_window(start_real):
    today = start_real()
    today.program.link.loaded.connect(lambda _: be_greedy(today))
    today.ask("What is the capital of France?")  # while the model loads
    today.until_idle()
    assert "Paris" in today.shown_text
    answer = today.answer.message
    assert (answer.status, answer.model) == (MessageStatus.DONE, "SmolLM2 135M Instruct")
    assert answer.stats.emitted > 0
    assert answer.stats.drafted > 0
    assert "per step" in today.answer.figures.text()
    assert today.pane.header.model.text() == "SmolLM2 135M Instruct"

    today.ask("Tell me a very long story about the sea.")
    today.until(lambda: "per step" in today.composer.chip.text())
    today.composer.button.click()
    assert not today.program.session.busy
    assert "Stopped" in today.answer.figures.text()
    stopped = today.answer
    today.until(lambda: "tokens" in stopped.figures.text())

    today.ask("What is 2 + 2?")
    today.until(lambda: len(today.shown_text) > 10)
    today.kill_engine()
    today.until_idle()
    assert today.answer.message.status is MessageStatus.ERROR
    shown = [row.message.text for row in today.transcript.rows]

    tomorrow = start_real()
    tomorrow.until(lambda: len(tomorrow.transcript.rows) == 6)
    assert [row.message.text for row in tomorrow.transcript.rows] == shown
    broken = tomorrow.answer.message.id
    tomorrow.answer.card.button.click()
    tomorrow.until(lambda: tomorrow.answer.message.id != broken and len(tomorrow.shown_text) > 0)
    assert len(tomorrow.transcript.rows) == 6  # what there was of it is a version of its own


LONG_QUESTION = "Count the words: " + "tide " * 1500


def test_d2_stop_while_loading_reading_and_before_the_first_word(start_real):
    driver = start_real()
    driver.ask("Why tides?")  # while the model loads
    driver.composer.button.click()
    assert not driver.program.session.busy
    assert driver.answer.message.status is MessageStatus.STOPPED

    driver.until(lambda: driver.program.link.state is EngineState.READY)
    driver.composer.set_text(LONG_QUESTION)
    driver.composer.edit.submitted.emit()
    driver.until(lambda: driver.answer.words.text().startswith("Reading…"))
    driver.composer.button.click()
    assert not driver.program.session.busy
    stopped = driver.answer

    be_greedy(driver)
    driver.program.actions.delete(driver.transcript.rows[2].message.id)
    driver.ask("What is the capital of France?")  # in line behind what is being stopped
    driver.until_idle()
    assert "Paris" in driver.shown_text
    assert stopped.message.text == ""


@pytest.mark.parametrize("length", [16, pytest.param(128, marks=pytest.mark.long)])
def test_d5_greedy_answers_are_the_same_at_every_depth(start_real, length):
    driver = start_real()
    driver.until(lambda: driver.program.link.state is EngineState.READY)
    greedy = SamplerConfig(temperature=0.0)
    answers = []
    for depth in range(4):
        driver.program.session.set_settings(ChatSettings(sampler=greedy, drafting=depth, max_tokens=length))
        if not answers:
            driver.ask("Tell me about the sea.")
        else:
            driver.program.actions.regenerate(driver.answer.message.id)
        driver.qtbot.waitUntil(lambda: not driver.program.session.busy, timeout=200_000)
        answers.append(driver.answer.message)
    assert len({answer.text for answer in answers}) == 1
    assert [answer.stats.emitted for answer in answers] == [length] * 4
    assert [answer.stats.drafted > 0 for answer in answers] == [False, True, True, True]
    assert all(answer.stats.cached_tokens > 0 for answer in answers[2:])  # the head missed the first one
    drafted = [sum(answer.marks[1::2]) > 0 for answer in answers]
    assert drafted == [False, True, True, True]
    assert all(sum(answer.marks) == len(answer.text) for answer in answers)


def test_the_context_is_counted_by_the_models_own_tokenizer(start_real):
    driver = start_real()
    driver.until(lambda: driver.program.link.state is EngineState.READY)
    driver.program.session.set_settings(ChatSettings(system_prompt="You are brief.", max_tokens=4))
    driver.type("What is the capital of France?")
    driver.until(lambda: driver.composer.ring.isVisible() and driver.composer.ring.share > 0)
    counted = driver.composer.ring.accessibleName()
    driver.composer.edit.submitted.emit()
    driver.until_idle()
    prompt = driver.answer.message.stats.prompt_tokens
    assert counted.startswith(f"{prompt} of 8,192 tokens")
