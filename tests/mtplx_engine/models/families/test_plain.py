"""Families whose heads wait for a later version: they decode as mlx-lm does, and say why their head is off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
import pytest

from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.models import inspection
from mtplx_engine.models.families.plain import PLAIN
from mtplx_engine.models.families.registry import FAMILIES
from mtplx_engine.models.families.supported import PLAIN_ONLY, SUPPORTED, takes_drafts
from mtplx_engine.models.inspection import ProbeMemory
from tests.support.checkpoints import plain
from tests.support.checkpoints.family_case import load
from tests.support.tiny_chat import PROMPT

if TYPE_CHECKING:
    from pathlib import Path


families = pytest.mark.parametrize("name", plain.PLAIN)
DRAFTED = [name for name in plain.PLAIN if takes_drafts({"model_type": name})]


@families
def test_logits_are_those_of_mlx_lm(name: str, tmp_path: Path) -> None:
    stock = plain.PLAIN[name].write(tmp_path)
    target = load(tmp_path).target
    logits = target.logits(target.forward(mx.array(PROMPT), TokenCache(target.new_layers())))
    np.testing.assert_allclose(np.array(logits), np.array(stock(mx.array([PROMPT]))[0]), atol=1e-5)


@pytest.mark.parametrize("name", DRAFTED)
def test_a_refused_block_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    plain.PLAIN[name].write(tmp_path)
    target = load(tmp_path).target
    cache = TokenCache(target.new_layers())
    target.forward(mx.array(PROMPT[:20]), cache)
    wrong = mx.array([PROMPT[20], 9, 9, 9])
    target.verify(wrong, cache, strict=False)
    cache.trim_to(21)
    after = target.forward(mx.array(PROMPT[21:]), cache)
    fresh = target.forward(mx.array(PROMPT), TokenCache(target.new_layers()))[21:]
    np.testing.assert_array_equal(np.array(after), np.array(fresh))


@pytest.mark.parametrize("name", DRAFTED)
def test_an_answer_has_no_drafts_and_the_note_says_why(name: str, tmp_path: Path) -> None:
    plain.PLAIN[name].write(tmp_path)
    model = load(tmp_path)
    assert model.new_drafter is None
    family = PLAIN_ONLY[name]
    expected = f"Drafting heads of {family} models come in a later version; this model decodes plainly."
    without = "This model has no drafting head (MTP); it decodes plainly."
    assert model.drafter_note == (expected if plain.PLAIN[name].head else without)
    assert inspection.inspect(tmp_path, ProbeMemory(tmp_path)).reason == model.drafter_note


def test_the_lists_name_every_family_once() -> None:
    assert FAMILIES.keys() == SUPPORTED
    assert PLAIN.keys() == PLAIN_ONLY.keys()
    assert not SUPPORTED & PLAIN_ONLY.keys()
