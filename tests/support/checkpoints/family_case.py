"""What the tests of every family with heads begin with: written, loaded, and what it computes of a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import mlx.core as mx
import numpy as np

from mtplx_engine import backend
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import SamplerConfig
from mtplx_engine.models import checkpoint, loader
from mtplx_engine.sampling import Shaper
from tests.support.checkpoints import shards
from tests.support.tiny_chat import PROMPT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel


DRAFTS = 3


class Numbers(NamedTuple):
    """Of the prompt: hiddens [n, H] and logits [n, V], then draft distributions [3, V] and drafts."""

    hidden: np.ndarray
    logits: np.ndarray
    distributions: np.ndarray
    drafts: list[int]


def write(folder: Path, tiny: Any, tensors: Mapping[str, mx.array], **changes: object) -> Path:
    """Write tensors with a tiny family's configuration, changed; returns the folder."""
    shards.write(folder, {**tiny.config, **changes}, tensors)
    return folder


def load(folder: Path) -> LoadedModel:
    """Load a folder; its head is wired as published."""
    return loader.load_checkpoint(checkpoint.check(folder), backend.policy(), lambda *_: None)


def numbers(model: LoadedModel) -> Numbers:
    """Forward the prompt and draft after it."""
    target = model.target
    hidden = target.forward(mx.array(PROMPT, mx.int32), TokenCache(target.new_layers()))
    assert model.new_drafter, model.drafter_note
    drafter = model.new_drafter()
    drafter.extend(hidden[:-1], PROMPT[1:])
    shaper = Shaper(SamplerConfig(temperature=1.0, top_p=1.0), target.vocabulary)
    draft = drafter.propose(DRAFTS, shaper, None, mx.random.key(3))
    assert draft.distributions is not None
    logits = target.logits(hidden)
    return Numbers(np.array(hidden), np.array(logits), np.array(draft.distributions), draft.tokens.tolist())


def check_same(one: Numbers, other: Numbers) -> None:
    """Assert that two models compute the same, bit for bit."""
    for expected, got in zip(one, other, strict=True):
        np.testing.assert_array_equal(got, expected)
