"""The first model in the main window: offered without asking anybody, fetched when wanted, and gone for good after."""

from __future__ import annotations

import pytest

from app.model_manager import first_model
from app.model_manager.downloads import DownloadState
from app.model_manager.first_model import FirstCard, FirstModel
from app.storage.settings import SettingsFile
from mtplx_engine.hub import catalogue
from mtplx_engine.models import starter
from mtplx_engine.util import system
from mtplx_engine.util.system import Machine
from tests.support.fake_models import GB, MACHINE, FakeDownloads, FakeLibrary, error, installed, row

STARTER = installed(starter.shipped_recipe().id)


@pytest.fixture
def first(qapp, tmp_path, monkeypatch):
    monkeypatch.setattr(system, "this_machine", lambda: MACHINE)
    made = FirstModel(FakeLibrary(), FakeDownloads(), SettingsFile(tmp_path))
    yield made
    made.deleteLater()


def offered(first):
    first._library.list(STARTER)
    return first.state


def mac(gibibytes):
    return system.mac_machine(gibibytes << 30, lambda _: None)


@pytest.mark.parametrize(
    ("here", "title"),
    [
        (mac(8), "Qwen3.5 4B · 4-bit"),
        (mac(16), "Qwen3.5 9B · 4-bit"),
        (mac(24), "Qwen3.5 9B · 4-bit"),
        (mac(32), "Qwen3.8 27B · 4-bit"),
        (mac(64), "Qwen3.6 35B-A3B · 4-bit"),
        (Machine(4 * GB, 4 * GB, packed=True, chunk=1), None),
        (Machine(16 * GB, 16 * GB, packed=False, chunk=1), None),  # where weights are unpacked
    ],
)
def test_the_largest_model_that_fits_is_offered(here, title):
    made = first_model.estimate(here)
    assert (made.title if made else None) == title


def test_a_machine_a_model_why_size_and_time_are_said(first):
    state = offered(first)
    assert "this computer with 16 GB" in state.why
    assert state.title == "Qwen3.5 9B · 4-bit"
    assert "Good for chat and code" in state.why
    assert state.after == "About 5.4 GB, 14 min at 50 Mbit/s"
    assert state.can_get


@pytest.mark.parametrize("models", [(), (STARTER, installed("another")), (installed("another"),)])
def test_nothing_is_offered_without_the_starter_or_beside_another_model(first, models):
    first._library.list(*models)
    assert first.state is None


def test_it_is_gone_for_good_when_it_was_sent_away(first, tmp_path):
    offered(first)
    first.dismiss()
    assert first.state is None
    again = FirstModel(FakeLibrary(), FakeDownloads(), SettingsFile(tmp_path))
    assert offered(again) is None
    again.deleteLater()


def test_it_is_gone_for_good_once_there_is_another_model(first, tmp_path):
    offered(first)
    first._library.list(STARTER, installed("another"))
    assert first.state is None
    assert not SettingsFile(tmp_path).value.first_offer
    first._library.list(STARTER)  # deleted again
    assert first.state is None


def test_an_accepted_model_shows_how_far_it_is(first):
    offered(first)
    accepted = []
    first.accepted.connect(accepted.append)
    first.accept()
    first.accept()
    assert accepted == [catalogue.entries()[1].target]
    assert (first.state.after, first.state.can_get) == ("Asking the hub…", False)
    first._downloads.put(row("a--b", done=GB, total=4 * GB, bytes_s=1e7, seconds_left=300.0))
    assert (first.state.fraction, first.state.after) == (0.25, "1.0 of 4.0 GB · 10 MB/s · 5 min left")
    first._downloads.put(row("a--b", DownloadState.FAILED, error=error("The disk is full.")))
    assert first.state.after == "The disk is full."
    first._downloads.cancel("a--b")
    assert first.state.can_get


def test_a_refusal_of_what_was_asked_for_here_is_taken_note_of(first):
    offered(first)
    target = catalogue.entries()[1].target
    assert not first.refuse(target)
    first.accept()
    assert not first.refuse("a/b")
    assert first.refuse(target)
    assert first.state.can_get


def test_the_card_does_what_its_buttons_say(first, theme, qtbot):
    card = FirstCard(theme, first)
    qtbot.addWidget(card)
    assert card.isHidden()
    offered(first)
    assert not card.isHidden()
    assert card.get.accessibleName() == "Get Qwen3.5 9B · 4-bit"
    with qtbot.waitSignal(first.accepted):
        card.get.click()
    assert not card.get.isEnabled()
    first._downloads.put(row("a--b"))
    assert card.get.isHidden()
    assert card.close_button.isHidden()
    first._downloads.cancel("a--b")
    with qtbot.waitSignal(card.models_pressed):
        card.models.click()
    card.close_button.click()
    assert card.isHidden()
