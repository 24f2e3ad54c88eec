"""From Send to the end of an answer: order, stops at every stage, several chats, and everything that can fail."""

from __future__ import annotations

import dataclasses

import pytest

from app.chat.conversation import MessageStatus, Role
from app.chat.settings import ChatSettings
from app.services.engine_worker import EngineState
from mtplx_engine.config import ChatMessage
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import DepthChosen, DepthReason
from mtplx_engine.stats import DecodeStats, FinishReason
from tests.support.fake_services import MODEL

# ---------------------------------------------------------------- the ordinary way


def test_answer_streams_and_is_kept(ready):
    assert ready.actions.send("Why tides?")
    [request] = ready.link.asked
    assert request.messages == (ChatMessage("user", "Why tides?"),)
    assert request.sampler.temperature == 0.7
    assert request.sampler.speculative_depth == "auto"
    assert ready.session.busy

    ready.link.say("The ")
    ready.link.say("Moon.")
    assert ready.texts[ready.answer.id] == "The Moon."
    assert ready.store.calls[-1] == ("answer_progress", ready.answer.id, "The Moon.")

    stats = DecodeStats(emitted=4)
    ready.link.finish(text="!", stats=stats)
    assert not ready.session.busy
    assert (ready.answer.text, ready.answer.status) == ("The Moon.!", MessageStatus.DONE)
    assert (ready.answer.stats, ready.answer.model) == (stats, "Toy")
    assert ready.store.messages[ready.answer.id] == ready.answer


def test_nothing_reaches_the_engine_before_it_is_on_the_disk(ready):
    ready.store.hold = True
    ready.actions.send("Why tides?")
    assert ready.link.asked == []
    assert ready.session.busy
    ready.store.release()
    assert len(ready.link.asked) == 1


def test_chat_comes_before_its_messages_and_has_a_title(ready):
    titles = []
    ready.session.listed.connect(lambda chat: titles.append(chat.title))
    ready.actions.send("Why are there\ntides?")
    chat_id = ready.session.shown.chat.id
    assert [call[0] for call in ready.store.calls[:3]] == ["add_chat", "add_message", "add_message"]
    assert ready.store.chats[chat_id].title == "Why are there tides?"
    assert set(titles) == {"Why are there tides?"}


def test_second_question_carries_the_first_turn(ready):
    ready.actions.send("One?")
    ready.link.say("1.")
    ready.link.finish()
    ready.actions.send("Two?")
    assert [m.content for m in ready.link.asked[-1].messages] == ["One?", "1.", "Two?"]
    assert [call[0] for call in ready.store.calls].count("add_chat") == 1


def test_drafting_choice_holds_from_the_next_answer_on(ready):
    ready.actions.send("One?")
    ready.line.drafting = 0
    assert ready.link.asked[-1].sampler.speculative_depth == "auto"
    ready.link.finish()
    ready.actions.send("Two?")
    assert ready.link.asked[-1].sampler.speculative_depth == 0


def test_length_limit_is_told(ready):
    ready.actions.send("A long story")
    ready.link.finish(FinishReason.LENGTH)
    assert ready.answer.status is MessageStatus.LENGTH


@pytest.mark.parametrize("text", ["", "  \n"])
def test_blank_is_not_taken(ready, text):
    assert not ready.actions.send(text)
    assert ready.store.calls == []


def test_one_question_at_a_time_in_a_chat(ready):
    ready.actions.send("One?")
    assert not ready.actions.send("Two?")
    assert ready.roles == [Role.USER, Role.ASSISTANT]


def test_events_of_another_generation_are_ignored(ready):
    ready.actions.send("One?")
    ready.link.finish()
    ready.actions.send("Two?")
    ready.link.finish(generation=ready.link.asked[0].generation, text="late")
    assert ready.session.busy
    assert ready.answer.text == ""


# ---------------------------------------------------------------- while the model loads


