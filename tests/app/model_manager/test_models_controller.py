"""What is asked of the services, and what follows from their answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QDesktopServices

from app.model_manager.downloads import DownloadState
from app.model_manager.hub_client import HubQuestion
from app.model_manager.row_state import Action
from app.model_manager.rows import Filters
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.hub import catalogue
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.plan import folder_name
from mtplx_engine.hub.search import Found
from mtplx_engine.models import starter
from tests.support.fake_models import GB, HITS, controller, error, installed, look, row

FIRST = catalogue.entries()[0].target
STARTER = installed(starter.shipped_recipe().id)


@pytest.fixture
def manager(qapp):
    made = controller()
    yield made
    made.deleteLater()


@pytest.fixture
def hub(manager):
    return manager.hub


@pytest.fixture
def heard(manager):
    """What the manager wants, in order."""
    wants = []
    manager.token_wanted.connect(lambda: wants.append("token"))
    manager.network_wanted.connect(lambda: wants.append("network"))
    manager.choice_wanted.connect(lambda: wants.append("choice"))
    manager.details_wanted.connect(wants.append)
    manager.installed.load_requested.connect(lambda folder, anyway: wants.append((folder, anyway)))
    return wants


def fail_look(hub, problem):
    hub.looks.pop()
    hub.failed.emit(HubQuestion.INSPECT, error(), problem)


def test_recommended_models_are_looked_at_one_after_the_other(manager, hub):
    manager.open()
    assert hub.looks == [catalogue.entries()[-1].target]  # nobody answered yet
    hub.answer_looks()
    assert all(face.size for face in manager.recommended)
    manager.open()
    assert hub.looks == []  # all is known


def test_what_is_wanted_now_is_asked_next(manager, hub):
    manager.open()
    manager.act_on_repo("a/b", Action.DETAILS)
    hub.looks.clear()
    hub.failed.emit(HubQuestion.INSPECT, error(), HubErrorKind.NOT_FOUND)
    assert hub.looks == ["a/b"]


def test_get_puts_the_model_and_its_head_in_line(manager, hub):
    manager.open()
    hub.answer_looks()
    manager.act_on_repo(FIRST, Action.GET)
    assert manager.downloads.asked == [("enqueue", folder_name(FIRST))]
    assert manager.recommended[0].state == "Waiting"
    assert [face.key for face in manager.installed.download_rows] == [folder_name(FIRST)]


@pytest.mark.parametrize(
    ("problem", "want"),
    [
        (HubErrorKind.NO_TOKEN, "token"),
        (HubErrorKind.BAD_TOKEN, "token"),
        (HubErrorKind.FORBIDDEN, "token"),
        (HubErrorKind.NOT_FOUND, "choice"),
        (HubErrorKind.UNSAFE, "choice"),
    ],
)
def test_the_remedy_does_what_it_says(manager, hub, heard, problem, want):
    manager.lookups.inspect(FIRST)
    fail_look(hub, problem)
    manager.help_repo(FIRST)
    assert heard == [want]
    assert hub.looks == []


def test_a_licence_is_accepted_at_the_hub(manager, hub, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    manager.lookups.inspect(FIRST)
    fail_look(hub, HubErrorKind.LICENCE)
    manager.help_repo(FIRST)
    assert [url.toString() for url in opened] == [f"https://huggingface.co/{FIRST}"]


def test_all_other_remedies_try_again(manager, hub):
    manager.lookups.inspect(FIRST)
    fail_look(hub, HubErrorKind.CHANGED)
    assert manager.recommended[0].fit == "not to be had at this hub"
    manager.help_repo(FIRST)
    assert hub.looks == [FIRST]
    assert manager.recommended[0].fit == "asking the hub…"


def test_a_trouble_on_the_way_is_said_once_and_stops_all_questions(manager, hub, heard):
    manager.open()
    fail_look(hub, HubErrorKind.NO_NETWORK)
    assert hub.looks == []
    assert manager.lookups.trouble.remedy == "Try again when online"
    assert [face.problem for face in manager.recommended] == [""] * len(catalogue.entries())
    assert {face.state for face in manager.recommended} == {""}
    manager.inspect_hits()
    manager.act_on_repo("a/b", Action.DETAILS)
    assert hub.looks == []
    manager.help_connection()
    assert manager.lookups.trouble is None
    hub.answer_looks()
    fail_look(hub, HubErrorKind.PROXY)  # a/b, after all that is recommended or before it
    manager.help_search()
    assert heard == ["a/b", "network"]
    hub.answer_looks()
    manager.open()  # the window is opened again
    assert hub.looks


def test_with_a_new_token_all_is_asked_again_that_wanted_one(manager, hub):
    plan_id = folder_name(FIRST)
    manager.downloads.put(row(plan_id, DownloadState.FAILED, error=error(), problem=HubErrorKind.NO_TOKEN))
    manager.lookups.inspect("a/gated")
    fail_look(hub, HubErrorKind.NO_TOKEN)
    manager.search("gated")
    hub.failed.emit(HubQuestion.SEARCH, error(), HubErrorKind.BAD_TOKEN)
    manager.retry_refused()
    assert hub.looks == ["a/gated"]
    assert hub.searches == ["gated", "gated"]
    assert manager.downloads.asked == [("queued", plan_id)]


def test_only_the_answer_to_the_last_search_counts(manager, hub):
    manager.search("one")
    manager.search("two")
    hub.found.emit("one", Found(HITS[:1]))
    assert manager.searching
    hub.found.emit("two", Found(HITS))
    assert not manager.searching
    assert len(manager.searched(Filters())) == len(HITS)


def test_filters_leave_out_what_is_known_not_to_pass(manager, hub):
    manager.search("qwen")
    hub.found.emit("qwen", Found(HITS))
    manager.inspect_hits()
    while hub.looks:
        fail_look(hub, HubErrorKind.NOT_FOUND)
    assert manager.inspected_hits == len(HITS)
    assert len(manager.searched(Filters(fitting=True, drafting=True, largest=1))) == len(HITS)  # nothing is known


def test_what_waits_for_an_answer_is_not_told_again_and_again(manager, hub):
    manager.search("qwen")
    hub.found.emit("qwen", Found(HITS[1:]))
    manager.inspect_hits()
    told = []
    manager.changed.connect(lambda: told.append(1))
    manager.inspect_hits()
    assert told == []
    manager.search("llama")  # what the old search found is of no use any more
    fail_look(hub, HubErrorKind.NOT_FOUND)
    assert hub.looks == []


def test_a_failed_download_goes_on_when_it_is_tried_again(manager):
    plan_id = folder_name(FIRST)
    downloads = manager.downloads
    downloads.put(row(plan_id, DownloadState.FAILED, error=error(), problem=HubErrorKind.DISK_FULL))
    manager.help_download(plan_id)
    assert downloads.asked == [("queued", plan_id)]


def test_the_offered_model_is_loaded_as_soon_as_it_is_in_the_list(manager, hub, heard):
    manager.open()
    hub.answer_looks()
    library, downloads = manager.library, manager.downloads
    library.list(STARTER)
    made = manager.offer
    manager.fetch_and_load(made.repo_id)
    assert manager.offer is None  # it is on its way
    plan_id = folder_name(made.repo_id)
    library.list(STARTER)
    assert heard == []
    downloads.finish(plan_id)
    assert library.asked[-1] == ("refresh",)
    library.list(STARTER, installed(plan_id))
    library.list(STARTER, installed(plan_id))
    assert heard == [(f"/models/{plan_id}", False)]  # once


def test_what_is_done_with_an_installed_model(manager, heard):
    models, library = manager.installed, manager.library
    library.list(STARTER)
    folder = str(STARTER.path)
    for action in (Action.SET_DEFAULT, Action.VERIFY, Action.LOAD):
        models.act(folder, action)
    path = STARTER.path
    assert library.asked == [("set_default", path), ("verify", path), ("check", path, False)]
    assert heard == [(folder, False)]
    assert models.rows[0].fraction == 0.0
    library.verifying.emit(path, 0.5)
    assert models.rows[0].fraction == 0.5
    library.verified.emit(path, ())
    assert models.rows[0].fraction is None
    assert "all files are as they were installed" in models.rows[0].note
    library.verified.emit(path, ("model.safetensors",))
    assert "damaged, download it again: model.safetensors" in models.rows[0].note


def test_only_what_is_there_and_whole_is_inspected(manager):
    library = manager.library
    library.list(STARTER, installed("half", complete=False), installed("far", place="/big", there=False))
    assert library.to_inspect == (STARTER.path,)
    library.answer_inspection(STARTER.path, look("a/b", 3 * GB).found)
    assert manager.installed.rows[0].fit.startswith("fits")


def test_a_model_that_is_too_big_is_loaded_when_the_person_insists(manager, heard):
    models = manager.installed
    manager.library.list(STARTER)
    folder = str(STARTER.path)
    models.act(folder, Action.LOAD)
    models.show_load_failed(ErrorInfo(ErrorKind.TOO_BIG, "It will not fit."))
    assert models.rows[0].problem == "It will not fit."
    models.help(folder)
    assert heard == [(folder, False), (folder, True)]
    assert models.rows[0].state == "Loading…"
    models.show_loaded(Path(folder))
    assert (models.rows[0].state, models.rows[0].problem) == ("Loaded", "")


def test_what_the_shelf_cannot_do_is_said_where_it_belongs(manager, qtbot):
    library = manager.library
    library.list(STARTER)
    library.failed.emit(STARTER.path, ErrorInfo(ErrorKind.STORAGE, "It could not be deleted."))
    assert manager.installed.rows[0].problem == "It could not be deleted."
    with qtbot.waitSignal(manager.installed.failed) as said:
        library.failed.emit(Path("/empty"), ErrorInfo(ErrorKind.NOT_FOUND, "/empty has no model in it."))
    assert said.args == ["/empty has no model in it."]


def test_what_is_known_of_a_model_is_said_of_no_other_with_its_name(manager):
    library, models = manager.library, manager.installed
    twins = [installed("toy", folder=f"/{disk}/toy", place=f"/{disk}") for disk in ("one", "two")]
    first, second = (twin.path for twin in twins)
    library.list(*twins, default=second, used={second: 1}, user_folders={Path("/one")})
    library.failed.emit(first, ErrorInfo(ErrorKind.STORAGE, "It is damaged."))
    library.verified.emit(second, ())
    models.show_loaded(second)
    one, two = models.rows
    assert (one.problem, two.problem) == ("It is damaged.", "")
    assert "as they were installed" in two.note
    assert "as they were installed" not in one.note
    assert ("used by default" in one.note, "used by default" in two.note) == (False, True)
    assert (one.state, two.state) == ("", "Loaded")
    assert "never used" in one.note
    assert (Action.FORGET in one.more, Action.FORGET in two.more) == (True, False)
    library.verifying.emit(first, 0.5)
    assert [face.fraction for face in models.rows] == [0.5, None]


def test_what_arrived_is_loaded_and_no_folder_of_the_persons_own_with_its_name(manager, hub, heard):
    manager.open()
    hub.answer_looks()
    library = manager.library
    library.list(STARTER)
    made = manager.offer
    manager.fetch_and_load(made.repo_id)
    plan_id = folder_name(made.repo_id)
    manager.downloads.finish(plan_id)
    twin = installed(plan_id, folder=f"/disk/{plan_id}", place="/disk")
    library.list(STARTER, twin)
    assert heard == []
    library.list(STARTER, twin, installed(plan_id))
    assert heard == [(f"/models/{plan_id}", False)]


def test_what_is_gone_is_not_loaded_and_that_is_said(manager, heard, qtbot, monkeypatch):
    library, models = manager.library, manager.installed
    library.list(STARTER)
    monkeypatch.setattr(library, "check", lambda folder, *, anyway: None)
    models.act(str(STARTER.path), Action.LOAD)
    with qtbot.waitSignal(models.failed) as said:
        library.failed.emit(STARTER.path, ErrorInfo(ErrorKind.NOT_FOUND, "It is not there any more."))
    assert said.args == ["It is not there any more."]
    assert heard == []
    assert models.rows[0].state == ""


def test_get_fetches_once_the_hub_has_said_that_it_fits(manager, hub):
    first, second = HITS[0].id, HITS[1].id
    manager.act_on_repo(first, Action.GET)
    manager.act_on_repo(second, Action.GET)
    assert manager.downloads.asked == []
    assert repo_state(manager, first) == "Looking…"
    hub.answer_looks({first: look(first, GB), second: look(second, GB)})
    asked = manager.downloads.asked
    assert set(asked) == {("enqueue", folder_name(first)), ("enqueue", folder_name(second))}
    assert manager.snapshot.wanted == frozenset()


@pytest.mark.parametrize("kind", ["too big", "does not load"])
def test_get_fetches_nothing_that_is_not_for_this_machine(manager, hub, qtbot, kind):
    repo_id = HITS[2].id
    manager.act_on_repo(repo_id, Action.GET)
    found = look(repo_id, 90 * GB) if kind == "too big" else look(repo_id, GB, loads=False)
    with qtbot.waitSignal(manager.refused):
        hub.answer_looks({repo_id: found})
    assert manager.downloads.asked == []
    assert repo_state(manager, repo_id) == ""


@pytest.mark.parametrize("problem", [HubErrorKind.NOT_FOUND, HubErrorKind.NO_NETWORK])
def test_what_the_hub_does_not_tell_is_wanted_no_more(manager, hub, problem):
    repo_id = HITS[2].id
    manager.act_on_repo(repo_id, Action.GET)
    fail_look(hub, problem)
    assert repo_state(manager, repo_id) == ""
    manager.lookups.retry()
    hub.answer_looks({repo_id: look(repo_id, GB)})
    assert manager.downloads.asked == []  # the person was told


def repo_state(manager, repo_id):
    return manager.row_of(repo_id).state


def test_only_what_is_in_sight_is_asked_about(manager, hub):
    manager.search("qwen")
    hub.found.emit("qwen", Found(HITS))
    one, two, three = (hit.id for hit in HITS[1:])
    manager.inspect_visible((one, two))
    assert manager.lookups.asking == {one, two}
    manager.inspect_visible((three,))  # scrolled on, and one question was asked already
    asked = hub.looks[0]
    assert manager.lookups.asking == {asked, three}
    manager.act_on_repo(three, Action.GET)
    manager.inspect_visible((one, two))
    manager.search("other")
    assert manager.lookups.asking == {asked, three}


def test_one_card_says_what_keeps_all_recommended_models_away(manager, hub, heard):
    manager.open()
    for _ in catalogue.entries():
        assert manager.trouble is None
        hub.failed.emit(HubQuestion.INSPECT, error(), HubErrorKind.NO_TOKEN)
    assert manager.trouble.remedy == "Add a token"
    manager.help_connection()
    assert heard == ["token"]
