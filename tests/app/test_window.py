"""The window's parts: names for everything that can have the focus, the set-up, menus, looks, and faults."""

from __future__ import annotations

import logging

import pytest
from PySide6.QtCore import QEvent, QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from app.palette import DARK, LIGHT
from app.program import FaultSheet
from app.services.engine_worker import EngineState
from app.services.helper_process import StarterSetup
from app.widgets.dialogs import LinkSheet
from app.widgets.feedback import UndoToast
from mtplx_engine.models import starter
from tests.support.fake_script import Script


@pytest.fixture
def opened_urls(monkeypatch):
    urls = []
    monkeypatch.setattr(QDesktopServices, "openUrl", urls.append)
    return urls


# ---------------------------------------------------------------- names


def accessible_name(widget):
    return widget.accessibleName() or getattr(widget, "text", lambda: "")()


def focusable(window):
    return [widget for widget in window.findChildren(QWidget) if widget.focusPolicy() != Qt.FocusPolicy.NoFocus]


@pytest.mark.parametrize("state", ["empty", "answered", "failed"])
def test_everything_that_can_have_the_focus_has_a_name(start, state):
    driver = start(Script(answer_error="It broke." if state == "failed" else ""))
    if state != "empty":
        driver.ask("Why?")
        driver.until_idle()
    shown = [widget for widget in focusable(driver.window) if widget.isVisible()]
    assert len(shown) > 5
    nameless = [widget for widget in shown if not accessible_name(widget)]
    assert nameless == []


def test_what_is_typed_at_once_is_a_message(start):
    driver = start()
    driver.window.activateWindow()
    driver.until(driver.window.isActiveWindow)
    assert QApplication.focusWidget() is driver.composer.edit


def test_tab_goes_round_and_comes_back_to_the_message(start):
    driver = start()
    driver.activate()
    seen = []
    for _ in range(40):
        driver.window.focusNextChild()
        seen.append(QApplication.focusWidget())
        if seen[-1] is driver.composer.edit:
            break
    assert seen[-1] is driver.composer.edit
    assert driver.pane.header.model in seen
    assert driver.window.sidebar.new_button in seen


def test_end_of_an_answer_is_announced(start, monkeypatch):
    spoken = []
    monkeypatch.setattr("app.chat_view.chat_pane.announce", lambda _, sentence: spoken.append(sentence))
    driver = start(Script(cycle_s=0.02))
    driver.ask("Why?")
    driver.until_idle()
    assert set(spoken) == {"The answer is complete."}
    spoken.clear()
    driver.ask("Again?")
    driver.program.session.stop()
    assert set(spoken) == {"The answer was stopped."}


def test_text_that_is_not_ours_is_never_taken_as_html(start):
    driver = start(Script(answer_error="<b>Bold</b> claim"))
    driver.ask("<img src=x>")
    driver.until_idle()
    labels = [label for label in driver.window.findChildren(QLabel) if "<" in label.text()]
    assert labels
    assert {label.textFormat() for label in labels} == {Qt.TextFormat.PlainText}


# ---------------------------------------------------------------- no model yet


class PlayedSetup(QObject):
    progress = Signal(float, str)
    finished = Signal()
    failed = Signal(str)

    def __init__(self, *_):
        super().__init__()
        self.starts = 0

    def start(self):
        self.starts += 1

    def close(self):
        pass


def test_missing_model_is_one_button_away(start, monkeypatch):
    installed = []
    monkeypatch.setattr("app.application.StarterSetup", PlayedSetup)
    driver = start()
    monkeypatch.setattr(starter, "is_installed", lambda *_: bool(installed))
    empty, header = driver.pane.empty, driver.pane.header
    driver.until(empty.action.isVisible)
    assert empty.action.text() == "Get the model"
    assert header.model.text() == "No model"

    empty.action.click()
    setup = driver.program.setup
    assert setup.starts == 1
    setup.progress.emit(0.4, "Downloading the starter model, 37 of 93 MB")
    assert header.model.text() == "Downloading the starter model… 40 %"
    assert header.bar.fraction == pytest.approx(0.4)
    driver.ask("Why?")
    assert driver.answer.words.text() == "Downloading the starter model… 40 %"

    setup.failed.emit("There is no network. Connect and try again.")
    driver.program.session.new_chat()
    assert (empty.action.text(), empty._sentence.text()) == (
        "Try again",
        "There is no network. Connect and try again.",
    )
    empty.action.click()
    assert setup.starts == 2
    installed.append(True)
    setup.finished.emit()
    driver.until(lambda: driver.program.link.state is EngineState.READY)
    driver.until(lambda: driver.program.queue.pending == ())
    assert empty.action.isHidden()


