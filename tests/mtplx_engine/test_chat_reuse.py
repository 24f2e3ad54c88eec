"""What people do to their messages reuses what a hybrid has read, and never changes what it says."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.engine import Engine
from mtplx_engine.ipc.protocol import Finished, Generate, Tokens
from tests.support.toy import TOY

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.stats import DecodeStats


QUESTIONS = ("json.loads returns an object from a string", "os.path.join", "argparse.ArgumentParser")


def user(text: str) -> ChatMessage:
    return ChatMessage("user", text)


class ToyChat:
    """Answers greedily; each answer is held against that of an engine that has read nothing."""

    def __init__(self, data_dir: Path) -> None:
        self._engines = [Engine(), Engine()]
        for engine in self._engines:
            engine.load(str(TOY), data_dir, lambda *_: None, threading.Event())

    def ask(self, *messages: ChatMessage, depth: int = 3, **more: Any) -> tuple[str, DecodeStats]:
        sampler = SamplerConfig(temperature=0, speculative_depth=depth)
        request = Generate(1, messages, sampler, **{"max_tokens": 24, **more})
        self._engines[1].forget()
        (text, stats), (fresh, _) = (self._run(engine, request) for engine in self._engines)
        assert text == fresh
        return text, stats

    @staticmethod
    def _run(engine: Engine, request: Generate) -> tuple[str, DecodeStats]:
        *events, last = engine.generate(request, threading.Event())
        assert isinstance(last, Finished)
        said = "".join(event.text for event in events if isinstance(event, Tokens)) + last.text
        return said, last.stats


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> ToyChat:
    return ToyChat(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("depth", [0, 3])
def test_a_hybrid_reuses_what_it_read_when_messages_are_edited_answered_again_and_continued(
    chat: ToyChat, depth: int
) -> None:
    first, second, other = map(user, QUESTIONS)
    text, stats = chat.ask(first, depth=depth)
    begun = stats.prompt_tokens
    said = ChatMessage("assistant", text)

    _, stats = chat.ask(first, said, second, depth=depth)
    assert stats.cached_tokens >= begun - 1
    _, again = chat.ask(first, said, second, depth=depth)
    assert again.cached_tokens == again.prompt_tokens - 1  # answered again
    _, edited = chat.ask(first, said, other, depth=depth)
    assert edited.cached_tokens >= begun - 1  # the second question edited
    _, back = chat.ask(first, said, second, depth=depth)
    assert back.cached_tokens >= begun - 1  # back on the old branch

    cut, stats = chat.ask(first, depth=depth, max_tokens=5)
    half = ChatMessage("assistant", cut)
    rest, stats = chat.ask(first, half, depth=depth, max_tokens=19, continues=True)
    assert stats.cached_tokens >= begun - 1
    assert rest
