"""The first model in the main window: offered without asking anybody, fetched when wanted, and gone for good after."""

from __future__ import annotations

import pytest

from app.model_manager import offer
from app.model_manager.first_card import FirstCard
from app.model_manager.first_offer import FirstOffer
from app.services.download_row import DownloadState
from app.services.settings import SettingsFile
from mtplx_engine.hub import catalogue
from mtplx_engine.models import machine, starter
from mtplx_engine.models.machine import Machine
from tests.support.fake_models import GB, MACHINE, FakeDownloads, FakeShelf, error, installed, row

STARTER = installed(starter.shipped_recipe().id)


@pytest.fixture
def first(qapp, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "this", lambda: MACHINE)
    made = FirstOffer(FakeShelf(), FakeDownloads(), SettingsFile(tmp_path))
    yield made
    made.deleteLater()


def offered(first):
    first.open()
    first._shelf.list(STARTER)
    return first.face


def mac(gibibytes):
    return machine.mac(gibibytes << 30, lambda _: None)


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
    made = offer.estimate(here)
    assert (made.title if made else None) == title


def test_a_machine_a_model_why_size_and_time_are_said(first):
    face = offered(first)
    assert "this computer with 16 GB" in face.why
    assert face.title == "Qwen3.5 9B · 4-bit"
    assert "Good for chat and code" in face.why
    assert face.after == "About 5.4 GB, 14 min at 50 Mbit/s"
    assert face.can_get


@pytest.mark.parametrize("models", [(), (STARTER, installed("another")), (installed("another"),)])
def test_nothing_is_offered_without_the_starter_or_beside_another_model(first, models):
    first.open()
    first._shelf.list(*models)
    assert first.face is None


def test_it_is_gone_for_good_when_it_was_sent_away(first, tmp_path):
    offered(first)
    first.dismiss()
    assert first.face is None
    again = FirstOffer(FakeShelf(), FakeDownloads(), SettingsFile(tmp_path))
    assert offered(again) is None
    assert again._shelf.asked == []  # and nobody looks any more
    again.deleteLater()


def test_it_is_gone_for_good_once_there_is_another_model(first, tmp_path):
    offered(first)
    first._shelf.list(STARTER, installed("another"))
    assert first.face is None
    assert not SettingsFile(tmp_path).value.first_offer
    first._shelf.list(STARTER)  # deleted again
    assert first.face is None


def test_an_accepted_model_shows_how_far_it_is(first):
    offered(first)
    accepted = []
    first.accepted.connect(accepted.append)
    first.accept()
    first.accept()
    assert accepted == [catalogue.entries()[1].target]
    assert (first.face.after, first.face.can_get) == ("Asking the hub…", False)
    first._downloads.put(row("a--b", done=GB, total=4 * GB, bytes_s=1e7, seconds_left=300.0))
    assert (first.face.fraction, first.face.after) == (0.25, "1.0 of 4.0 GB · 10 MB/s · 5 min left")
    first._downloads.put(row("a--b", DownloadState.FAILED, error=error("The disk is full.")))
    assert first.face.after == "The disk is full."
    first._downloads.cancel("a--b")
    assert first.face.can_get


def test_a_refusal_of_what_was_asked_for_here_is_taken_note_of(first):
    offered(first)
    target = catalogue.entries()[1].target
    assert not first.refuse(target)
    first.accept()
    assert not first.refuse("a/b")
    assert first.refuse(target)
    assert first.face.can_get


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