def test_question_asked_while_loading_is_answered_once_the_model_is_in(bench):
    bench.link.become(EngineState.LOADING)
    bench.line.set_progress("Loading Toy… 62 %")
    bench.actions.send("Why tides?")
    assert bench.link.asked == []
    assert bench.waits[bench.answer.id] == "Loading Toy… 62 %"
    assert [call[0] for call in bench.store.calls][:2] == ["add_chat", "add_message"]
    bench.link.become_ready()
    assert len(bench.link.asked) == 1
    assert bench.waits[bench.answer.id] == ""


def test_long_prompts_say_how_far_reading_is(ready):
    ready.actions.send("Long")
    ready.link.read(512, 2048)
    assert ready.waits[ready.answer.id] == "Reading… 512 of 2,048 tokens"
    ready.link.read(2048, 2048)
    assert ready.waits[ready.answer.id] == ""


def test_the_chip_says_how_deep_is_drafted_and_why(ready):
    shown = []
    ready.session.reading.connect(lambda _, depth: shown.append(depth))
    ready.actions.send("Why tides?")
    ready.link.choose_depth(2, DepthReason.FASTEST, 1.4)
    ready.link.say("The ")
    ready.line._clock.timeout.emit()
    ready.link.choose_depth(0, DepthReason.PARKED, 0.9)
    ready.line._clock.timeout.emit()
    assert [depth.depth for depth in shown] == [2, 0]
    ready.link.happened.emit(DepthChosen(99, 5, DepthReason.CHOSEN))  # of another answer
    ready.line._clock.timeout.emit()
    assert shown[-1].depth == 0


def test_a_chats_own_model_that_will_not_fit_is_loaded_anyway_when_the_user_says_so(ready):
    """Meanwhile the model from before is back, for the other chats."""
    ready.session.set_settings(ChatSettings(model="large"))
    ready.actions.send("Why tides?")
    ready.link.become(EngineState.STARTING)
    ready.link.fail_to_load("It will not fit.", ErrorKind.TOO_BIG)
    assert ready.answer.error == "It will not fit."
    assert ready.actions.action_for(ready.answer) == "Load anyway"
    assert ready.link.loads == ["large", MODEL.path]
    ready.link.become_ready()

    ready.actions.retry(ready.answer.id)
    assert ready.link.loads == ["large", MODEL.path, "large"]
    assert ready.link.anyway
    ready.link.become_ready(dataclasses.replace(MODEL, name="Large", path="/models/large"))
    assert len(ready.link.asked) == 1


def test_failed_load_fails_what_waits_and_the_one_button_loads_again(bench):
    bench.link.become(EngineState.LOADING)
    bench.actions.send("Why tides?")
    bench.link.fail_to_load("The model is damaged.")
    assert (bench.answer.status, bench.answer.error) == (MessageStatus.ERROR, "The model is damaged.")
    assert bench.actions.action_for(bench.answer) == "Restart"
    assert not bench.session.busy

    bench.actions.retry(bench.answer.id)
    assert bench.link.restarts == 1
    assert bench.session.busy
    bench.link.become(EngineState.STARTING)
    bench.link.become_ready()
    assert len(bench.link.asked) == 1
    bench.link.say("The Moon.")
    bench.link.finish()
    assert bench.roles == [Role.USER, Role.ASSISTANT]
    assert (bench.answer.status, bench.answer.text) == (MessageStatus.DONE, "The Moon.")


# ---------------------------------------------------------------- Stop, at every stage


