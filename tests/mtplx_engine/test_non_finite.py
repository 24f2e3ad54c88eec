"""Numbers that are none end an answer with an error; they never become token 0."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import pytest

from mtplx_engine.config import SamplerConfig
from mtplx_engine.engine import Engine
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.protocol import Generate, Tokens
from tests.support.engine_runs import check_error, tokens_of
from tests.support.tiny_chat import PROMPT, Chat, ScriptedDepths

if TYPE_CHECKING:
    from mtplx_engine.models.loader import LoadedModel


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize(("depth", "right"), [(0, 0), (1, 0), (3, 3), (3, 1)])
def test_nan_is_an_error_with_a_name(tiny_model: LoadedModel, depth: int, right: int, temperature: float) -> None:
    embedding = tiny_model.target.model.model.embed_tokens
    sound = embedding.weight
    chat = Chat(tiny_model, [right])
    plain = chat.answer(depth=depth, temperature=temperature, max_tokens=20)
    bad = next(token for at, token in enumerate(plain) if at >= 5 and token not in plain[:at] + PROMPT)
    embedding.weight = mx.where(mx.arange(sound.shape[0])[:, None] == bad, mx.nan, sound)
    try:
        chat = Chat(tiny_model, [right])
        seen: list[int] = []
        running = chat.stream(depth=depth, temperature=temperature, max_tokens=20)
        with pytest.raises(EngineError) as caught:
            seen.extend(token for event in running if isinstance(event, Tokens) for token in event.token_ids)
        check_error(caught, ErrorKind.NON_FINITE, "not finite", "token")
        assert seen == plain[: len(seen)]
        assert plain.index(bad) - depth <= len(seen) <= plain.index(bad) + 1
        assert chat.engine._prefix is None
    finally:
        embedding.weight = sound
    assert chat.answer(depth=depth, temperature=temperature, max_tokens=20) == plain
    assert chat.cached == 0


def test_a_head_that_gives_nan_changes_no_answer(tiny_model: LoadedModel) -> None:
    plain = Chat(tiny_model).answer(depth=0, max_tokens=20)

    def new_drafter() -> Any:
        drafter = tiny_model.new_drafter()
        project = drafter._project
        drafter._project = lambda hidden: project(hidden) * mx.nan
        return drafter

    engine = Engine()
    engine._model = dataclasses.replace(tiny_model, new_drafter=new_drafter)
    engine._depths = ScriptedDepths((3,))
    for temperature in (0, 0.7):
        sampler = SamplerConfig(temperature=temperature, speculative_depth=3, seed=1)
        events = list(engine.generate_ids(Generate(0, (), sampler, max_tokens=20), PROMPT, threading.Event()))
        assert events[-1].stats.emitted == 20
        assert events[-1].stats.accepted <= 1
        if not temperature:
            assert tokens_of(events) == plain
