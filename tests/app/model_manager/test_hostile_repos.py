"""Repositories with hostile text make no line of the window's own; those that are no model lead to another one."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel

from app.i18n import tr
from app.model_manager.row_state import ABOUT_CHOICE, Action, Fault
from app.services.tasks import describe
from mtplx_engine.errors import EngineError
from mtplx_engine.hub import remote_inspect
from mtplx_engine.hub.errors import HubError
from mtplx_engine.hub.http import HubConnection
from tests.support import hostile_words, models_window, wrong_repos
from tests.support.fake_hub import FakeHub, running

HOSTILE = hostile_words.repos()
WRONG = {f"makers/wrong{number}": repo for number, repo in enumerate(wrong_repos.REPOS.values())}


@pytest.fixture(scope="module")
def looks():
    """What is known of those of which something is."""
    found = {}
    with running(FakeHub(HOSTILE)) as hub:
        connection = HubConnection(hub.endpoint)
        for repo_id in HOSTILE:
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


@pytest.mark.parametrize("repo_id", HOSTILE)
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


@pytest.fixture(scope="module")
def hub_of_wrong_repos():
    with running(FakeHub(WRONG)) as hub:
        yield hub


@pytest.mark.parametrize("repo_id", WRONG)
def test_the_button_leads_to_another_model(hub_of_wrong_repos, repo_id):
    with pytest.raises(HubError) as caught:
        remote_inspect.plan_download(HubConnection(hub_of_wrong_repos.endpoint), repo_id)
    fault = Fault.of(*describe(caught.value, "an inspection"))
    assert fault.problem in ABOUT_CHOICE
    assert fault.remedy == tr(fault.problem.value)
    assert fault.remedy.casefold() != tr(Action.LOOK_AGAIN.value).casefold()
