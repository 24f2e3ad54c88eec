"""Messages in the real program, with an engine that follows a script: branches, files, the window, and every Stop."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, QRect, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest

from app.chat.conversation import MessageStatus
from app.chat.generation import RowAction
from app.chat.settings import ChatSettings
from app.chat_view.chat_pane import DetailsPopover
from app.chat_view.question_row import QuestionRow
from app.services.engine_worker import EngineState
from tests.support.fake_script import Script

ECHO = Script(answer="You said: {question}", cycle_s=0.002)
ENDLESS = Script(answer="word " * 2000, cycle_s=0.01)


def ready(driver):
    driver.until(lambda: driver.program.link.state is EngineState.READY)
    return driver


# ---------------------------------------------------------------- branches


def test_chat_menu_acts_on_the_newest_messages_while_it_can(start):
    driver = start(ECHO)
    menus = driver.window.menus
    commands = (menus.answer_again, menus.edit_last, menus.details, menus.delete_answer, menus.next_version)
    assert not any(command.isEnabled() for command in commands)
    driver.ask("One")
    driver.until_idle()
    assert [command.isEnabled() for command in commands] == [True, True, True, True, False]
    assert [key.toString() for key in menus.answer_again.shortcuts()] == ["Ctrl+R"]

    menus.answer_again.trigger()
    driver.until_idle()
    assert driver.answer.footer._place.text() == "2/2"
    menus.previous_version.trigger()
    assert driver.answer.footer._place.text() == "1/2"
    driver.until_offered()
    menus.next_version.trigger()
    assert driver.answer.footer._place.text() == "2/2"

    driver.until_offered()
    menus.edit_last.trigger()
    question = driver.transcript.rows[0]
    assert isinstance(question, QuestionRow)
    question.editor.edit.set_text("Two")
    question.editor.send.click()
    driver.until_idle()
    assert driver.shown_text == "You said: Two"
    assert driver.transcript.rows[0].footer._place.text() == "2/2"


def test_a_message_that_is_no_longer_edited_gives_the_keyboard_back(start):
    driver = start(ECHO)
    driver.activate()
    driver.ask("One")
    driver.until_idle()
    for leave in (
        lambda row: QTest.keyClick(row.editor.edit, Qt.Key.Key_Escape),
        lambda row: row.editor.cancel.click(),
    ):
        driver.window.menus.edit_last.trigger()
        row = driver.transcript.rows[0]
        driver.until(row.editor.edit.hasFocus)
        leave(row)
        assert row.editor is None
        assert driver.composer.edit.hasFocus()


def test_an_answer_without_a_word_says_so_and_can_be_asked_again(start):
    driver = start(Script(answer=""))
    driver.ask("One")
    driver.until_idle()
    assert driver.answer.silence.isVisible()
    assert driver.answer.silence.text() == "The model said nothing."
    assert not driver.answer.waiting.isVisible()
    again = driver.answer.footer.button(RowAction.REGENERATE)
    assert again.isEnabled()
    assert again.revealed
    QCoreApplication.sendEvent(driver.answer, QEvent(QEvent.Type.Leave))
    assert again.revealed


def test_an_answer_with_words_is_not_called_silent(start):
    driver = start(ECHO)
    driver.ask("One")
    driver.until(lambda: len(driver.transcript.rows) == 2)
    assert not driver.answer.silence.isVisible()
    driver.until_idle()
    assert not driver.answer.silence.isVisible()
    assert not driver.answer.footer.button(RowAction.REGENERATE).revealed


def test_branches_are_the_same_after_a_restart(start):
    driver = start(ECHO)
    driver.ask("One")
    driver.until_idle()
    driver.pane.act(RowAction.VARIED, driver.answer.message.id)
    driver.until_idle()
    driver.pane.act(RowAction.PREVIOUS, driver.answer.message.id)
    shown = driver.answer.message.id
    driver = start(ECHO)
    driver.until(lambda: len(driver.transcript.rows) == 2)
    assert driver.answer.message.id == shown
    assert driver.answer.footer._place.text() == "1/2"


def test_a_deleted_message_comes_back_from_the_toast(start):
    driver = start(ECHO)
    for question in ("One", "Two"):
        driver.ask(question)
        driver.until_idle()
    driver.pane.act(RowAction.DELETE, driver.transcript.rows[2].message.id)
    assert len(driver.transcript.rows) == 2
    assert driver.window.toast._label.text() == "Deleted 2 messages"
    driver.window.toast.button.click()
    assert [row.message.text for row in driver.transcript.rows][2:] == ["Two", "You said: Two"]


def test_a_stopped_answer_is_continued(start):
    driver = start(ENDLESS)
    driver.ask("Count")
    driver.until(lambda: len(driver.shown_text) > 40)
    driver.composer.button.click()
    driver.until_idle()
    button = driver.answer.footer.button(RowAction.RESUME)
    driver.until(button.isVisible)
    length = len(driver.answer.message.text)
    button.click()
    driver.until(lambda: len(driver.shown_text) > length + 40)
    assert set(driver.shown_text.split()) == {"word"}
    assert len(driver.transcript.rows) == 2


def test_details_are_one_click_away(start):
    driver = start(ECHO)
    driver.ask("One")
    driver.until_idle()
    driver.window.menus.details.trigger()
    popover = driver.pane.findChild(DetailsPopover)
    assert popover.isVisible()
    popover.close()


# ---------------------------------------------------------------- thinking


def test_thinking_is_shown_kept_and_never_part_of_the_title_or_the_copy(start, qapp):
    script = Script(answer="Short.", thinking="A long thought about it.", cycle_s=0.002)
    driver = start(script)
    driver.ask("Why?")
    driver.until_idle()
    assert driver.answer.thoughts.text() == "A long thought about it."
    assert driver.shown_text == "Short."
    driver.pane.copy_last_answer()
    assert QGuiApplication.clipboard().text() == "Short."
    assert driver.pane.header.title.text() == "Why?"
    driver = start(script)
    driver.until(lambda: len(driver.transcript.rows) == 2)
    assert driver.answer.thoughts.text() == "A long thought about it."


# ---------------------------------------------------------------- the context window


def fill(driver, **settings):
    """A chat of two turns of about 100 tokens each, in a small window."""
    ready(driver)
    for _ in range(2):
        driver.composer.set_text("word " * 45)
        driver.composer.edit.submitted.emit()
        driver.until_idle()
    driver.program.session.set_settings(ChatSettings(**settings))


def test_what_does_not_fit_is_not_sent_and_nothing_typed_is_lost(start):
    driver = start(ECHO)
    fill(driver, context=256)
    long = "more " * 150
    driver.composer.set_text(long)
    driver.composer.edit.submitted.emit()
    driver.until(lambda: driver.pane.composing.card is not None)
    card = driver.pane.composing.card
    assert card.label.text() == "With this message the chat is 339 tokens long, and its window holds 256."
    assert [button.text() for button in card.buttons] == [
        "Raise the window to 1,024",
        "Leave out all earlier messages",
        "Shorten",
    ]
    assert driver.composer.text() == long
    assert len(driver.transcript.rows) == 4

    card.buttons[2].click()
    assert driver.pane.composing.card is None
    assert driver.composer.text() == long


def test_an_edited_message_that_does_not_fit_is_not_sent_and_stays_in_its_editor(start):
    driver = start(ECHO)
    fill(driver, context=256)
    question = driver.transcript.rows[2]
    driver.pane.act(RowAction.EDIT, question.message.id)
    question.editor.edit.set_text("more " * 300)
    question.editor.send.click()
    driver.until(lambda: driver.pane.composing.card is not None)
    assert "its window holds 256" in driver.pane.composing.card.label.text()
    assert question.editor.edit.toPlainText() == "more " * 300
    assert len(driver.program.session.shown.messages) == 4
    assert driver.answer.card is None
    driver.pane.composing.card.buttons[0].click()
    driver.until(lambda: len(driver.program.session.shown.messages) == 6)
    driver.until_idle()
    assert driver.answer.message.status is MessageStatus.DONE


@pytest.mark.parametrize("action", [RowAction.REGENERATE, RowAction.VARIED, RowAction.RESUME])
def test_an_answer_is_not_asked_again_where_its_question_no_longer_fits(start, action):
    driver = start(ECHO)
    fill(driver, max_tokens=5)
    driver.ask("Why?")
    driver.until_idle()
    answer = driver.answer.message
    driver.program.session.set_settings(ChatSettings(context=100))
    driver.pane.act(action, answer.id)
    driver.until(lambda: driver.pane.composing.card is not None)
    assert len(driver.program.session.shown.messages) == 6
    assert driver.answer.message == answer
    ways = {button.text(): button for button in driver.pane.composing.card.buttons}
    ways["Leave out all earlier messages"].click()
    driver.until_idle()
    assert driver.answer.message.status is MessageStatus.DONE
    assert driver.pane.composing.card is None


def test_a_raised_window_takes_the_message(start):
    driver = start(ECHO)
    fill(driver, context=256)
    driver.composer.set_text("more " * 150)
    driver.composer.edit.submitted.emit()
    driver.until(lambda: driver.pane.composing.card is not None)
    driver.pane.composing.card.buttons[0].click()
    driver.until(lambda: len(driver.transcript.rows) == 6)
    driver.until_idle()
    assert driver.program.session.settings.context == 1024
    assert driver.answer.message.status is MessageStatus.DONE
    assert driver.composer.text() == ""


def test_what_is_left_out_is_marked_and_can_be_read_again(start):
    driver = start(ECHO)
    fill(driver, context=256)
    driver.composer.set_text("more " * 80)
    driver.composer.edit.submitted.emit()
    driver.until(lambda: driver.pane.composing.card is not None)
    driver.pane.composing.card.buttons[1].click()
    driver.until(lambda: len(driver.transcript.rows) == 6)
    driver.until_idle()
    assert driver.answer.message.status is MessageStatus.DONE
    marked = [row for row in driver.transcript.rows if isinstance(row, QuestionRow) and row.boundary.isVisible()]
    assert [row.message.id for row in marked] == [driver.program.session.settings.reads_from]
    driver.pane.act(RowAction.READ_ALL, marked[0].message.id)
    assert not marked[0].boundary.isVisible()


def test_a_message_is_asked_alone_when_nothing_else_fits(start):
    driver = start(Script(answer="{turns}", cycle_s=0.002))
    fill(driver, context=256)
    driver.composer.set_text("more " * 180)
    driver.composer.edit.submitted.emit()
    driver.until(lambda: driver.pane.composing.card is not None)
    driver.pane.composing.card.buttons[1].click()
    driver.until_idle()
    assert driver.shown_text == "1"
    question = driver.transcript.rows[-2]
    assert question.boundary.isVisible()
    assert driver.program.session.settings.reads_from == question.message.id
    assert driver.composer.text() == ""


def test_what_only_the_engine_can_refuse_has_the_same_ways_out(start):
    driver = start(Script(answer="Fine.", window=300, load_s=0.5))
    driver.composer.set_text("word " * 400)
    driver.composer.edit.submitted.emit()
    driver.until(lambda: driver.pane.composing.card is not None)
    assert "401 tokens long, and its window holds 300" in driver.pane.composing.card.label.text()
    assert driver.answer.card.isHidden()  # or the same is said twice
    [shorten] = driver.pane.composing.card.buttons
    shorten.click()
    question = driver.transcript.rows[0]
    question.editor.edit.set_text("word")
    question.editor.send.click()
    driver.until_idle()
    assert driver.shown_text == "Fine."


def test_a_window_that_the_engine_found_too_small_is_raised_and_the_question_asked_again(start):
    driver = start(Script(answer="Fine.", load_s=0.5))
    driver.program.session.set_settings(ChatSettings(context=300))
    driver.composer.set_text("word " * 400)
    driver.composer.edit.submitted.emit()
    driver.until(lambda: driver.pane.composing.card is not None)
    driver.pane.composing.card.buttons[0].click()
    driver.until_idle()
    assert driver.shown_text == "Fine."
    assert driver.pane.composing.card is None
    assert len(driver.transcript.rows) == 2


def test_d11_the_ring_counts_what_the_engine_counts(start):
    driver = start(Script(answer="one two three", thinking="hm hm", cycle_s=0.002))
    ready(driver)
    driver.program.session.set_settings(ChatSettings(system_prompt="be very brief", context=100))
    driver.type("why not")
    driver.until(lambda: driver.composer.ring.share == 0.05)
    assert driver.composer.ring.accessibleName() == "5 of 100 tokens, 5 %"
    driver.composer.edit.submitted.emit()
    driver.until_idle()
    driver.until(lambda: driver.composer.ring.share == 0.08)


# ---------------------------------------------------------------- files


def test_a_dropped_file_goes_with_the_message_and_is_shown_with_it(start, tmp_path):
    driver = start(Script(answer="{question}", cycle_s=0.002))
    ready(driver)
    (tmp_path / "tides.csv").write_text("time,height\n06:12,4.1\n")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "tides.csv"))])
    driver.composer.edit.insertFromMimeData(data)
    driver.until(lambda: len(driver.composer.chips.chips) == 1)
    chip = driver.composer.chips.chips[0]
    driver.until(lambda: chip.words() == "22 bytes · 6 tokens")
    assert driver.composer.text() == ""
    driver.ask("Sum it")
    driver.until_idle()
    assert driver.answer.message.text.startswith("File “tides.csv”:\n```\ntime,height")
    assert driver.composer.chips.chips == ()
    row = driver.transcript.rows[0]
    assert [chip.attachment.name for chip in row.files.chips] == ["tides.csv"]
    assert row.files.chips[0].close_button is None
    driver = start(ECHO)
    driver.until(lambda: len(driver.transcript.rows) == 2)
    assert [chip.attachment.name for chip in driver.transcript.rows[0].files.chips] == ["tides.csv"]


def test_a_file_alone_is_a_message_and_gives_its_name_to_the_chat(start, tmp_path):
    driver = start(ECHO)
    ready(driver)
    (tmp_path / "notes.txt").write_text("low water")
    driver.pane.composing._attaching.add([tmp_path / "notes.txt"])
    driver.until(lambda: len(driver.composer.chips.chips) == 1)
    assert driver.composer.button.isEnabled()
    driver.composer.button.click()
    driver.until_idle()
    assert driver.pane.header.title.text() == "notes.txt"
    assert not driver.transcript.rows[0].bubble.isVisible()


def test_pictures_and_binaries_are_refused_in_plain_words(start, tmp_path):
    driver = start(ECHO)
    data = QMimeData()
    data.setImageData(QImage(8, 8, QImage.Format.Format_RGB32))
    driver.composer.edit.insertFromMimeData(data)
    assert driver.pane.composing.card.label.text() == ("Images cannot be read; only text, code, CSV and PDF are.")
    driver.pane.composing.card.buttons[0].click()
    assert driver.pane.composing.card is None
    (tmp_path / "a.out").write_bytes(b"\x7fELF\0\0")
    driver.pane.composing._attaching.add([tmp_path / "a.out"])
    driver.until(lambda: driver.pane.composing.card is not None)
    assert "“a.out” is no text" in driver.pane.composing.card.label.text()


def test_every_file_that_was_refused_is_named(start, tmp_path):
    driver = start(ECHO)
    paths = [tmp_path / f"{number}.bin" for number in range(12)]
    for path in paths:
        path.write_bytes(b"\x7fELF\0\0")
    composing = driver.pane.composing
    composing._attaching.add(paths[:4])
    driver.until(lambda: not composing._attaching._reader.busy)
    assert [line.split()[0] for line in composing.card.label.text().split("\n")] == [
        "“0.bin”",
        "“1.bin”",
        "“2.bin”",
        "“3.bin”",
    ]
    composing._attaching.add([paths[5]])
    driver.until(lambda: not composing._attaching._reader.busy)
    assert composing.card.label.text().startswith("“5.bin”")
    assert "\n" not in composing.card.label.text()


def test_nothing_lies_over_anything_in_a_small_window(start, tmp_path):
    driver = start(ECHO)
    ready(driver)
    driver.window.resize(640, 480)
    (tmp_path / "bad.bin").write_bytes(b"\x7fELF\0\0")
    names = ("a rather long name of a file.txt", "b.txt", "c.txt")
    for name in names:
        (tmp_path / name).write_text("x")
    driver.pane.composing._attaching.add([tmp_path / "bad.bin", *(tmp_path / name for name in names)])
    driver.until(lambda: len(driver.composer.chips.chips) == 3)
    driver.until(lambda: driver.composer.chips.chips[2].words().endswith("tokens"))
    pane = driver.pane
    card, empty = pane.composing.card, pane.empty
    parts = [*driver.composer.chips.chips, driver.composer.edit, card.label, *card.buttons]
    parts += [empty._name, empty._sentence, *empty._samples]
    seen = [part for part in parts if part.isVisible()]
    assert all(part in seen for part in parts[:6])
    driver.until(lambda: card.label.height() >= card.label.heightForWidth(card.label.width()))
    for part in seen:
        if part.hasHeightForWidth():
            assert part.height() >= part.heightForWidth(part.width())

    def boxes():
        return [QRect(part.mapTo(pane, QPoint()), part.size()) for part in seen]

    def overlapping():
        return [(one, other) for one, other in itertools.combinations(boxes(), 2) if one.intersects(other)]

    driver.until(lambda: not overlapping())  # a layout is done in the next turn of the event loop
    assert all(pane.rect().contains(box) for box in boxes())


def test_samples_come_back_with_the_room(start):
    driver = start(ECHO)
    ready(driver)
    samples = driver.pane.empty._samples
    for height, count in ((720, 3), (380, 1), (720, 3)):
        driver.window.setMinimumHeight(0)
        driver.window.resize(1080, height)
        driver.until(lambda count=count: sum(each.isVisible() for each in samples) == count)


def test_that_there_are_too_many_files_is_said_beside_what_was_wrong_with_the_others(start, tmp_path):
    driver = start(ECHO)
    composing = driver.pane.composing
    composing._attaching.add([tmp_path / "missing.txt"] * 11)
    driver.until(lambda: not composing._attaching._reader.busy)
    lines = composing.card.label.text().split("\n")
    assert lines[0] == "A message takes 10 files at most."
    assert len(lines) == 11


def test_a_removed_file_stays_behind_and_files_stay_with_their_chat(start, tmp_path):
    driver = start(ECHO)
    ready(driver)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x")
    driver.pane.composing._attaching.add([tmp_path / "a.txt", tmp_path / "b.txt"])
    driver.until(lambda: len(driver.composer.chips.chips) == 2)
    driver.composer.chips.chips[0].close_button.click()
    assert [file.name for file in driver.composer.chips.attachments] == ["b.txt"]
    first = driver.program.session.chat_id
    driver.ask("One")
    driver.until_idle()
    driver.pane.composing._attaching.add([tmp_path / "a.txt"])
    driver.until(lambda: len(driver.composer.chips.chips) == 1)
    driver.program.session.new_chat()
    assert driver.composer.chips.attachments == ()
    driver.program.session.open_chat(first)
    driver.until(lambda: [file.name for file in driver.composer.chips.attachments] == ["a.txt"])


# ---------------------------------------------------------------- the cases of other apps


@pytest.mark.parametrize(
    ("script", "stage"),
    [
        (Script(load_s=5), EngineState.LOADING),
        (Script(prefill_s=5), EngineState.READY),
        (Script(cycle_s=5), EngineState.READY),
    ],
    ids=["loading", "prefill", "before the first token"],
)
def test_d2_stop_ends_it_at_any_stage(start, script, stage):
    driver = start(script)
    driver.until(lambda: driver.program.link.state is stage)
    driver.ask("Why tides?")
    assert driver.program.session.busy
    if stage is EngineState.READY:
        driver.until(lambda: driver.program.session.generation.prefill is not None)
    driver.composer.button.click()
    assert not driver.program.session.busy
    assert driver.answer.message.status is MessageStatus.STOPPED
    driver.type("Next?")
    assert driver.composer.button.isEnabled()
    driver.until(lambda: driver.answer.message.text == "")
    driver = start(ECHO)
    driver.until(lambda: len(driver.transcript.rows) == 2)
    assert [row.message.text for row in driver.transcript.rows] == ["Why tides?", ""]


def test_d3_end_marks_in_words_are_words(start):
    answer = "It prints <|im_end|> and </s> and goes on."
    driver = start(Script(answer=answer, cycle_s=0.002))
    driver.ask("Print <|im_end|> and </s>")
    driver.until_idle()
    assert driver.shown_text == answer
    assert driver.transcript.rows[0].bubble.text() == "Print <|im_end|> and </s>"


def test_d9_the_place_is_kept_while_the_answer_grows(start):
    driver = start(Script(answer="A paragraph that is a line or so.\n\n" * 200, cycle_s=0.005))
    driver.ask("Go on")
    bar = driver.transcript.verticalScrollBar()
    driver.until(lambda: bar.maximum() > 400)
    assert driver.transcript.following
    bar.setValue(bar.maximum() - 200)
    place, end = bar.value(), bar.maximum()
    assert driver.transcript.latest.isVisible()
    driver.until(lambda: bar.maximum() > end + 200)
    assert bar.value() == place
    driver.transcript.latest.click()
    assert driver.transcript.following
    end = bar.maximum()
    driver.until(lambda: bar.maximum() > end + 200)
    assert bar.value() == bar.maximum()


def test_d15_chats_keep_their_tokens_drafts_and_stops_to_themselves(start):
    driver = start(ENDLESS)
    session = driver.program.session
    driver.ask("In A")
    chat_a = session.chat_id
    driver.until(lambda: len(driver.shown_text) > 20)
    driver.type("draft of A")
    session.new_chat()
    assert driver.composer.text() == ""
    driver.type("draft of B")
    session.stop()
    session.open_chat(chat_a)
    driver.until(lambda: session.chat_id == chat_a)
    assert session.busy
    assert driver.composer.text() == "draft of A"
    length = len(driver.shown_text)
    driver.until(lambda: len(driver.shown_text) > length)
    session.new_chat()
    assert driver.composer.text() == "draft of B"
    driver.composer.edit.submitted.emit()
    assert driver.answer.message.text == ""
    session.stop()
    session.open_chat(chat_a)
    assert session.busy
    assert set(driver.shown_text.split()) == {"word"}
    session.stop()
    assert not session.busy
