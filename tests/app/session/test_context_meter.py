"""D11: the meter shows the engine's own counts, grows while an answer is written, and never lies."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtTest import QTest

from app.chat.conversation import Attachment
from app.chat.prompt import ContextUse
from app.chat.settings import ChatSettings
from app.session import context_meter
from app.session.context_meter import ContextMeter, UnsentMessage
from mtplx_engine.config import ChatMessage
from tests.support.fake_services import MODEL

LONG = "word " * 4000  # could be more tokens than the window, by its bytes


@pytest.fixture
def watch(ready, monkeypatch):
    monkeypatch.setattr(context_meter, "_PAUSE_MS", 0)
    watch = ContextMeter(ready.session, ready.line, ready.link)
    watch.uses, watch.results = [], []
    watch.changed.connect(watch.uses.append)
    watch.weighed.connect(watch.results.append)
    return watch


def type_(watch, text, attachments=()):
    watch.follow(lambda: UnsentMessage(text, tuple(attachments)))
    watch.touch()


def until_asked(qtbot, ready, number):
    qtbot.waitUntil(lambda: len(ready.link.counts) == number)
    return ready.link.counts[-1]


def test_d11_everything_is_counted_and_it_grows_live(ready, watch, qtbot):
    ready.session.set_settings(ChatSettings(system_prompt="Be brief. " * 50))
    type_(watch, "Why tides?")
    request = until_asked(qtbot, ready, 1)
    assert request.messages == (ChatMessage("system", "Be brief. " * 50), ChatMessage("user", "Why tides?"))
    assert request.texts[:2] == ("Be brief. " * 50, "Why tides?")
    ready.link.tell_count(120, 100, 3)
    assert watch.uses[-1] == ContextUse(8192, 8192, system=100, messages=17, draft=3)

    ready.actions.send("Why tides?")
    type_(watch, "")
    ready.link.read(60, 120)
    assert watch.uses[-1].used == 120
    used = [watch.uses[-1].used]
    for _ in range(3):
        ready.link.say("", thinking="hm ", tokens=2)
        ready.line._measure()
        used.append(watch.uses[-1].used)
    ready.link.say("The Moon.", tokens=3)
    ready.line._measure()
    assert used == [120, 122, 124, 126]
    assert watch.uses[-1] == ContextUse(8192, 8192, system=100, messages=20, answer=3, thinking=6)

    ready.link.finish()
    request = until_asked(qtbot, ready, 2)
    assert request.messages[-1] == ChatMessage("assistant", "The Moon.", "hm hm hm ")
    ready.link.tell_count(125, 100, 0)
    assert watch.uses[-1] == ContextUse(8192, 8192, system=100, messages=25)


def test_d11_never_more_than_all_of_it(ready, watch, qtbot):
    ready.session.set_settings(ChatSettings(context=512))
    ready.actions.send("Why tides?")
    ready.link.read(500, 500)
    ready.link.say("The Moon.", tokens=90)
    ready.line._measure()
    assert watch.uses[-1].share == 1.0
    assert (watch.uses[-1].window, watch.uses[-1].largest) == (512, 8192)


def test_keys_are_counted_once_they_pause(ready, watch, qtbot):
    for end in range(1, 11):
        type_(watch, "Why tides?"[:end])
    assert ready.link.counts == []
    assert until_asked(qtbot, ready, 1).texts[1] == "Why tides?"


def test_a_late_count_of_another_draft_is_not_shown(ready, watch, qtbot):
    type_(watch, "One")
    first = until_asked(qtbot, ready, 1)
    type_(watch, "One two")
    until_asked(qtbot, ready, 2)
    shown = len(watch.uses)
    ready.link.happened.emit(dataclasses.replace(first_answer(first), tokens=999))
    assert len(watch.uses) == shown


def first_answer(request):
    from mtplx_engine.ipc.protocol import Counted

    return Counted(request.request, 1, (0, 0))


def test_files_of_a_draft_count(ready, watch, qtbot):
    type_(watch, "Sum", [Attachment("a.csv", 3, "1,2")])
    assert "File “a.csv”" in until_asked(qtbot, ready, 1).messages[-1].content


# ---------------------------------------------------------------- before sending


def test_what_is_to_stand_in_the_place_of_a_message_is_weighed_there(ready, watch):
    ready.ask("Why tides?", "The Moon.")
    ready.ask("And waves?", "The wind.")
    watch.weigh(UnsentMessage(LONG, after=ready.session.shown.path()[1].id))
    assert [turn.content for turn in ready.link.counts[-1].messages] == ["Why tides?", "The Moon.", LONG]
    ready.link.tell_count(9000)
    assert [message.text for message in watch.results[-1].path] == ["Why tides?", "The Moon."]
    watch.weigh(UnsentMessage(LONG, after=None))
    ready.link.tell_count(8900)
    assert [turn.content for turn in ready.link.counts[-1].messages] == [LONG]
    assert watch.results[-1].path == ()


def test_what_surely_fits_is_let_through_at_once(ready, watch):
    watch.weigh(UnsentMessage("Why tides?"))
    assert watch.results[-1].use is None
    assert ready.link.counts == []


def test_what_may_not_fit_is_counted_first(ready, watch):
    watch.weigh(UnsentMessage(LONG))
    assert watch.results == []
    ready.link.tell_count(4010, 0, 4000)
    [weighed] = watch.results
    assert (weighed.use.used, weighed.use.is_over) == (4010, False)


def test_what_does_not_fit_comes_with_the_tokens_of_each_message(ready, watch):
    ready.ask("Why tides?", "The Moon.")
    watch.weigh(UnsentMessage(LONG))
    ready.link.tell_count(9000, 0, 8900, 40, 60)
    [weighed] = watch.results
    assert weighed.use.is_over
    assert [message.text for message in weighed.path] == ["Why tides?", "The Moon."]
    assert weighed.counts == (40, 60)


def test_a_count_that_is_known_needs_no_second_one(ready, watch, qtbot):
    type_(watch, LONG)
    until_asked(qtbot, ready, 1)
    ready.link.tell_count(9000)
    watch.weigh(UnsentMessage(LONG))
    assert watch.results[-1].use.is_over
    assert len(ready.link.counts) == 1


def test_without_an_answer_it_is_let_through_and_the_engine_decides(ready, watch, qtbot, monkeypatch):
    watch._patience.setInterval(10)
    watch.weigh(UnsentMessage(LONG))
    qtbot.waitUntil(lambda: watch.results != [])
    assert watch.results[-1].use is None


def test_without_a_model_there_is_no_figure(bench, qtbot):
    watch = ContextMeter(bench.session, bench.line, bench.link)
    uses = []
    watch.changed.connect(uses.append)
    type_(watch, "Why tides?")
    QTest.qWait(1)
    watch.weigh(UnsentMessage(LONG))
    bench.link.become_ready(dataclasses.replace(MODEL, context_window=4096))
    assert uses[-1] == ContextUse(4096, 4096)
