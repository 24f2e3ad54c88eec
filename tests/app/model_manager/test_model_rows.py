"""How models look in each place, by what is known of them."""

from __future__ import annotations

import dataclasses

import pytest

from app.model_manager import first_model, rows
from app.model_manager.downloads import DownloadState
from app.model_manager.model_library import Contents
from app.model_manager.row_state import Action, Fault, HubSnapshot
from app.model_manager.rows import Filters, UseState
from app.palette import Tone
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.hub import catalogue
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.plan import folder_name
from mtplx_engine.models import starter
from mtplx_engine.models.inspection import Tier
from mtplx_engine.util.system import Machine
from tests.support.fake_models import GB, HITS, MACHINE, installed, look, recommended_looks, row

ENTRY = catalogue.entries()[0]
LOOKS = recommended_looks()
DAY_S = 24 * 3600
NOW_S = 1_795_000_000
NOTHING = UseState(Contents(()), None, None, {}, {}, {}, {}, MACHINE)


def recommended(entry=ENTRY, **known):
    return rows.recommended(entry, HubSnapshot(MACHINE, **known))


def test_before_the_hub_has_answered_a_model_can_be_got_already():
    face = recommended()
    assert (face.size, face.fit, face.actions) == ("", "", (Action.GET, Action.DETAILS))
    face = recommended(asking=frozenset({ENTRY.target}))
    assert (face.fit, face.tone, face.state) == ("asking the hub…", Tone.QUIET, "")
    face = recommended(asking=frozenset({ENTRY.target}), wanted=frozenset({ENTRY.target}))
    assert (face.state, face.actions) == ("Looking…", (Action.DETAILS,))
    assert ENTRY.good_for in face.note


def test_a_recommended_model_is_offered_with_its_sum():
    face = recommended(inspections=LOOKS)
    assert face.actions == (Action.GET, Action.DETAILS)
    assert face.fit.startswith("fits")
    assert "drafts for itself (MTP)" in face.note
    assert "weights 2.4 GB" in face.because


def test_what_will_not_fit_is_got_only_from_its_details():
    face = recommended(catalogue.entries()[-1], inspections=LOOKS)
    assert face.tone is Tone.BAD
    assert face.actions == (Action.DETAILS,)


@pytest.mark.parametrize("name", [folder_name(ENTRY.target), ENTRY.target, ENTRY.target.upper()])
def test_an_installed_model_is_not_offered_again(name):
    face = recommended(inspections=LOOKS, installed=frozenset({name.casefold()}))
    assert face.state == "Installed"
    assert Action.GET not in face.actions


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (DownloadState.QUEUED, "Waiting"),
        (DownloadState.RUNNING, "40 %"),
        (DownloadState.PAUSED, "Paused"),
        (DownloadState.FAILED, "Stopped"),
    ],
)
def test_a_download_takes_the_place_of_get(state, words):
    plan_id = folder_name(ENTRY.target)
    face = recommended(inspections=LOOKS, downloads={plan_id: row(plan_id, state, done=2 * GB, total=5 * GB)})
    assert face.state == words
    assert Action.GET not in face.actions


def test_a_look_that_failed_says_why_and_what_to_do():
    faults = {repo_id: Fault("No token is known.", HubErrorKind.NO_TOKEN) for repo_id in (ENTRY.target, HITS[1].id)}
    face = rows.found(HITS[1], HubSnapshot(MACHINE, faults=faults))
    assert (face.problem, face.remedy) == ("No token is known.", "Add a token")
    face = recommended(faults=faults)  # of a list that is ours it says so quietly, and why in its details
    assert (face.fit, face.tone, face.because) == (
        "not to be had at this hub",
        Tone.QUIET,
        "No token is known.",
    )
    assert (face.problem, face.remedy, face.actions) == ("", "", (Action.DETAILS,))


def test_what_does_not_load_says_so():
    face = rows.found(HITS[3], HubSnapshot(MACHINE, inspections={HITS[3].id: look(HITS[3].id, GB, loads=False)}))
    assert face.fit == "does not load here"
    assert "mamba9" in face.because
    assert face.actions == (Action.DETAILS,)


def test_a_found_repository_says_what_the_hub_says():
    assert rows.found(HITS[1], HubSnapshot(MACHINE)).note == "gated · llama · 9 k downloads · 2026-08-11"


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        (Filters(), True),
        (Filters(drafting=True), True),
        (Filters(fitting=True), False),
        (Filters(largest=18 * GB), False),  # its settings count too
        (Filters(largest=19 * GB), True),
        (Filters(drafting=True, largest=2 * GB), False),
    ],
)
def test_filters_hold_for_what_was_looked_at(filters, passes):
    known = HubSnapshot(MACHINE)
    assert filters.may_pass(HITS[2], known)  # nobody knows
    big = dataclasses.replace(known, inspections={HITS[2].id: look(HITS[2].id, 18 * GB, own_head=True)})
    assert filters.may_pass(HITS[2], big) is passes