@pytest.mark.parametrize("stage", ["saving", "loading", "prefill", "before text", "in a block"])
def test_stop_is_idle_at_once_and_the_next_question_works(bench, stage):
    bench.store.hold = stage == "saving"
    bench.link.become(EngineState.LOADING)
    if stage != "loading":
        bench.link.become_ready()
    bench.actions.send("One?")
    if stage == "prefill":
        bench.link.read(100, 1000)
    elif stage == "before text":
        bench.link.say("")
    elif stage == "in a block":
        bench.link.say("```python\nprint(")
    stopped = bench.answer

    bench.session.stop()
    assert not bench.session.busy
    assert bench.busy == frozenset()
    assert bench.answer.status is MessageStatus.STOPPED
    assert bench.store.messages[stopped.parent_id].text == "One?"

    # What the engine still sends goes nowhere; its figures are taken.
    if bench.link.asked:
        assert bench.link.cancelled == [bench.link.asked[-1].generation]
        bench.link.say("late")
        assert bench.answer.text == stopped.text
        stats = DecodeStats(emitted=7)
        bench.link.finish(FinishReason.CANCELLED, text="late", stats=stats)
        assert bench.answer.text == stopped.text
        assert bench.answer.stats == stats
    else:
        assert bench.link.cancelled == []

    if stage == "saving":
        bench.store.hold = False
        bench.store.release()
    assert bench.actions.send("Two?")
    if stage == "loading":
        bench.link.become_ready()
    assert bench.link.asked[-1].messages[-1].content.endswith("Two?")
    bench.link.say("Fine.")
    bench.link.finish()
    assert (bench.answer.text, bench.answer.status) == ("Fine.", MessageStatus.DONE)


def test_next_question_waits_until_the_engine_has_stopped(ready):
    ready.actions.send("One?")
    ready.session.stop()
    ready.actions.send("Two?")
    assert len(ready.link.asked) == 1
    ready.link.finish(FinishReason.CANCELLED)
    assert len(ready.link.asked) == 2


def test_engine_that_had_to_be_ended_to_stop(ready):
    ready.actions.send("One?")
    ready.session.stop()
    ready.actions.send("Two?")
    ready.link.fail("The engine did not stop in time.", ErrorKind.ENGINE_LOST)
    ready.link.become(EngineState.STARTING)
    assert ready.session.busy
    ready.link.become_ready()
    assert len(ready.link.asked) == 2


# ---------------------------------------------------------------- several chats


def ask_in_new_chat(bench, text):
    bench.session.new_chat()
    bench.actions.send(text)
    return bench.session.shown.chat.id, bench.answer.id


def test_answer_goes_on_in_its_own_chat(ready):
    one, answer_one = ask_in_new_chat(ready, "One?")
    ready.link.say("A")
    ready.session.new_chat()
    assert not ready.session.busy
    assert ready.busy == {one}
    ready.link.say("B")
    ready.session.stop()  # of an idle chat
    assert ready.link.cancelled == []
    ready.session.open_chat(one)
    assert ready.answer.id == answer_one
    assert ready.answer.text == "AB"
    ready.link.say("C")
    ready.link.finish()
    assert (ready.answer.text, ready.answer.status) == ("ABC", MessageStatus.DONE)


def test_answer_that_ends_in_the_background_is_read_back(ready):
    one, answer_one = ask_in_new_chat(ready, "One?")
    ready.session.new_chat()
    ready.link.say("AB")
    ready.link.finish()
    assert ready.busy == frozenset()
    ready.session.open_chat(one)
    ready.store.deliver(one)
    assert (ready.answer.id, ready.answer.text) == (answer_one, "AB")
    assert ready.answer.status is MessageStatus.DONE


def test_question_in_another_chat_waits_in_line_and_can_be_stopped_there(ready):
    one, answer_one = ask_in_new_chat(ready, "One?")
    two, answer_two = ask_in_new_chat(ready, "Two?")
    three, _ = ask_in_new_chat(ready, "Three?")
    assert [r.messages[-1].content for r in ready.link.asked] == ["One?"]
    assert ready.busy == {one, two, three}
    assert "another chat" in ready.waits[answer_two]

    ready.session.stop()  # Three, which waits: One goes on
    assert ready.link.cancelled == []
    assert ready.busy == {one, two}

    ready.link.say("1")
    ready.link.finish()
    assert [r.messages[-1].content for r in ready.link.asked] == ["One?", "Two?"]
    assert ready.waits[answer_two] == ""
    ready.link.say("2")
    assert ready.texts == {answer_one: "1", answer_two: "2"}


