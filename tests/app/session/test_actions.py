"""Editing, asking again, continuing and deleting keep every branch, on the screen and on the disk."""

from __future__ import annotations

import dataclasses

import pytest

from app.chat import conversation
from app.chat.conversation import Attachment, MessageStatus, Role
from app.chat.generation import RowAction
from app.chat.settings import ChatSettings
from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.errors import ErrorKind
from mtplx_engine.stats import DecodeStats, FinishReason
from tests.support.fake_services import MODEL
from tests.support.trees import CHAT, message


def path_ids(bench):
    return [message.id for message in bench.session.shown.path()]


def test_an_edited_question_is_a_branch_and_the_old_one_stays(ready):
    ready.ask("Why tides?", "The Moon.")
    ready.ask("And the Sun?", "Too.")
    old = path_ids(ready)
    assert ready.actions.edit(old[0], "Why waves?")
    assert ready.link.asked[-1].messages == (ChatMessage("user", "Why waves?"),)
    ready.link.say("The wind.")
    ready.link.finish()
    assert ready.shown_texts == ["Why waves?", "The wind."]

    edited = path_ids(ready)[0]
    assert conversation.branch_positions(ready.session.shown)[edited] == (2, 2)
    ready.actions.move(edited, -1)
    assert path_ids(ready) == old
    assert ready.store.calls[-1] == ("set_leaf", ready.session.shown.chat.id, old[-1])
    ready.actions.move(old[0], 1)
    assert ready.shown_texts == ["Why waves?", "The wind."]


def test_an_edit_that_changes_nothing_asks_nothing(ready):
    ready.ask("Why tides?", "The Moon.")
    assert ready.actions.edit(path_ids(ready)[0], "Why tides?")
    assert not ready.actions.edit(path_ids(ready)[0], "  ")
    assert len(ready.link.asked) == 1


def test_an_edited_question_is_about_the_files_that_it_has_then(ready):
    file = Attachment("a.txt", 1, "x")
    ready.actions.send("Sum it", [file])
    ready.link.finish(text="1")
    assert ready.actions.edit(path_ids(ready)[0], "Sum it", [file, file])
    assert ready.session.shown.path()[0].attachments == (file, file)
    ready.link.finish(text="2")
    assert ready.actions.edit(path_ids(ready)[0], "Count it", [file])
    assert ready.link.asked[-1].messages[0].content == "File “a.txt”:\n```\nx\n```\n\nCount it"


def test_an_answer_is_asked_for_again_with_other_settings(ready):
    ready.ask("Why tides?", "The Moon.")
    ready.ask("And the Sun?", "Too.")
    first, second = ready.session.shown.path()[1::2]
    ready.actions.regenerate(second.id)
    assert [m.content for m in ready.link.asked[-1].messages] == ["Why tides?", "The Moon.", "And the Sun?"]
    ready.link.finish(text="A bit.")
    assert ready.shown_texts[-1] == "A bit."

    colder = ChatSettings(sampler=SamplerConfig(temperature=0.0), drafting=2, max_tokens=9)
    ready.actions.regenerate(first.id, colder)
    request = ready.link.asked[-1]
    assert (request.sampler.temperature, request.sampler.speculative_depth, request.max_tokens) == (0, 2, 9)
    assert request.messages == (ChatMessage("user", "Why tides?"),)
    ready.link.finish(text="Gravity.", stats=DecodeStats(emitted=2, seed=5))
    assert ready.shown_texts == ["Why tides?", "Gravity."]
    assert ready.answer.sampler == dataclasses.replace(request.sampler, seed=5)
    assert conversation.branch_positions(ready.session.shown)[ready.answer.id] == (2, 2)
    assert ready.session.shown.settings == ChatSettings()  # they were for this answer


def test_another_answer_can_be_more_varied_or_more_focused(ready):
    ready.session.set_settings(ChatSettings(sampler=SamplerConfig(temperature=0.8, top_p=0.9, seed=3)))
    ready.ask("Why tides?", "The Moon.")
    ready.actions.vary(ready.answer.id, 0.5)
    assert ready.link.asked[-1].sampler == SamplerConfig(temperature=0.4, top_p=0.9)
    ready.link.finish(text="The Moon.")
    ready.actions.vary(ready.answer.id, 10)
    assert ready.link.asked[-1].sampler.temperature == 2.0
    assert ready.session.shown.settings.sampler.seed == 3


