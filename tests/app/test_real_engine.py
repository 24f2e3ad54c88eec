"""The same line with nothing played: the window, the store, the engine process and the starter model."""

from __future__ import annotations

import dataclasses
from functools import partial

import pytest

from app.application import Application
from app.chat.conversation import MessageStatus
from mtplx_engine.client import EngineClient

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
    line = driver.program.line
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
    tomorrow.answer.card.button.click()
    tomorrow.until(lambda: len(tomorrow.transcript.rows) == 7 and len(tomorrow.shown_text) > 0)