def test_chat_read_from_the_disk_too_late_is_not_shown(ready):
    one, _ = ask_in_new_chat(ready, "One?")
    ready.link.finish()
    ready.session.new_chat()
    ready.session.open_chat(one)
    assert not ready.actions.send("into which chat?")
    ready.session.new_chat()
    shown = ready.session.shown.chat.id
    ready.store.deliver(one)
    assert ready.session.shown.chat.id == shown


def test_empty_chat_is_one_and_the_same_until_it_is_used(ready):
    blank = ready.session.shown.chat.id
    ready.session.new_chat()
    assert ready.session.shown.chat.id == blank
    one, _ = ask_in_new_chat(ready, "One?")
    assert one == blank
    ready.session.new_chat()
    other = ready.session.shown.chat.id
    assert other != blank
    ready.session.open_chat(one)
    ready.session.new_chat()
    assert ready.session.shown.chat.id == other


def test_chat_that_cannot_be_read_leaves_the_shown_one(ready):
    one, _ = ask_in_new_chat(ready, "One?")
    ready.link.finish()
    ready.session.new_chat()
    shown = ready.session.shown.chat.id
    opened = []
    ready.session.opened.connect(lambda chat: opened.append(chat.chat.id))
    ready.session.open_chat(one)
    ready.store.failed.emit(ErrorInfo(ErrorKind.STORAGE, "This chat cannot be read."), "")
    assert opened == [shown]
    assert ready.notices == ["This chat cannot be read."]
    assert ready.actions.send("Still here")


def test_deleting_a_chat_stops_its_answer_and_undo_brings_it_back(ready):
    one, answer_one = ask_in_new_chat(ready, "One?")
    ready.link.say("A")
    ready.session.delete_chats([one])
    assert ready.link.cancelled == [ready.link.asked[-1].generation]
    assert ready.session.shown.messages == ()
    assert ready.store.deleted == {one}
    ready.session.restore_chats([one])
    ready.session.open_chat(one)
    ready.store.deliver(one)
    assert ready.store.deleted == set()
    assert (ready.answer.id, ready.answer.text) == (answer_one, "A")
    assert ready.answer.status is MessageStatus.STOPPED


# ---------------------------------------------------------------- what can fail


def test_engine_that_dies_keeps_the_partial_answer_and_restart_asks_again(ready):
    ready.actions.send("Why tides?")
    ready.link.say("The Mo")
    ready.link.die(gave_up=True)
    partial = ready.answer
    assert (partial.text, partial.status) == ("The Mo", MessageStatus.ERROR)
    assert "kept" in partial.error
    assert ready.actions.action_for(partial) == "Restart"
    assert not ready.session.busy

    ready.actions.retry(partial.id)
    assert ready.link.restarts == 1
    ready.link.become(EngineState.STARTING)
    ready.link.become_ready()
    assert ready.link.asked[-1].messages == (ChatMessage("user", "Why tides?"),)
    ready.link.say("The Moon.")
    ready.link.finish()
    assert [m.text for m in ready.session.shown.path()] == ["Why tides?", "The Moon."]
    assert [m.text for m in ready.session.shown.messages] == ["Why tides?", "The Mo", "The Moon."]


def test_engine_that_comes_back_by_itself_needs_no_restart(ready):
    ready.actions.send("Why tides?")
    ready.link.say("The Mo")
    ready.link.die()
    ready.link.become_ready()
    ready.actions.retry(ready.answer.id)
    assert ready.link.restarts == 0
    assert len(ready.link.asked) == 2


def test_questions_in_line_survive_a_restart_of_the_engine(ready):
    ask_in_new_chat(ready, "One?")
    two, _ = ask_in_new_chat(ready, "Two?")
    ready.link.die()
    assert ready.busy == {two}
    ready.link.become_ready()
    assert ready.link.asked[-1].messages[-1].content == "Two?"