def test_everything_set_for_a_chat_reaches_the_engine(bench):
    bench.link.become_ready(dataclasses.replace(MODEL, thinking_switch=True))
    settings = ChatSettings(
        system_prompt="Be brief.",
        sampler=SamplerConfig(temperature=0.2, seed=4),
        drafting=3,
        context=4096,
        max_tokens=100,
        thinking=False,
    )
    bench.session.set_settings(settings)
    bench.actions.send("Why tides?")
    [request] = bench.link.asked
    assert request.messages[0] == ChatMessage("system", "Be brief.")
    assert request.sampler == SamplerConfig(temperature=0.2, seed=4, speculative_depth=3)
    assert (request.context, request.max_tokens, request.thinking) == (4096, 100, False)
    names = [call[0] for call in bench.store.calls]
    assert names.index("add_chat") < names.index("set_settings") < names.index("add_message")
    bench.session.set_settings(ChatSettings())
    assert bench.store.calls[-1] == ("set_settings", bench.session.shown.chat.id, ChatSettings())


def test_a_model_without_a_switch_is_not_told_about_thinking(ready):
    ready.session.set_settings(ChatSettings(thinking=False))
    ready.actions.send("Why tides?")
    assert ready.link.asked[-1].thinking is None


def test_settings_of_an_empty_chat_stay_with_it(ready):
    ready.session.set_settings(ChatSettings(system_prompt="Be brief."))
    assert ready.store.calls == []
    ready.ask("Why tides?", "The Moon.")
    ready.session.new_chat()
    assert ready.session.shown.settings == ChatSettings()


# ---------------------------------------------------------------- continuing


@pytest.mark.parametrize("reason", [FinishReason.LENGTH, FinishReason.CANCELLED])
def test_a_cut_answer_is_written_on_as_one(ready, reason):
    ready.actions.send("Why tides?")
    ready.link.say("The Mo", marks=(0, 4, 2))
    if reason is FinishReason.CANCELLED:
        ready.session.stop()
    ready.link.finish(reason, stats=DecodeStats(prompt_tokens=5, emitted=2, drafted=3, accepted=1, ttft_s=0.5))
    answer = ready.answer
    assert ready.actions.can_resume(answer)
    ready.actions.resume(answer.id)
    request = ready.link.asked[-1]
    assert request.continues
    assert request.messages == (ChatMessage("user", "Why tides?"), ChatMessage("assistant", "The Mo"))
    assert ready.store.messages[answer.id].status is MessageStatus.STREAMING
    ready.link.say("on.", marks=(1, 2))
    ready.link.finish(stats=DecodeStats(prompt_tokens=7, emitted=3, drafted=4, accepted=2))
    assert (ready.answer.id, ready.answer.text, ready.answer.marks) == (answer.id, "The Moon.", (0, 4, 3, 2))
    assert ready.answer.status is MessageStatus.DONE
    stats = ready.answer.stats
    assert (stats.prompt_tokens, stats.emitted, stats.drafted, stats.accepted) == (5, 5, 7, 3)
    assert stats.ttft_s == 0.5
    assert ready.store.messages[answer.id] == ready.answer


def test_figures_of_a_stopped_answer_that_come_when_it_is_written_on_already(ready):
    ready.actions.send("Why tides?")
    ready.link.say("The Mo")
    first = ready.link.asked[-1].generation
    ready.session.stop()
    ready.actions.resume(ready.answer.id)
    ready.link.finish(FinishReason.CANCELLED, generation=first, stats=DecodeStats(prompt_tokens=5, emitted=2))
    assert ready.answer.status is MessageStatus.STREAMING
    ready.link.say("on.")
    ready.link.finish(stats=DecodeStats(prompt_tokens=7, emitted=3))
    assert (ready.answer.text, ready.answer.status) == ("The Moon.", MessageStatus.DONE)
    assert (ready.answer.stats.prompt_tokens, ready.answer.stats.emitted) == (5, 5)


