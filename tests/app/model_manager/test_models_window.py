"""The Models window: its places, its keys, and what a person sees and presses in it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QMessageBox

from app.model_manager import window as window_module
from app.model_manager.card import ModelCard
from app.model_manager.downloads import DownloadState
from app.model_manager.hub_client import HubQuestion
from app.model_manager.row_state import Action, Fault, ModelRow
from app.model_manager.token_dialog import TokenDialog
from app.palette import DARK
from app.widgets.dialogs import MessageBox
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.hub import catalogue
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.search import Found
from mtplx_engine.models.memory_fit import MemoryVerdict
from tests.support import models_window
from tests.support.fake_models import HITS, error, row
from tests.support.models_window import FIRST, LOOKS, STARTER

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def show(theme, qtbot):
    """Return the window in one of its states; or the sheet in front of it."""
    shown = []

    def show(state):
        made = state(theme)
        window = made if made.parentWidget() is None else made.parentWidget()
        shown.append(window)
        qtbot.waitUntil(lambda: not window._refreshes._timer.isActive())
        return made

    yield show
    for window in shown:
        window.close()
        window.controller.deleteLater()
        window.deleteLater()


def card(place, key):
    return place.list.cards[key]


def choose(button, name):
    next(action for action in button.menu().actions() if action.text() == name).trigger()


def press(row, name):
    next(button for button in row.buttons if button.text() == name).click()


@pytest.mark.parametrize("state", models_window.STATES)
def test_every_state_is_drawn_in_both_looks(show, theme, state):
    window = show(models_window.STATES[state])
    light = window.grab().toImage()
    theme.use(DARK)
    assert window.grab().toImage() != light


def test_keys_leave_the_details_first_and_then_the_window(show, qtbot):
    window = show(models_window.details)
    qtbot.waitUntil(window.isActiveWindow)
    assert window.details.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert window.search.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isVisible()
    window.open_tab()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window, Qt.Key.Key_W, CTRL)
    assert not window.isVisible()


def test_the_same_place_is_shown_when_its_tab_is_pressed_in_the_details(show):
    window = show(models_window.details)
    window.open_tab(window.search)
    assert window.search.isVisible()


def test_get_fetches_and_its_progress_is_below(show, qtbot):
    window = show(models_window.recommended)
    assert not window.strip.isVisible()
    press(card(window.recommended, catalogue.entries()[0].target), "Get")
    qtbot.waitUntil(window.strip.isVisible)
    downloads = window.controller.downloads
    downloads.put(row(FIRST, done=10**9, bytes_s=1e7, seconds_left=200.0))
    shown = card(window.strip, FIRST)
    qtbot.waitUntil(lambda: shown.bar.fraction == pytest.approx(1 / 3))
    press(shown, "Pause")
    qtbot.waitUntil(lambda: [button.text() for button in shown.buttons] == ["Resume", "Cancel"])
    press(shown, "Resume")
    qtbot.waitUntil(lambda: [button.text() for button in shown.buttons] == ["Pause", "Cancel"])
    press(shown, "Cancel")
    qtbot.waitUntil(lambda: not window.strip.isVisible())
    assert [what for what, _ in downloads.asked] == ["enqueue", "paused", "queued", "cancel"]


def test_the_focus_stays_at_a_button_whose_row_is_told_anew(show, qtbot):
    window = show(models_window.two_downloading)
    window.activateWindow()
    shown = card(window.strip, FIRST)
    shown.buttons[1].setFocus()
    qtbot.waitUntil(shown.buttons[1].hasFocus)
    window.controller.downloads.put(row(FIRST, DownloadState.PAUSED, done=5))
    qtbot.waitUntil(lambda: shown.buttons[0].text() == "Resume")
    assert shown.buttons[1].text() == "Cancel"
    assert shown.buttons[1].hasFocus()


def test_a_failed_download_has_its_one_action(show, qtbot):
    window = show(models_window.paused)
    failed = card(window.strip, models_window.SECOND)
    assert failed.remedy.text() == "Make room and try again"
    failed.remedy.click()
    qtbot.waitUntil(lambda: not failed.remedy.isVisible())


def test_without_a_network_one_card_says_so_and_tries_again(show, qtbot):
    window = show(models_window.offline)
    trouble = window.recommended.trouble
    assert trouble.isVisible()
    trouble.button.click()
    qtbot.waitUntil(lambda: not trouble.isVisible())
    window.controller.hub.answer_looks()
    assert all(face.size for face in window.controller.recommended)


def test_the_offered_model_is_fetched(show, qtbot):
    window = show(models_window.offered)
    offer = window.recommended.offer
    assert offer.isVisible()
    offer.button.click()
    qtbot.waitUntil(lambda: not offer.isVisible())
    assert window.controller.downloads.asked == [("enqueue", models_window.SECOND)]


def test_return_searches_at_once_and_typing_after_a_pause(show, qtbot):
    window = show(models_window.search_empty)
    hub = window.controller.hub
    QTest.keyClicks(window.search.field, "qwen  4b")
    QTest.keyClick(window.search.field, Qt.Key.Key_Return)
    assert hub.searches == ["qwen 4b"]
    QTest.keyClicks(window.search.field, "it")
    assert hub.searches == ["qwen 4b"]
    qtbot.waitUntil(lambda: hub.searches == ["qwen 4b", "qwen 4bit"])


def test_filters_hide_what_does_not_pass(show):
    window = show(models_window.found)
    assert list(window.search.list.cards) == [hit.id for hit in HITS]
    window.search.fitting.click()
    assert list(window.search.list.cards) == [HITS[0].id, HITS[1].id]
    window.search.drafting.click()
    assert list(window.search.list.cards) == [HITS[0].id]


def test_a_size_can_be_chosen(show):
    window = show(models_window.found)
    size = window.search.largest
    assert (size.text(), size.accessibleName()) == ("Any size", "Size: Any size")
    choose(size, "Up to 2 GB")
    assert list(window.search.list.cards) == [HITS[1].id]
    choose(size, "Up to 4 GB")
    assert list(window.search.list.cards) == [HITS[0].id, HITS[1].id, HITS[3].id]
    choose(size, "Any size")
    assert list(window.search.list.cards) == [hit.id for hit in HITS]


def test_a_filter_asks_about_what_was_found(show):
    window = show(models_window.searching)
    hub = window.controller.hub
    hub.found.emit("qwen", Found(HITS[2:]))
    assert hub.looks == []
    window.search.fitting.click()
    hub.answer_looks(LOOKS)
    assert window.controller.inspected_hits == 2


def test_a_search_that_failed_has_its_one_action(show, qtbot):
    window = show(models_window.search_failed)
    assert window.search.trouble.isVisible()
    assert window.search.trouble.button.text() == "Try again when online"
    window.search.trouble.button.click()
    assert window.controller.hub.searches == ["qwen", "qwen"]
    qtbot.waitUntil(lambda: not window.search.trouble.isVisible())


def test_the_sum_grows_with_the_context(show):
    window = show(models_window.details)
    fit = window.details.fit
    sums = []
    for place in range(fit.slider.maximum() + 1):
        fit.slider.setValue(place)
        sums.append(fit.judged.total)
        assert f"{fit.judged.context:,} tokens" in fit.slider.accessibleDescription()
    assert sums == sorted(sums)
    assert fit.judged.context == LOOKS[window.details.repo_id].found.footprint.window


def test_the_details_are_scrolled_with_the_keyboard(show):
    window = show(models_window.details)
    window.resize(720, 440)
    bar = window.details._area.verticalScrollBar()
    assert bar.maximum() > 0
    QTest.keyClick(window.details.back, Qt.Key.Key_PageDown)
    assert bar.value() > 0
    QTest.keyClick(window.details.back, Qt.Key.Key_PageUp)
    assert bar.value() == 0


def test_a_head_that_is_taken_out_of_the_original_is_told_of(show):
    window = show(models_window.taken)
    assert window.details._about.text().endswith(
        "drafts for itself (MTP), its head adds 482 MB, taken out of Qwen/Qwen3.5-9B"
    )
    assert "the drafting head out of Qwen/Qwen3.5-9B · 482 MB" in window.details._files.text()
    window.search.drafting.click()
    assert models_window.TAKEN.id in window.search.list.cards
    window.details.get.click()
    assert (
        window.controller.downloads.rows()[0].total == window.controller.inspection_of(models_window.TAKEN.id).plan.size
    )


def test_what_will_not_fit_is_fetched_when_the_person_insists(show):
    window = show(models_window.will_not_fit)
    assert window.details.fit.judged.verdict is MemoryVerdict.TOO_BIG
    assert window.details.get.text() == "Get Anyway"
    window.details.get.click()
    assert window.controller.downloads.asked == [("enqueue", HITS[2].id.replace("/", "--"))]


def test_each_repository_is_judged_for_itself(show):
    window = show(models_window.will_not_fit)
    window.controller.act_on_repo(HITS[1].id, Action.DETAILS)
    assert window.details.get.text() == "Get"
    window.controller.act_on_repo(HITS[2].id, Action.DETAILS)
    assert window.details.get.text() == "Get Anyway"
    window.controller.act_on_repo(HITS[3].id, Action.DETAILS)
    assert not window.details.get.isVisible()


def test_nothing_in_a_tooltip_is_taken_as_html(theme, qtbot):
    shown = ModelCard(theme, ModelRow("key", "<img src='file:///x'>", because="1 < 2"))
    qtbot.addWidget(shown)
    assert "<img" not in shown._title.toolTip()
    assert "1 &lt; 2" in shown._fit.toolTip()


def test_the_details_of_a_gated_model_lead_to_the_token(show, qtbot):
    window = show(models_window.gated)
    assert window.details.trouble.button.text() == "Add a token"
    window.details.trouble.button.click()
    assert window.findChild(TokenDialog).isVisible()


def test_a_token_is_checked_and_what_was_refused_is_asked_again(show, qtbot):
    sheet = show(models_window.token)
    hub = sheet.parentWidget().controller.hub
    hub.looks.clear()
    sheet.check.click()
    assert hub.tokens == ["hf_12345678"]
    assert not sheet.check.isEnabled()
    hub.failed.emit(HubQuestion.TOKEN, error("The hub does not know this token."), None)
    assert sheet.words.text() == "The hub does not know this token."
    sheet.check.click()
    with qtbot.waitSignal(sheet.accepted):
        hub.token_checked.emit("somebody")
    assert sheet.field.text() == ""
    assert hub.looks == [models_window.GATED]


@pytest.mark.parametrize(("lasts", "words"), [(True, "in the keychain"), (False, "until MTPLX quits")])
def test_the_sheet_says_where_a_token_stays(theme, qtbot, lasts, words):
    hub = models_window.controller().hub
    sheet = TokenDialog(theme, hub, "hub.test", lasts=lasts)
    qtbot.addWidget(sheet)
    assert words in sheet.where.text()
    assert not sheet.check.isEnabled()


def test_delete_asks_first(show):
    window = show(models_window.recommended)
    window.open_tab(window.installed)
    more = card(window.installed, str(STARTER.path)).more.menu()
    next(action for action in more.actions() if action.text() == "Delete…").trigger()
    box = window.findChild(MessageBox)
    assert "270 MB" in box.informativeText()
    assert "It is loaded" not in box.informativeText()
    library = window.controller.library
    assert ("remove", STARTER.path) not in library.asked
    next(b for b in box.buttons() if box.buttonRole(b) is QMessageBox.ButtonRole.DestructiveRole).click()
    assert ("remove", STARTER.path) in library.asked


def test_delete_says_that_a_model_is_loaded(show):
    window = show(models_window.recommended)
    window.controller.library.in_use = STARTER.path
    window.controller.installed.act(str(STARTER.path), Action.DELETE)
    assert "It is loaded" in window.findChild(MessageBox).informativeText()


def test_a_folder_is_taken_off_the_list_after_a_question(show):
    window = show(models_window.installed_place)
    place = Path(models_window.ELSEWHERE.place)
    more = card(window.installed, str(models_window.ELSEWHERE.path)).more.menu()
    [action] = more.actions()  # also of what is not connected
    action.trigger()
    box, library = window.findChild(MessageBox), window.controller.library
    assert str(place) in box.text()
    assert ("forget_folder", place) not in library.asked
    next(b for b in box.buttons() if box.buttonRole(b) is QMessageBox.ButtonRole.DestructiveRole).click()
    assert ("forget_folder", place) in library.asked


def test_a_folder_of_the_persons_own_is_added(show, monkeypatch):
    window = show(models_window.none_installed)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "/big/models")
    window.installed.add.click()
    assert window.controller.library.asked[-1] == ("add_folder", Path("/big/models"))


def test_what_belongs_to_no_row_is_said_in_front(show):
    window = show(models_window.none_installed)
    failure = ErrorInfo(ErrorKind.NOT_FOUND, "/empty has no model in it.")
    window.controller.library.failed.emit(Path("/empty"), failure)
    assert window.findChild(MessageBox).informativeText() == "/empty has no model in it."


def test_a_screen_reader_hears_when_a_model_is_there(show, monkeypatch):
    window = show(models_window.two_downloading)
    said = []
    monkeypatch.setattr(window_module, "announce", lambda _, sentence: said.append(sentence))
    window.controller.downloads.finish(FIRST)
    assert said == ["Qwen3.5-4B-MLX-4bit is installed."]


def test_the_tab_counts_and_the_disk_is_told(show):
    window = show(models_window.installed_place)
    assert "Installed (4)" in [button.text() for button in window.tabs.buttons]
    assert window._room.text() == "Disk 214 GB free"
    window._free_bytes = lambda: None
    window._refresh()
    assert window._room.text() == "Models folder not connected"


def test_tab_goes_through_the_rows_as_they_are_seen(show, qtbot):
    window = show(models_window.recommended)
    names = [entry.target for entry in catalogue.entries()]
    # Buttons of the first rows are the newest ones.
    for repo_id in reversed(names[:2]):
        window.controller.lookups.inspections.pop(repo_id)
        window.controller.lookups.faults[repo_id] = Fault("Gone.", HubErrorKind.NOT_FOUND)
        window._refresh()
        del window.controller.lookups.faults[repo_id]
        window.controller.lookups.inspections[repo_id] = LOOKS[repo_id]
        window._refresh()
    wanted = [button for name in names for button in card(window.recommended, name).buttons]
    reached, widget = [], window
    for _ in range(200):
        widget = widget.nextInFocusChain()
        if widget in wanted:
            reached.append(widget)
    assert reached[: len(wanted)] == wanted


def test_the_offered_model_is_not_listed_a_second_time(show, qtbot):
    window = show(models_window.offered)
    offered = window.controller.offer.repo_id
    assert offered not in window.recommended.list.cards
    assert len(window.recommended.list.cards) == len(catalogue.entries()) - 1
    window.recommended.offer.details.click()
    assert window.details.isVisible()
    assert window.details.repo_id == offered


def test_all_that_is_halted_goes_on_and_all_that_is_done_goes_away(show, qtbot):
    window = show(models_window.two_downloading)
    strip, downloads = window.strip, window.controller.downloads
    window._refresh()
    assert (strip.resume_all.isVisible(), strip.clear_all.isVisible()) == (False, False)
    for name in ("a--one", "a--two"):
        downloads.put(row(name, DownloadState.PAUSED))
        downloads.put(row(f"{name}-done", DownloadState.DONE))
    window._refresh()
    strip.resume_all.click()
    assert downloads.asked == [("queued", "a--one"), ("queued", "a--two")]
    strip.clear_all.click()
    assert downloads.asked[2:] == [("cancel", "a--one-done"), ("cancel", "a--two-done")]
    window._refresh()
    assert (strip.resume_all.isVisible(), strip.clear_all.isVisible()) == (False, False)


@pytest.mark.parametrize("height", [440, 600, 900])
def test_downloads_take_a_third_of_a_low_window(show, height):
    window = show(models_window.two_downloading)
    for number in range(6):
        window.controller.downloads.put(row(f"a--{number}", DownloadState.PAUSED))
    window._refresh()
    window.resize(860, height)
    assert window.strip.height() <= height // 3
    assert window.strip.list.height() >= card(window.strip, FIRST).height()


def test_of_two_downloads_with_one_title_it_is_said_whose_they_are(show):
    window = show(models_window.recommended)
    for owner in ("acme", "other"):
        window.controller.downloads.put(row(f"{owner}--toy"))
    window.controller.downloads.put(row("acme--alone"))
    assert [face.title for face in window.controller.installed.download_rows] == [
        "toy by acme",
        "toy by other",
        "alone",
    ]


def test_the_end_of_a_long_name_can_be_read(show):
    window = show(models_window.recommended)
    name = "Llama-70B-with-an-exceedingly-long-name-that-somebody-thought-was-good-4bit"
    window.controller.library.list(models_window.installed(name))
    window.open_tab(window.installed)
    window.resize(720, 440)
    window._refresh()
    shown = card(window.installed, f"/models/{name}")._title
    assert QLabel.text(shown).startswith("Llama")
    assert QLabel.text(shown).endswith("-4bit")
    assert "…" in QLabel.text(shown)
    assert shown.toolTip()


def test_get_is_advised_only_where_it_fits(show):
    window = show(models_window.will_not_fit)
    assert (window.details.get.text(), window.details.get.property("primary")) == ("Get Anyway", False)
    window.controller.act_on_repo(catalogue.entries()[0].target, Action.DETAILS)
    assert (window.details.get.text(), window.details.get.property("primary")) == ("Get", True)


def test_a_context_is_chosen_only_where_there_is_a_choice(show):
    window = show(models_window.details)
    fit = window.details.fit
    assert fit.slider.isVisible()
    fit.show_footprint(dataclasses.replace(fit._footprint, window=2048))
    assert not fit.slider.isVisible()
    assert fit._context.text() == "2,048 tokens, all that it reads"


def test_rows_in_sight_are_asked_about_and_no_others(show, qtbot):
    window = show(models_window.searching)
    hub = window.controller.hub
    many = tuple(dataclasses.replace(HITS[2], id=f"somebody/model-{number}") for number in range(40))
    window.resize(860, 600)
    hub.found.emit("qwen", Found(many))
    qtbot.waitUntil(lambda: bool(window.controller.lookups.asking))
    first = window.controller.lookups.asking
    assert many[0].id in first
    assert len(first) <= 12
    bar = window.search.list.verticalScrollBar()

    def last_is_asked_about():
        bar.setValue(bar.maximum())  # which grows while the rows are laid out
        return many[-1].id in window.controller.lookups.asking

    qtbot.waitUntil(last_is_asked_about)
    assert len(window.controller.lookups.asking - first) <= 12
    assert window.controller.lookups.asking & first <= {hub.looks[0]}
    assert {button.text() for button in card(window.search, many[0].id).buttons} == {"Get", "Details"}


@pytest.mark.parametrize(("lasts", "words"), [(True, "Check and Keep"), (False, "Check and Use")])
def test_nothing_is_said_to_be_kept_where_it_is_not(theme, qtbot, lasts, words):
    sheet = TokenDialog(theme, models_window.controller().hub, "hub.test", lasts=lasts)
    qtbot.addWidget(sheet)
    assert sheet.check.text() == words
