"""What is no model in MLX form leads to another model in the window, and is never to be tried again."""

from __future__ import annotations

import pytest

from app.i18n import tr
from app.model_manager.row_state import ABOUT_CHOICE, Action, Fault
from app.services.tasks import describe
from mtplx_engine.hub import remote_inspect
from mtplx_engine.hub.errors import HubError
from mtplx_engine.hub.http import HubConnection
from tests.support import wrong_repos
from tests.support.fake_hub import FakeHub, running

REPOS = {f"makers/wrong{number}": repo for number, repo in enumerate(wrong_repos.REPOS.values())}


@pytest.fixture(scope="module")
def hub():
    with running(FakeHub(REPOS)) as hub:
        yield hub


@pytest.mark.parametrize("repo_id", REPOS)
def test_the_button_leads_to_another_model(hub, repo_id):
    with pytest.raises(HubError) as caught:
        remote_inspect.plan_download(HubConnection(hub.endpoint), repo_id)
    fault = Fault.of(*describe(caught.value, "a look"))
    assert fault.problem in ABOUT_CHOICE
    assert fault.remedy == tr(fault.problem.value)
    assert fault.remedy.casefold() != tr(Action.LOOK_AGAIN.value).casefold()
