"""A store and an engine link that do nothing by themselves: a test says what happens, step by step."""

from __future__ import annotations

from types import SimpleNamespace

from PySide6.QtCore import QObject, Signal

from app.chat.conversation import conversation_from
from app.chat.metrics import LiveMeter
from app.services.engine_worker import EngineState
from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import (
    Abandoned,
    Checked,
    Count,
    Counted,
    DepthChosen,
    Failed,
    Finished,
    Generate,
    Heartbeat,
    Measured,
    ModelInfo,
    PrefillProgress,
    Tokens,
    TrialProgress,
)
from mtplx_engine.stats import DecodeStats, FinishReason

MODEL = ModelInfo(
    name="Toy",
    path="/models/toy",
    context_window=8192,
    drafter="mtp",
    drafter_note="",
    max_depth=3,
    recommended=SamplerConfig(temperature=0.7, repetition_penalty=1.1),
    backend="scripted",
    load_s=0.1,
)


class FakeStore(QObject):
    """Keeps messages in memory; commits at once, unless `hold` says that the disk is slow."""

    opened = Signal(object, str)
    chat_loaded = Signal(object, str)
    committed = Signal(str)
    settled = Signal(int)
    failed = Signal(object, str)

    def __init__(self):
        super().__init__()
        self.hold = False
        self.calls = []
        self.chats = {}
        self.messages = {}
        self.figures = []
        self.deleted = set()
        self.held = []

    @property
    def changes(self):
        return sum(name not in ("load_chat", "answer_progress") for name, *_ in self.calls)

    def add_chat(self, chat):
        self.calls.append(("add_chat", chat.id))
        self.chats[chat.id] = chat

    def add_message(self, message):
        self.calls.append(("add_message", message.id))
        self._keep(message)

    def answer_progress(self, message_id, text, thinking=""):
        self.calls.append(("answer_progress", message_id, text, *([thinking] if thinking else [])))

    def finish_answer(self, message):
        self.calls.append(("finish_answer", message.id, message.status, message.text))
        self._keep(message)

    def add_stats(self, make):
        self.calls.append(("add_stats",))
        self.figures.append(make())

    def load_chat(self, chat_id):
        self.calls.append(("load_chat", chat_id))

    def delete_chats(self, chat_ids):
        self.deleted.update(chat_ids)

    def restore_chats(self, chat_ids):
        self.deleted.difference_update(chat_ids)

    def delete_message(self, message_id):
        self.calls.append(("delete_message", message_id))

    def restore_message(self, message_id):
        self.calls.append(("restore_message", message_id))

    def set_leaf(self, chat_id, message_id):
        self.calls.append(("set_leaf", chat_id, message_id))

    def set_title(self, chat_id, title):
        self.calls.append(("set_title", chat_id, title))

    def set_pinned(self, chat_id, *, pinned):
        self.calls.append(("set_pinned", chat_id, pinned))

    def set_settings(self, chat_id, settings):
        self.calls.append(("set_settings", chat_id, settings))

    def set_draft(self, chat_id, text):
        self.calls.append(("set_draft", chat_id, text))

    def deliver(self, chat_id):
        """Answer a `load_chat`."""
        messages = tuple(m for m in self.messages.values() if m.chat_id == chat_id)
        self.chat_loaded.emit(conversation_from(self.chats[chat_id], messages), "")

    def release(self):
        """Commit what a slow disk has held up."""
        held, self.held = self.held, []
        for message_id in held:
            self.committed.emit(message_id)
        self.settled.emit(self.changes)

    def _keep(self, message):
        self.messages[message.id] = message
        if self.hold:
            self.held.append(message.id)
        else:
            self.committed.emit(message.id)
            self.settled.emit(self.changes)