def test_what_is_recommended_with_a_head_drafts():
    known = HubSnapshot(MACHINE, inspections={HITS[0].id: look(HITS[0].id, GB), HITS[2].id: look(HITS[2].id, GB)})
    assert Filters(drafting=True).may_pass(HITS[0], known)
    assert not Filters(drafting=True).may_pass(HITS[2], known)


def use(**fields):
    found = {name: fields.pop(name) for name in ("default", "used", "places") if name in fields}
    return dataclasses.replace(NOTHING, contents=Contents((), **found), **fields)


MODEL = installed("org--model")


def row_of(model=MODEL, **fields):
    return rows.installed(model, use(**fields), NOW_S)


def test_an_installed_model_can_be_loaded_and_kept():
    face = row_of()
    assert face.actions == (Action.LOAD,)
    assert face.more == (Action.SET_DEFAULT, Action.VERIFY, Action.SHOW, Action.DELETE)
    assert face.note == "by org · drafts for itself (MTP) · never used"


def test_the_loaded_one_can_only_be_unloaded():
    face = row_of(loaded=MODEL.path)
    assert (face.state, face.actions) == ("Loaded", (Action.UNLOAD,))
    assert row_of(loading=MODEL.path).state == "Loading…"


def test_the_default_one_is_marked_and_not_offered_again():
    face = row_of(default=MODEL.path)
    assert "used by default" in face.note
    assert Action.SET_DEFAULT not in face.more


@pytest.mark.parametrize(
    ("ago_s", "words"), [(60, "used today"), (DAY_S, "used yesterday"), (9 * DAY_S, "used 9 days ago")]
)
def test_the_last_use_is_said_as_people_say_it(ago_s, words):
    assert words in row_of(used={MODEL.path: NOW_S - ago_s}).note


def test_a_model_of_the_persons_own_is_never_deleted():
    face = row_of(installed("mine", place="/big"))
    assert Action.DELETE not in face.more
    assert "your own, in /big" in face.note


def test_a_missing_disk_greys_its_models_and_offers_nothing():
    face = row_of(installed("mine", place="/big", there=False))
    assert face.dimmed
    assert face.note.startswith("not connected")
    assert (face.actions, face.more) == ((), ())


def test_an_incomplete_model_is_not_loaded_but_can_go():
    face = row_of(installed("half", complete=False))
    assert face.note.startswith("files are missing")
    assert face.actions == ()
    assert Action.DELETE in face.more


@pytest.mark.parametrize(
    ("tier", "words"),
    [
        (Tier.VERIFIED, "drafts for itself (MTP), verified"),
        (Tier.UNVERIFIED, "drafts for itself (MTP), not tried yet"),
        (Tier.NO_HEAD, "plain decoding"),
        (Tier.LATER, "plain decoding"),
    ],
)
def test_the_tier_is_said(tier, words):
    found = dataclasses.replace(look("a/b", GB).found, tier=tier)
    face = row_of(inspected={MODEL.path: found})
    assert face.note.startswith(f"by org · {words} ·")
    assert face.fit.startswith("fits")
    assert "weights 1.0 GB" in face.because


def test_an_installed_model_that_does_not_load_says_why():
    face = row_of(inspected={MODEL.path: look("a/b", GB, loads=False).found})
    assert (face.fit, face.tone) == ("does not load here", Tone.BAD)
    assert "mamba9" in face.note


def test_only_what_is_too_big_can_be_loaded_anyway():
    big = ErrorInfo(ErrorKind.TOO_BIG, "It will not fit.")
    broken = ErrorInfo(ErrorKind.REFUSED, "It is damaged.")
    assert row_of(faults={MODEL.path: big}).remedy == "Load Anyway"
    assert row_of(faults={MODEL.path: broken}).remedy == ""
    assert row_of(faults={MODEL.path: broken}).problem == "It is damaged."


STARTER = starter.shipped_recipe().id


def test_the_largest_recommended_model_that_fits_is_offered():
    made = first_model.offer(HubSnapshot(MACHINE, inspections=LOOKS, installed=frozenset({STARTER})))
    assert made.title == "Qwen3.5 9B · 4-bit"
    assert made.cost == "5.4 GB, about 14 min at 50 Mbit/s"
    assert "of 11.5 GB" in made.why


def test_nothing_is_offered_while_there_is_no_need_or_no_knowledge():
    assert first_model.offer(HubSnapshot(MACHINE)) is None
    assert first_model.offer(HubSnapshot(MACHINE, inspections=LOOKS, installed=frozenset({STARTER, "another"}))) is None
    small = Machine(4 * GB, 2 * GB, packed=True, chunk=2048)
    assert first_model.offer(HubSnapshot(small, inspections=LOOKS)) is None
    some = {key: value for key, value in LOOKS.items() if key != catalogue.entries()[-1].target}
    assert first_model.offer(HubSnapshot(MACHINE, inspections=some)) is None
    fault = {catalogue.entries()[-1].target: Fault("Gone.")}
    assert first_model.offer(HubSnapshot(MACHINE, inspections=some, faults=fault)).title == "Qwen3.5 9B · 4-bit"
