"""What a repository says of itself makes no line of the window's own, and is what it looks like."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel

from app.model_manager.row_state import Action
from mtplx_engine.errors import EngineError
from mtplx_engine.hub import remote_inspect
from mtplx_engine.hub.http import HubConnection
from tests.support import hostile_words, models_window
from tests.support.fake_hub import FakeHub, running

REPOS = hostile_words.repos()


@pytest.fixture(scope="module")
def looks():
    """What is known of those of which something is."""
    found = {}
    with running(FakeHub(REPOS)) as hub:
        connection = HubConnection(hub.endpoint)
        for repo_id in REPOS:
            try:
                found[repo_id] = remote_inspect.inspect_repo(
                    connection, remote_inspect.plan_download(connection, repo_id)
                )
            except EngineError:
                continue
    return found


@pytest.fixture
def window(theme, qtbot):
    made = models_window.asking(theme)
    qtbot.waitUntil(lambda: not made._refreshes._timer.isActive())
    yield made
    made.close()
    made.controller.deleteLater()
    made.deleteLater()


@pytest.mark.parametrize("repo_id", REPOS)
def test_every_line_is_ours(window, looks, repo_id):
    assert len(looks) > 4
    manager = window.controller
    manager.act_on_repo(repo_id, Action.DETAILS)
    manager.hub.answer_looks(models_window.LOOKS | looks)
    window.details.refresh()
    assert ("licence" in window.details._about.text()) is (repo_id in looks)
    texts = [label.text() for label in window.findChildren(QLabel)]
    lines = [line for text in texts for line in text.split("\n")]
    assert any(repo_id in line for line in lines)
    for line in lines:
        assert hostile_words.faults(line) == []
        assert not line.startswith(hostile_words.CLAIM)
        assert len(line) < 700
