"""The trained toy: a hybrid whose head drafts far better than chance, through the engine as people use it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import mlx.core as mx
import mlx_lm
import numpy as np
import pytest

from mtplx_engine.cache import TokenCache
from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.engine import Engine
from mtplx_engine.protocol import Finished, Generate, Tokens
from tests.support.toy import TOY

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.stats import DecodeStats

PROMPTS = ("json.loads", "os.path.join", "argparse.ArgumentParser")
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    loaded = Engine()
    loaded.load(str(TOY), tmp_path_factory.mktemp("data"), lambda *_: None, threading.Event())
    return loaded


def answer(engine: Engine, prompt: str, depth: int, temperature: float) -> tuple[list[int], DecodeStats]:
    sampler = SamplerConfig(temperature=temperature, speculative_depth=depth, seed=5)
    request = Generate(1, (ChatMessage("user", prompt),), sampler, max_tokens=48)
    engine.forget()
    *events, last = engine.generate(request, threading.Event())
    assert isinstance(last, Finished)
    return [token for event in events if isinstance(event, Tokens) for token in event.token_ids], last.stats


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in TOY.iterdir()) < MOST_BYTES


def test_mlx_lm_loads_its_trunk(engine: Engine) -> None:
    model, _ = mlx_lm.load(str(TOY), tokenizer_config={"trust_remote_code": False})
    model.set_dtype(mx.float32)
    tokens = mx.arange(3, 40, dtype=mx.int32)
    target = engine.model.target
    ours = target.logits(target.forward(tokens, TokenCache(target.new_layers())))
    np.testing.assert_allclose(np.array(ours), np.array(model(tokens[None])[0]), atol=1e-4)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_drafts_are_accepted_far_above_chance(engine: Engine, temperature: float) -> None:
    drafted = accepted = 0
    for prompt in PROMPTS:
        _, stats = answer(engine, prompt, 2, temperature)
        drafted += stats.drafted
        accepted += stats.accepted
    assert drafted > 60
    assert accepted / drafted > 0.4  # chance is 1 in 1024


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_greedy_answers_are_those_of_plain_decoding(engine: Engine, depth: int) -> None:
    for prompt in PROMPTS:
        assert answer(engine, prompt, depth, 0.0)[0] == answer(engine, prompt, 0, 0.0)[0]


def test_the_probe_confirmed_its_head(engine: Engine, tmp_path: Path) -> None:
    info = engine.load(str(TOY), tmp_path, lambda *_: None, threading.Event())
    assert (info.drafter, info.drafter_note) == ("mtp", "")
    assert (tmp_path / "probes.json").exists()
