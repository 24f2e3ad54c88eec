"""Short calls of an engine in this process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.ipc.protocol import Finished, Generate, Tokens
from tests.support.tiny_folder import END

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from mtplx_engine.engine import Engine
    from mtplx_engine.errors import EngineError, ErrorKind
    from mtplx_engine.ipc.protocol import ModelInfo


HELLO = (ChatMessage("user", "hello"),)
NEVER_ENDS = ((END, -100.0),)


def load(engine: Engine, folder: Path) -> ModelInfo:
    return engine.load(str(folder), folder, lambda *_: None, threading.Event())


def run(engine: Engine, messages: tuple[ChatMessage, ...] = HELLO, **fields: Any) -> list[Any]:
    """All events of an answer; `fields` are the request's or the sampler's."""
    request = {name: fields.pop(name) for name in ("max_tokens", "stop", "context", "continues") if name in fields}
    sampler = SamplerConfig(**{"seed": 5, "logit_bias": NEVER_ENDS, **fields})
    request = Generate(3, messages, sampler, **{"max_tokens": 12, **request})
    return list(engine.generate(request, threading.Event()))


def tokens_of(events: list[Any]) -> list[int]:
    return [token for event in events if isinstance(event, Tokens) for token in event.token_ids]


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, Tokens | Finished))


def check_error(caught: pytest.ExceptionInfo[EngineError], kind: ErrorKind, *words: str) -> None:
    assert caught.value.kind is kind
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)