def test_an_answer_that_cannot_be_continued_is_still_what_it_was(ready):
    ready.actions.send("Why tides?")
    ready.link.say("The Mo")
    ready.link.finish(FinishReason.LENGTH)
    ready.actions.resume(ready.answer.id)
    ready.link.fail("No memory.")
    assert (ready.answer.text, ready.answer.status) == ("The Mo", MessageStatus.STOPPED)
    assert ready.answer.error == "No memory."
    assert ready.actions.action_for(ready.answer) == "Try again"
    ready.actions.retry(ready.answer.id)
    assert ready.link.asked[-1].continues
    assert ready.answer.error == ""


def test_only_the_cut_answer_at_the_end_is_continued(ready):
    ready.ask("Why tides?", "The Moon.", reason=FinishReason.LENGTH)
    first = ready.answer
    ready.ask("And?", "Done.")
    assert not ready.actions.can_resume(first)
    assert not ready.actions.can_resume(ready.answer)
    ready.actions.resume(first.id)
    assert len(ready.link.asked) == 2


# ---------------------------------------------------------------- deleting


def test_deleting_a_question_takes_what_follows_and_undo_brings_it_back(ready):
    ready.ask("Why tides?", "The Moon.")
    ready.ask("And the Sun?", "Too.")
    before = ready.session.shown
    undo = ready.actions.delete(before.path()[2].id)
    assert ready.shown_texts == ["Why tides?", "The Moon."]
    assert ("delete_message", before.path()[2].id) in ready.store.calls
    undo()
    assert ready.session.shown.path() == before.path()
    assert ("restore_message", before.path()[2].id) in ready.store.calls


def test_deleting_an_answer_that_is_written_stops_it(ready):
    ready.actions.send("Why tides?")
    ready.link.say("The Mo")
    answer = ready.answer.id
    undo = ready.actions.delete(answer)
    assert ready.link.cancelled == [ready.link.asked[-1].generation]
    assert not ready.session.busy
    ready.link.finish(FinishReason.CANCELLED)
    assert ready.shown_texts == ["Why tides?"]
    undo()
    assert (ready.answer.id, ready.answer.status) == (answer, MessageStatus.STOPPED)


def test_undo_in_another_chat_restores_on_the_disk_alone(ready):
    ready.ask("Why tides?", "The Moon.")
    answer = ready.answer.id
    undo = ready.actions.delete(answer)
    ready.session.new_chat()
    undo()
    assert ready.store.calls[-1] == ("restore_message", answer)
    assert ready.session.shown.messages == ()


# ---------------------------------------------------------------- while an answer is written


def test_branches_switch_while_an_answer_streams_in_another(ready):
    ready.ask("Why tides?", "The Moon.")
    first = ready.answer.id
    ready.actions.regenerate(first)
    ready.link.say("Gra")
    second = ready.answer.id
    ready.actions.move(second, -1)
    assert ready.shown_texts == ["Why tides?", "The Moon."]
    ready.link.say("vity")
    assert ready.session.busy
    ready.actions.move(first, 1)
    assert ready.shown_texts == ["Why tides?", "Gravity"]
    ready.actions.move(second, -1)
    ready.link.finish()
    assert ready.session.shown.path()[-1].id == first
    assert conversation.find_message(ready.session.shown, second).status is MessageStatus.DONE


def test_nothing_is_asked_while_an_answer_is_to_come(ready):
    ready.ask("Why tides?", "The Moon.")
    first = ready.answer.id
    ready.actions.send("And?")
    ready.actions.regenerate(first)
    assert not ready.actions.edit(path_ids(ready)[0], "Why waves?")
    assert len(ready.link.asked) == 2
    assert len(ready.session.shown.messages) == 4


# ---------------------------------------------------------------- thinking


def test_thinking_is_kept_apart_timed_and_given_to_the_template(ready):
    ready.actions.send("Why tides?")
    ready.link.say("", thinking="Hm, ", at_s=0.5)
    ready.link.say("", thinking="the Moon?", at_s=2.0)
    ready.link.say("The Moon.", at_s=2.5)
    assert ready.store.calls[-1] == ("answer_progress", ready.answer.id, "The Moon.", "Hm, the Moon?")
    ready.link.finish()
    answer = ready.answer
    assert (answer.text, answer.thinking, answer.thought_ms) == ("The Moon.", "Hm, the Moon?", 1500)
    assert answer.marks == (9,)
    ready.actions.send("And?")
    assert ready.link.asked[-1].messages[1] == ChatMessage("assistant", "The Moon.", "Hm, the Moon?")