def test_engine_that_gave_up_says_so_at_once(ready):
    ready.actions.send("One?")
    ready.link.die(gave_up=True)
    ready.actions.send("Two?")
    assert ready.answer.status is MessageStatus.ERROR
    assert ready.answer.error == "The engine crashed."


def test_failed_answer_can_be_tried_again_and_is_left_out_of_the_prompt(ready):
    ready.actions.send("Why tides?")
    ready.link.say("Bro")
    ready.link.fail("The model produced numbers that are not finite.")
    assert ready.actions.action_for(ready.answer) == "Try again"
    ready.actions.send("And now?")
    assert ready.link.asked[-1].messages == (ChatMessage("user", "Why tides?\n\nAnd now?"),)


def test_question_that_is_too_long_is_not_offered_again(ready):
    ready.actions.send("A whole book")
    ready.link.fail("9,000 tokens, the model takes 8,192. Shorten it.", ErrorKind.CONTEXT_OVERFLOW)
    assert ready.answer.error == "9,000 tokens, the model takes 8,192. Shorten it."
    assert ready.actions.action_for(ready.answer) == ""


def test_question_that_cannot_be_saved_never_reaches_the_engine(ready):
    ready.store.hold = True
    ready.actions.send("Why tides?")
    question, answer = ready.session.shown.path()
    ready.store.failed.emit(ErrorInfo(ErrorKind.STORAGE, "The disk is full."), question.id)
    assert ready.link.asked == []
    assert (ready.answer.status, ready.answer.error) == (MessageStatus.ERROR, "The disk is full.")
    assert ready.actions.action_for(ready.answer) == "Try again"

    # The store goes on trying, and there is room by now.
    ready.store.release()
    assert ready.link.asked == []
    ready.actions.retry(answer.id)
    assert [m.content for m in ready.link.asked[-1].messages] == ["Why tides?"]


def test_answer_that_cannot_be_saved_is_told_and_goes_on(ready):
    ready.actions.send("Why tides?")
    ready.link.say("The ")
    ready.store.failed.emit(ErrorInfo(ErrorKind.STORAGE, "The disk is full."), ready.answer.id)
    assert ready.notices == ["The disk is full."]
    ready.link.say("Moon.")
    assert ready.answer.text == "The Moon."


def test_closing_keeps_what_there_is(ready):
    ready.actions.send("Why tides?")
    ready.link.say("The Mo")
    ready.session.close()
    kept = ready.store.messages[ready.answer.id]
    assert (kept.text, kept.status) == ("The Mo", MessageStatus.INTERRUPTED)


def test_answer_cut_off_before_its_first_word_can_be_asked_for_again(ready):
    one, answer_one = ask_in_new_chat(ready, "One?")
    ready.session.close()
    ready.link.finish()
    cut_off = dataclasses.replace(ready.answer, status=MessageStatus.INTERRUPTED)
    ready.store.messages[answer_one] = cut_off
    ready.session.new_chat()
    ready.session.open_chat(one)
    ready.store.deliver(one)
    assert ready.actions.action_for(ready.answer) == "Try again"
    ready.actions.retry(answer_one)
    assert ready.link.asked[-1].messages == (ChatMessage("user", "One?"),)
    assert ready.roles == [Role.USER, Role.ASSISTANT]


def test_question_without_any_answer_can_be_asked_again(ready):
    one, answer_one = ask_in_new_chat(ready, "One?")
    ready.session.close()
    ready.link.finish()
    del ready.store.messages[answer_one]
    ready.session.new_chat()
    ready.session.open_chat(one)
    ready.store.deliver(one)
    assert ready.roles == [Role.USER, Role.ASSISTANT]
    assert ready.actions.action_for(ready.answer) == "Try again"
    assert ready.store.messages[ready.answer.id] == ready.answer
    ready.actions.retry(ready.answer.id)
    assert ready.link.asked[-1].messages == (ChatMessage("user", "One?"),)
