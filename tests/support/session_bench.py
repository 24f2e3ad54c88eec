"""A chat session whose store and engine a test plays."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.session.actions import ChatActions
from app.session.queue import GenerationQueue
from app.session.session import ChatSession
from tests.support.fake_services import FakeLink, FakeStore


@dataclass
class Bench:
    """A session between a store and an engine that a test plays."""

    store: FakeStore
    link: FakeLink
    line: GenerationQueue
    session: ChatSession
    actions: ChatActions
    texts: dict = field(default_factory=dict)
    waits: dict = field(default_factory=dict)
    busy: frozenset = frozenset()
    notices: list = field(default_factory=list)

    @property
    def answer(self):
        return self.session.shown.path()[-1]

    @property
    def roles(self):
        return [message.role for message in self.session.shown.path()]

    def ask(self, question, answer, **how):
        """Ask something and have it answered."""
        assert self.actions.send(question)
        self.link.say(answer)
        self.link.finish(**how)

    @property
    def shown_texts(self):
        return [message.text for message in self.session.shown.path()]


def make_bench() -> Bench:
    store, link = FakeStore(), FakeLink()
    line = GenerationQueue(link)
    session = ChatSession(store, line)
    bench = Bench(store, link, line, session, ChatActions(session, store, line))

    def note_text(key, text):
        bench.texts[key] = bench.texts.get(key, "") + text

    def note(name, value):
        setattr(bench, name, value)

    bench.session.streamed.connect(lambda generation, piece: note_text(generation.answer.id, piece.text))
    bench.session.waiting.connect(bench.waits.__setitem__)
    bench.session.activity.connect(lambda busy: note("busy", busy))
    bench.session.notice.connect(bench.notices.append)
    return bench
