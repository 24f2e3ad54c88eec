"""At temperature 0 drafting changes nothing but the time: every token is the one that plain decoding gives."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from mlx_lm.generate import stream_generate

from mtplx_engine.bench.prompts import PROMPTS
from mtplx_engine.config import SamplerConfig
from mtplx_engine.engine import Engine
from mtplx_engine.ipc.protocol import Finished, Generate, Tokens
from tests.support.tiny import DistortedDrafter, decode, tiny_head_drafter, tiny_target
from tests.support.tiny_chat import Chat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel
    from mtplx_engine.stats import DecodeStats


# Prints the answers of the starter to the prompts in argv[3:] on OpenBLAS: plain, then strict at each depth.
STRICT = """
import json, sys, threading
from pathlib import Path
from mtplx_engine import backend
backend.prepare()
from mtplx_engine.config import SamplerConfig
from mtplx_engine.engine import Engine
from mtplx_engine.ipc.protocol import Generate, Tokens
engine = Engine()
info = engine.load(sys.argv[1], Path(sys.argv[1]), lambda *_: None, threading.Event())
answers = []
for ids in json.loads(sys.argv[2]):
    for depth in range(5):
        sampler = SamplerConfig(temperature=0, speculative_depth=depth, verify_core="strict")
        engine.forget()
        events = engine.generate_ids(Generate(0, (), sampler, max_tokens=40), ids, threading.Event())
        answers.append([token for event in events if isinstance(event, Tokens) for token in event.token_ids])
print(json.dumps([info.backend, answers]))
"""


@pytest.mark.parametrize("verify_core", ["target", "strict"])
@pytest.mark.parametrize("depth", range(1, 7))
def test_every_accept_count(tiny_model: LoadedModel, depth: int, verify_core: str) -> None:
    plain = Chat(tiny_model).answer(depth=0, max_tokens=25)
    for right in range(depth + 1):
        chat = Chat(tiny_model, [right])
        assert chat.answer(depth=depth, max_tokens=25, verify_core=verify_core) == plain
        whole = [event for event in chat.cycles if event.drafted == depth]  # not cut short by the limit
        assert len(whole) >= 3
        assert {event.accepted for event in whole} == {right}


def test_accept_counts_that_change_all_the_time(tiny_model: LoadedModel) -> None:
    plain = Chat(tiny_model).answer(depth=0, max_tokens=60)
    chat = Chat(tiny_model, [0, 3, 1, 6, 2, 5, 4, 0, 0, 6])
    assert chat.answer(depth=6, max_tokens=60) == plain
    assert {event.accepted for event in chat.cycles} == set(range(7))


def test_depths_that_change_all_the_time(tiny_model: LoadedModel) -> None:
    plain = Chat(tiny_model).answer(depth=0, max_tokens=60)
    chat = Chat(tiny_model, [1, 0, 8], depths=random.Random(3).choices(range(5), k=41))
    assert chat.answer(depth="auto", max_tokens=60) == plain
    assert {event.drafted for event in chat.cycles} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"repetition_penalty": 1.3},
        {"presence_penalty": 0.6, "frequency_penalty": 0.4},
        {"logit_bias": ((1, -3.0), (4, 2.0)), "frequency_penalty": 0.2},
    ],
)
def test_drafters_that_are_right_now_and_then(settings: dict[str, Any]) -> None:
    prompt = [0, 1, 4, 5, 5, 0]
    by_head, by_guess = set(), set()
    for seed, depth in itertools.product(range(2), (1, 3, 6)):
        target = tiny_target(6, seed=seed)
        config = SamplerConfig(temperature=0, speculative_depth=depth, **settings)
        plain = decode(target, None, prompt, config, seed=0, max_tokens=30)
        for drafter, counts in [
            (tiny_head_drafter(target, seed=seed), by_head),
            (tiny_head_drafter(target, seed=seed, draft_ids=(0, 2, 3, 5)), by_head),
            (DistortedDrafter(target, prompt[0], noise=1.5), by_guess),
        ]:
            drafted = decode(target, drafter, prompt, config, seed=0, max_tokens=30)
            assert drafted.tokens == plain.tokens
            counts |= {event.accepted for event in drafted.events}
    assert by_head >= {0, 1}
    assert by_guess >= {0, 1, 2}


# ---------------------------------------------------------------- the starter model


@pytest.fixture(scope="module")
def starter(starter_dir: Path) -> Iterator[Engine]:
    """The starter model on the wheel's own BLAS, which gives a row the same bits in any company."""
    engine = Engine()
    info = engine.load(str(starter_dir), starter_dir, lambda *_: None, threading.Event())
    assert info.backend.endswith("reference BLAS")
    assert info.drafter == "mtp"
    yield engine
    engine.unload()


def prompt_ids(engine: Engine, question: str) -> list[int]:
    turn = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"  # no system text, to be short
    ids: list[int] = engine.model.tokenizer.encode(turn)
    return ids


def answer(engine: Engine, ids: list[int], depth: int, max_tokens: int) -> tuple[list[int], DecodeStats]:
    sampler = SamplerConfig(temperature=0, speculative_depth=depth)
    *events, finished = engine.generate_ids(Generate(0, (), sampler, max_tokens=max_tokens), ids, threading.Event())
    assert isinstance(finished, Finished)
    return [token for e in events if isinstance(e, Tokens) for token in e.token_ids], finished.stats


def mlx_lm_answer(engine: Engine, ids: list[int], max_tokens: int) -> list[int]:
    model = engine.model
    responses = stream_generate(model.target.model, model.tokenizer, ids, max_tokens=max_tokens)
    return [response.token for response in responses if response.token not in model.end_ids]


def check_answers(engine: Engine, question: str, depths: tuple[int, ...], max_tokens: int) -> None:
    ids = prompt_ids(engine, question)
    expected = mlx_lm_answer(engine, ids, max_tokens)
    engine.forget()
    for depth in (*depths, 0):  # each from the cache that the one before left behind
        tokens, stats = answer(engine, ids, depth, max_tokens)
        assert tokens == expected, f"depth {depth}"
        assert (stats.accepted > 0) == (depth > 0)


@pytest.mark.starter
@pytest.mark.parametrize("question", [prompt.text for prompt in PROMPTS[:4]])
def test_the_starters_answers_are_mlx_lms(starter: Engine, question: str) -> None:
    check_answers(starter, question, depths=(3, 1), max_tokens=24)


@pytest.mark.long
@pytest.mark.starter
@pytest.mark.parametrize("question", [prompt.text for prompt in PROMPTS])
def test_longer_answers_at_every_depth(starter: Engine, question: str) -> None:
    check_answers(starter, question, depths=(4, 3, 2, 1), max_tokens=64)


@pytest.mark.long
@pytest.mark.starter
def test_strict_verification_is_plain_decoding_on_openblas(starter: Engine, starter_dir: Path) -> None:
    prompts = json.dumps([prompt_ids(starter, prompt.text) for prompt in PROMPTS[:4]])
    command = [sys.executable, "-I", "-c", STRICT, str(starter_dir), prompts]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    backend, answers = json.loads(output)
    assert backend.endswith("OpenBLAS"), "install libopenblas0-pthread to run this test"
    for plain, *strict in (answers[i : i + 5] for i in range(0, len(answers), 5)):
        assert strict == [plain] * 4
