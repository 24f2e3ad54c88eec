"""A host on a thread and the app's end of its channel, for tests of the host's loop."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.host import Host
from mtplx_engine.ipc.channel import Channel
from mtplx_engine.ipc.protocol import (
    Command,
    Event,
    Failed,
    Finished,
    Generate,
    Hello,
    Load,
    Loaded,
    Unloaded,
)
from tests.support.fake_host import ScriptedEngine
from tests.support.fake_script import Script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


PLAIN = Script()
SECRET = "the secret question"


class App:
    """The app's end of a host that runs on a thread."""

    def __init__(self, engine: ScriptedEngine | Exception) -> None:
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.status: int | None = None
        self._engine = engine
        self._thread = threading.Thread(target=self._run, args=(Channel(theirs),))
        self._thread.start()
        assert isinstance(self.next(Hello), Hello)

    def _run(self, channel: Channel) -> None:
        def make() -> ScriptedEngine:
            if isinstance(self._engine, Exception):
                raise self._engine
            return self._engine

        kind = ScriptedEngine if isinstance(self._engine, Exception) else type(self._engine)
        self.status = Host(channel, make, kind.measure, kind.check).run()

    def send(self, *commands: Command) -> None:
        for command in commands:
            self.channel.send(command)

    def next(self, *kinds: type) -> Event:
        """Return the next event of one of `kinds`; skips the others."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            event = self.channel.receive(1)
            if isinstance(event, kinds):
                return event
        pytest.fail(f"no {kinds} came")

    def until_answered(self, count: int) -> list[Event]:
        """Return what ends loads and answers, until `count` of them came."""
        return [self.next(Loaded, Unloaded, Finished, Failed) for _ in range(count)]

    def end(self) -> int | None:
        """Hang up, as a dead app does, and return the host's exit status."""
        self.channel.close(1)
        self._thread.join(10)
        return self.status


@contextlib.contextmanager
def starting() -> Iterator[Callable[..., App]]:
    """Give what starts a host around an engine; those that were started end with the block."""
    apps: list[App] = []

    def make(engine: Script | ScriptedEngine | Exception = PLAIN) -> App:
        apps.append(App(ScriptedEngine(engine) if isinstance(engine, Script) else engine))
        return apps[-1]

    yield make
    for app in apps:
        app.end()


def load(model: str = "model") -> Load:
    return Load(model, "/data")


def ask(generation: int, **sampler: object) -> Generate:
    return Generate(generation, (ChatMessage("user", SECRET),), SamplerConfig(**sampler))


def names(events: list[Event]) -> list[str]:
    return [
        event.info.name if isinstance(event, Loaded) else f"{type(event).__name__} {getattr(event, 'generation', '')}"
        for event in events
    ]