class FakeLink(QObject):
    """Records what it is asked; the test plays the engine."""

    state_changed = Signal(object)
    loaded = Signal(object)
    lost = Signal(object)
    happened = Signal(object)

    def __init__(self):
        super().__init__()
        self.state = EngineState.CLOSED
        self.asked = []
        self.cancelled = []
        self.restarts = 0
        self.loads = []
        self.model = ""
        self.anyway = False
        self.unloads = 0
        self.counts = []
        self.trials = []

    def load(self, model, *, anyway=False):
        self.model, self.anyway = model, anyway
        self.loads.append(model)

    def unload(self):
        self.unloads += 1

    def submit(self, request):
        asked = {Generate: self.asked, Count: self.counts}.get(type(request), self.trials)
        asked.append(request)

    def tell_count(self, tokens, *texts):
        """Answer the last count; the texts that are not given count their words."""
        request = self.counts[-1]
        rest = tuple(len(text.split()) for text in request.texts[len(texts) :])
        self.happened.emit(Counted(request.request, tokens, () if tokens is None else (*texts, *rest)))

    def cancel(self, generation):
        self.cancelled.append(generation)

    def restart(self):
        self.restarts += 1

    def become(self, state):
        self.state = state
        self.state_changed.emit(state)

    def become_ready(self, model=MODEL):
        self.become(EngineState.LOADING)
        self.loaded.emit(model)
        self.become(EngineState.READY)

    def say(self, text, *, tokens=2, drafted=3, accepted=1, at_s=1.0, thinking="", marks=()):
        """Stream into the answer that was asked for last."""
        ids = tuple(range(tokens))
        self.happened.emit(Tokens(self.asked[-1].generation, ids, text, drafted, accepted, at_s, thinking, marks))

    def read(self, done, total):
        self.happened.emit(PrefillProgress(self.asked[-1].generation, done, total, 0))

    def finish(self, reason=FinishReason.END, *, generation=None, text="", stats=None):
        generation = self.asked[-1].generation if generation is None else generation
        self.happened.emit(Finished(generation, reason, stats or DecodeStats(emitted=9), text))

    def choose_depth(self, depth, reason, expected=None):
        """Say how deep the answer that was asked for last is drafted."""
        self.happened.emit(DepthChosen(self.asked[-1].generation, depth, reason, expected))

    def show_trial(self, fraction, what="plain decoding, chat", left_s=None):
        """Say how far the trial is that was asked for last."""
        self.happened.emit(TrialProgress(self.trials[-1].generation, fraction, what, left_s))

    def end_measurement(self, measurement):
        self.happened.emit(Measured(self.trials[-1].generation, measurement))

    def end_check(self, report):
        self.happened.emit(Checked(self.trials[-1].generation, report))

    def abandon(self):
        self.happened.emit(Abandoned(self.trials[-1].generation))

    def fail_trial(self, sentence="It broke.", kind=ErrorKind.NON_FINITE):
        self.happened.emit(Failed(ErrorInfo(kind, sentence), self.trials[-1].generation))

    def show_footprint(self, footprint):
        self.happened.emit(Heartbeat(footprint))

    def fail(self, sentence="It broke.", kind=ErrorKind.NON_FINITE):
        self.happened.emit(Failed(ErrorInfo(kind, sentence), self.asked[-1].generation))

    def fail_to_load(self, sentence="The model is damaged.", kind=ErrorKind.REFUSED):
        self.happened.emit(Failed(ErrorInfo(kind, sentence)))
        self.become(EngineState.NO_MODEL)

    def die(self, *, gave_up=False):
        """What a link tells when the process ended in the middle of the last answer."""
        self.fail("The engine stopped; the answer so far is kept.", ErrorKind.ENGINE_LOST)
        self.lost.emit(ErrorInfo(ErrorKind.ENGINE_LOST, "The engine crashed."))
        self.become(EngineState.GAVE_UP if gave_up else EngineState.STARTING)


class FakeQueue(QObject):
    """Has an answer counted by its meter, as `GenerationQueue` does."""

    counted = Signal(object)

    def __init__(self):
        super().__init__()
        self.generation = None

    def take(self, event):
        if not isinstance(event, Tokens):
            return
        if self.generation is None or self.generation.id != event.generation:
            self.generation = SimpleNamespace(id=event.generation, meter=LiveMeter())
        tokens = len(event.token_ids)
        self.generation.meter.add(at_s=event.at_s, tokens=tokens, drafted=event.drafted, accepted=event.accepted)
        self.counted.emit(self.generation)