def test_a_question_without_a_model_has_the_button_in_sight(start, monkeypatch, tmp_path):
    installed = []
    monkeypatch.setattr("app.application.StarterSetup", PlayedSetup)
    driver = start()
    monkeypatch.setattr(starter, "is_installed", lambda *_: bool(installed))
    pane, setup = driver.pane, driver.program.setup
    driver.until(pane.empty.action.isVisible)
    assert pane.missing is not None
    assert not pane.missing.isVisible()
    assert not driver.program.window.menus.restart_engine.isEnabled()
    driver.ask("Why?")
    driver.until(pane.missing.isVisible)
    assert "a download of" in pane.missing.label.text()
    assert pane.missing.button.text() == "Get the model"

    pane.missing.button.click()
    assert setup.starts == 1
    assert pane.missing is None
    setup.failed.emit("There is no network. Connect and try again.")
    assert pane.missing.isVisible()
    pane.missing.button.click()
    assert setup.starts == 2
    installed.append(True)
    setup.finished.emit()
    driver.until(lambda: driver.program.queue.pending == ())
    assert pane.missing is None
    assert driver.answer.message.text
    assert driver.program.window.menus.restart_engine.isEnabled()


def run_setup(qtbot, tmp_path, code):
    setup = StarterSetup(tmp_path)
    setup._process._command = ["-c", code]
    seen = []
    setup.progress.connect(lambda fraction, phase: seen.append((fraction, phase)))
    setup.finished.connect(lambda: seen.append("finished"))
    setup.failed.connect(seen.append)
    setup.start()
    return setup, seen


def test_setup_tells_how_far_it_is(qtbot, tmp_path):
    code = "import sys; sys.stderr.write('Downloading, 1 of 2 MB (50%)\\nJoining (95%)\\n')"
    _, seen = run_setup(qtbot, tmp_path, code)
    qtbot.waitUntil(lambda: "finished" in seen)
    assert seen == [(0.5, "Downloading, 1 of 2 MB"), (0.95, "Joining"), "finished"]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            "import sys; sys.exit('The disk is full: 3 MB free. Make room.')",
            "The disk is full: 3 MB free. Make room.",
        ),
        ("import os; os.kill(os.getpid(), 9)", "The set-up ended unexpectedly. Trying again may help."),
    ],
)
def test_setup_that_fails_says_why(qtbot, tmp_path, code, sentence):
    _, seen = run_setup(qtbot, tmp_path, code)
    qtbot.waitUntil(lambda: bool(seen))
    assert seen == [sentence]