def test_an_answer_cut_in_its_thinking_goes_on_thinking(ready):
    ready.actions.send("Why tides?")
    ready.link.say("", thinking="Hm", at_s=0.5)
    ready.link.finish(FinishReason.LENGTH)
    ready.actions.resume(ready.answer.id)
    assert ready.link.asked[-1].messages[-1] == ChatMessage("assistant", "", "Hm")
    ready.link.say("The Moon.", thinking=", yes", at_s=0.2)
    ready.link.finish()
    assert (ready.answer.text, ready.answer.thinking) == ("The Moon.", "Hm, yes")


# ---------------------------------------------------------------- another model


def test_an_answer_by_another_model_waits_until_it_is_in(ready):
    ready.ask("Why tides?", "The Moon.")
    ready.actions.regenerate(ready.answer.id, ChatSettings(model="other"))
    assert ready.link.loads == ["other"]
    assert len(ready.link.asked) == 1
    ready.link.become_ready(dataclasses.replace(MODEL, name="Other", path="/models/other-7b"))
    assert len(ready.link.asked) == 2
    ready.link.finish(text="Gravity.")
    assert ready.answer.model == "Other"
    ready.session.set_settings(ChatSettings(model="other"))
    ready.ask("And?", "Yes.")
    assert ready.link.loads == ["other"]


def test_a_model_that_cannot_be_loaded_fails_the_one_answer_and_the_old_one_comes_back(ready):
    ready.ask("Why tides?", "The Moon.")
    ready.actions.regenerate(ready.answer.id, ChatSettings(model="broken"))
    ready.link.fail_to_load("The model is damaged.")
    assert (ready.answer.status, ready.answer.error) == (MessageStatus.ERROR, "The model is damaged.")
    assert ready.link.loads == ["broken", MODEL.path]
    ready.actions.send("And?")
    ready.link.become_ready()
    assert ready.link.asked[-1].messages[-1].content == "And?"


@pytest.mark.parametrize("kind", [ErrorKind.NOT_FOUND, ErrorKind.REFUSED, ErrorKind.UNSUPPORTED])
def test_a_chat_whose_model_is_gone_goes_on_with_the_loaded_one(ready, kind):
    ready.session.set_settings(ChatSettings(model="gone"))
    ready.actions.send("Why tides?")
    ready.link.fail_to_load("Give the path of a model folder.", kind)
    failed = ready.answer
    assert ready.actions.states()[failed.id].fix == "Use Toy"
    assert ("“gone”" in failed.error) == (kind is ErrorKind.NOT_FOUND)
    assert ("path" in failed.error) != (kind is ErrorKind.NOT_FOUND)
    ready.actions.retry(failed.id)
    assert ready.session.settings == ChatSettings()
    ready.link.become_ready()
    assert ready.link.asked[-1].messages == (ChatMessage("user", "Why tides?"),)
    assert ready.link.restarts == 0


def test_what_can_never_work_is_not_offered_again(ready):
    ready.actions.send("Long")
    ready.link.fail("Too long.", ErrorKind.CONTEXT_OVERFLOW)
    assert ready.actions.action_for(ready.answer) == ""


def test_a_chat_whose_messages_are_all_deleted_goes_on_as_itself(ready):
    ready.ask("Why tides?", "The Moon.")
    chat_id = ready.session.chat_id
    ready.actions.delete(path_ids(ready)[0])
    ready.ask("Why waves?", "The wind.")
    assert ready.session.chat_id == chat_id
    assert [call[0] for call in ready.store.calls].count("add_chat") == 1
    assert ready.session.shown.chat.title == "Why tides?"


def test_an_answer_whose_question_was_lost_is_shown_and_no_more(ready):
    orphan = message("a", None, Role.ASSISTANT, chat_id="c", status=MessageStatus.STOPPED)
    ready.store.chats["c"] = dataclasses.replace(CHAT, id="c")
    ready.store.messages["a"] = orphan
    ready.session.open_chat("c")
    ready.store.deliver("c")
    state = ready.actions.states()["a"]
    assert state.offers == {RowAction.COPY, RowAction.DELETE}
    ready.actions.regenerate("a")
    ready.actions.retry("a")
    ready.actions.resume("a")
    assert ready.link.asked == []
