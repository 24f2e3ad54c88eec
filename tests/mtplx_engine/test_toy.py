"""The trained toy: a hybrid whose head drafts far better than chance, through the engine as users run it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, get_args

import mlx.core as mx
import mlx_lm
import numpy as np
import pytest

from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import ChatMessage, DrafterKind, SamplerConfig
from mtplx_engine.engine import Engine
from mtplx_engine.ipc.protocol import Finished, Generate, Tokens
from mtplx_engine.models import probe
from mtplx_engine.sampling import Shaper
from tests.support.toy import TOY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_engine.ipc.protocol import PrefillProgress
    from mtplx_engine.stats import DecodeStats


PROMPTS = ("json.loads", "os.path.join", "argparse.ArgumentParser")
OWN_WORDS = "The default value is a string, the underlying the underlying\nthe default value is a string.\n\n"
REPEATED = (  # in the words that it repeats by itself, so that copies are accepted
    f"{OWN_WORDS}{OWN_WORDS}The default value is a string, the",
    f"Return the underlying a string without associated.\n\n{OWN_WORDS}The default value is a string, the",
)
LENGTH = 32  # of a prompt, in tokens
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An engine with the toy, and as its draft model a second toy whose final norm is a little off."""
    loaded = Engine()
    data_dir = tmp_path_factory.mktemp("data")
    loaded.load(str(TOY), data_dir, lambda *_: None, threading.Event(), draft_model=str(TOY))
    norm = loaded._draft_model.target.model.language_model.model.norm
    gains = np.random.default_rng(0).normal(1, 0.4, norm.weight.shape)
    norm.weight = norm.weight * mx.array(gains, mx.float32)
    return loaded


def answer(engine: Engine, prompt: str, depth: int, temperature: float) -> tuple[list[int], DecodeStats]:
    sampler = SamplerConfig(temperature=temperature, speculative_depth=depth, seed=5)
    request = Generate(1, (ChatMessage("user", prompt),), sampler, max_tokens=48)
    engine.forget()
    return tokens_of(engine.generate(request, threading.Event()))


def continuation(
    engine: Engine, text: str, depth: int, kind: DrafterKind, max_tokens: int
) -> tuple[list[int], DecodeStats]:
    """Go on with a text at temperature 0, without a chat template."""
    sampler = SamplerConfig(temperature=0, speculative_depth=depth, draft_core=kind)
    request = Generate(1, (), sampler, max_tokens=max_tokens)
    engine.forget()
    return tokens_of(engine.generate_ids(request, engine.model.tokenizer.encode(text), threading.Event()))


def tokens_of(running: Iterator[PrefillProgress | Tokens | Finished]) -> tuple[list[int], DecodeStats]:
    *events, last = running
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


def check_greedy(engine: Engine, texts: tuple[str, ...], kind: DrafterKind, max_tokens: int) -> None:
    drafted = accepted = 0
    for text in texts:
        plain, _ = continuation(engine, text, 0, kind, max_tokens)
        for depth in range(1, 7):
            tokens, stats = continuation(engine, text, depth, kind, max_tokens)
            assert tokens == plain, f"{text!r} at depth {depth}"
            drafted += stats.drafted
            accepted += stats.accepted
    print(f"{kind}: {accepted} of {drafted} drafts accepted")
    assert 0 < accepted < drafted


@pytest.mark.parametrize("kind", get_args(DrafterKind))
def test_greedy_answers_are_those_of_plain_decoding(engine: Engine, kind: DrafterKind) -> None:
    check_greedy(engine, REPEATED, kind, max_tokens=32)


@pytest.mark.long
@pytest.mark.parametrize("kind", get_args(DrafterKind))
def test_longer_greedy_answers_are_those_of_plain_decoding(engine: Engine, kind: DrafterKind) -> None:
    check_greedy(engine, (*REPEATED, *PROMPTS), kind, max_tokens=128)


def test_the_prompts_history_makes_the_head_better(engine: Engine) -> None:
    """Expected acceptance of the first draft over 8 tokens after each prompt; no draw decides, so it is exact."""
    model, config = engine.model, SamplerConfig(temperature=0.7)
    target, shaper = model.target, Shaper(config, model.target.vocabulary)
    ids = model.tokenizer.encode(probe.TEXT)
    rates = []
    for start in range(0, len(ids) - LENGTH - 8, 12):
        text = ids[start : start + LENGTH + 9]
        hidden = target.forward(mx.array(text), TokenCache(target.new_layers()))
        p = shaper.distribution(target.logits(hidden))
        for first in (0, LENGTH - 1):  # the oldest pair that the head is told of
            drafter = model.new_drafter()
            drafter.extend(hidden[first:LENGTH], text[first + 1 : LENGTH + 1])
            for at in range(LENGTH, LENGTH + 8):
                q = drafter.propose(1, shaper, None, mx.random.key(at)).distributions[0]
                rates.append(mx.minimum(p[at], q).sum().item())
                drafter.extend(hidden[at : at + 1], text[at + 1 : at + 2])
    known, unknown = np.array(rates).reshape(-1, 2, 8).mean(axis=2).T
    print(f"acceptance with the prompt's history {known.mean():.3f}, without {unknown.mean():.3f}")
    assert known.mean() > unknown.mean()
    assert (known > unknown).mean() > 0.6


def test_the_probe_confirmed_its_head(engine: Engine, tmp_path: Path) -> None:
    info = engine.load(str(TOY), tmp_path, lambda *_: None, threading.Event())
    assert (info.drafter, info.drafter_note) == ("mtp", "")
    assert (tmp_path / "probes.json").exists()