def test_setup_that_cannot_begin_is_told_and_can_be_tried_again(qtbot, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", str(tmp_path / "nothing"))
        setup, seen = run_setup(qtbot, tmp_path, "pass")
        qtbot.waitUntil(lambda: bool(seen))
    assert seen == ["The set-up ended unexpectedly. Trying again may help."]
    setup.start()
    qtbot.waitUntil(lambda: seen[1:] == ["finished"])


def test_setup_can_be_left_in_the_middle(qtbot, tmp_path):
    setup, seen = run_setup(qtbot, tmp_path, "import time; time.sleep(60)")
    qtbot.waitUntil(lambda: setup._process._process.processId() > 0)
    setup.close()
    assert not setup._process.running
    assert seen == []


# ---------------------------------------------------------------- looks


def test_follows_the_system_between_light_and_dark(theme, qtbot):
    assert theme.palette is LIGHT
    with qtbot.waitSignal(theme.changed):
        theme.follow(Qt.ColorScheme.Dark)
    assert theme.palette is DARK
    assert QApplication.palette().window().color().name().upper() == DARK.window
    theme.follow(Qt.ColorScheme.Unknown)
    assert theme.palette is LIGHT


def test_whole_window_changes_its_colours(start):
    driver = start()
    driver.ask("Why?")
    driver.until_idle()
    driver.program.theme.use(DARK)
    QApplication.processEvents()
    image = driver.window.grab().toImage()
    assert image.pixelColor(300, 400).name().upper() == DARK.window
    assert image.pixelColor(20, 400).name().upper() == DARK.sidebar
    driver.program.theme.use(LIGHT)


def test_icons_are_tinted_and_sharp(theme):
    pixmap = theme.icons.pixmap("stop", "#FF0000", 20, 2)
    assert pixmap.devicePixelRatio() == 2
    assert pixmap.toImage().pixelColor(20, 20).name() == "#ff0000"
    assert theme.icons.pixmap("stop", "#FF0000", 20, 2) is pixmap


def test_nothing_is_cut_off_in_the_smallest_window(start):
    driver = start()
    driver.ask("A question with a rather long title that will never fit into the header of a small window")
    driver.until_idle()
    driver.window.resize(driver.window.minimumSize())
    QApplication.processEvents()
    assert (driver.window.width(), driver.window.height()) == (640, 480)
    for widget in (driver.composer, driver.composer.button, driver.pane.header.model, driver.answer.figures):
        corner = widget.mapTo(driver.window, widget.rect().bottomRight())
        assert driver.window.rect().contains(corner), widget
        assert widget.width() >= widget.minimumSizeHint().width()


# ---------------------------------------------------------------- small parts


def test_toast_undoes_once_and_goes_away_by_itself(qtbot, theme, monkeypatch):
    parent = QWidget()
    parent.resize(600, 400)
    qtbot.addWidget(parent)
    parent.show()
    toast = UndoToast(parent)
    undone = []
    toast.offer("Deleted “One”", "Undo", lambda: undone.append(1))
    toast.offer("Deleted “Two”", "Undo", lambda: undone.append(2))
    assert parent.rect().contains(toast.geometry())
    toast.button.click()
    assert undone == [2]
    assert not toast.isVisible()
    toast.offer("Deleted “Three”", "Undo", lambda: undone.append(3))
    toast._timer.start(10)
    qtbot.waitUntil(lambda: not toast.isVisible())
    assert undone == [2]


def test_long_notice_is_shown_whole(qtbot, theme):
    parent = QWidget()
    parent.resize(420, 400)
    qtbot.addWidget(parent)
    parent.show()
    toast = UndoToast(parent)
    toast.offer("3 messages cannot be read and are not shown; nothing was deleted. " * 2, "Show Logs", print)
    QApplication.processEvents()
    assert parent.rect().contains(toast.geometry())
    assert toast._label.height() >= toast._label.heightForWidth(toast._label.width())


def test_fault_is_logged_and_shown_once_as_a_calm_sheet(qtbot, caplog, tmp_path, opened_urls):
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    faults = FaultSheet(window, tmp_path)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError) as fault:
            1 / 0  # noqa: B018
        faults.report(fault.type, fault.value, fault.tb)
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3
    assert "ZeroDivisionError" in caplog.text
    shown = faults.sheet.text() + faults.sheet.informativeText()
    assert "Your chats are saved." in shown
    assert "ZeroDivision" not in shown
    show_logs = next(button for button in faults.sheet.buttons() if button.text() == "Show Logs")
    show_logs.click()
    assert opened_urls == [QUrl.fromLocalFile(str(tmp_path))]
    assert not faults.sheet.isVisible()


def test_link_shows_where_it_leads_and_opens_only_when_told(qtbot, opened_urls):
    window = QWidget()
    qtbot.addWidget(window)
    url = QUrl("https://аррle.com/<b>?q=1")  # Cyrillic letters
    refused = LinkSheet(url, window)
    assert "xn--" in refused.owner.text()
    assert "xn--" in refused.address.toPlainText()
    refused.open()
    refused.reject()
    assert opened_urls == []
    accepted = LinkSheet(url, window)
    accepted.open()
    accepted.open_button.click()
    assert opened_urls == [url]
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
