"""Settings are checked when they are made, and the error names the field, its value and what is allowed."""

from __future__ import annotations

import dataclasses
import math

import pytest

from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import EngineError, ErrorKind

VALID = [
    {},
    {"draft_core": "stock", "speculative_depth": 2, "verify_core": "target"},
    {"temperature": 0},
    {"temperature": 5.0, "top_p": 0.0, "top_k": 1_000_000, "min_p": 1.0},
    {"repetition_penalty": 0.1, "presence_penalty": -10, "frequency_penalty": 10},
    {"logit_bias": ((0, -100.0), (2**31 - 1, 100))},
    {"seed": 0, "speculative_depth": 0},
    {"seed": 2**63 - 1, "speculative_depth": 8, "verify_core": "strict", "draft_core": "off"},
    {"speculative_depth": "auto", "draft_core": "draft_model"},
]
INVALID = [
    ("temperature", -0.1, "from 0 to 5"),
    ("temperature", 5.1, "from 0 to 5"),
    ("temperature", math.nan, "a number from 0 to 5"),
    ("temperature", math.inf, "a number from 0 to 5"),
    ("temperature", "hot", "a number from 0 to 5"),
    ("temperature", None, "a number from 0 to 5"),
    ("temperature", True, "a number from 0 to 5"),
    ("top_p", 1.01, "from 0 to 1"),
    ("top_k", -1, "a whole number from 0 to 1000000"),
    ("top_k", 2.5, "a whole number from 0 to 1000000"),
    ("top_k", 40.0, "a whole number from 0 to 1000000"),
    ("min_p", -0.01, "from 0 to 1"),
    ("repetition_penalty", 0, "from 0.1 to 10"),
    ("presence_penalty", 11, "from -10 to 10"),
    ("frequency_penalty", -11, "from -10 to 10"),
    ("seed", -1, "a whole number from 0"),
    ("seed", 2**63, "a whole number from 0"),
    ("seed", 1.0, "a whole number from 0"),
    ("speculative_depth", 9, 'a whole number from 0 to 8 or "auto"'),
    ("speculative_depth", -1, 'a whole number from 0 to 8 or "auto"'),
    ("speculative_depth", "deep", 'a whole number from 0 to 8 or "auto"'),
    ("draft_core", "magic", "one of stock, mtp, draft_model, prompt_lookup, mtp+prompt_lookup, off"),
    ("verify_core", "", "one of target, strict"),
]


@pytest.mark.parametrize("fields", VALID)
def test_sound_settings_are_taken(fields: dict[str, object]) -> None:
    config = SamplerConfig(**fields)
    assert {name: getattr(config, name) for name in fields} == fields


@pytest.mark.parametrize(("name", "value", "allowed"), INVALID)
def test_unsound_settings_are_refused(name: str, value: object, allowed: str) -> None:
    with pytest.raises(EngineError) as caught:
        SamplerConfig(**{name: value})
    assert caught.value.kind is ErrorKind.BAD_REQUEST
    assert str(caught.value).startswith(f"{name} is {value!r}, but must be ")
    assert allowed in str(caught.value)


@pytest.mark.parametrize(
    "pair", [(-1, 0.0), (0.5, 0.0), (True, 0.0), (2**31, 0.0), (0, 101.0), (0, math.nan), (0, "1")]
)
def test_unsound_biases_are_refused(pair: tuple[int, float]) -> None:
    with pytest.raises(EngineError, match="logit_bias"):
        SamplerConfig(logit_bias=((0, 1.0), pair))


def test_settings_cannot_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SamplerConfig().temperature = 1.0


@pytest.mark.parametrize(
    ("temperature", "greedy"), [(0, True), (1e-40, True), (1e-6, True), (0.001, False), (1, False)]
)
def test_a_vanishing_temperature_is_greedy(temperature: float, *, greedy: bool) -> None:
    assert SamplerConfig(temperature=temperature).greedy is greedy


@pytest.mark.parametrize(
    ("fields", "needs"),
    [
        ({}, False),
        ({"logit_bias": ((1, 1.0),), "top_k": 3}, False),
        ({"repetition_penalty": 1.1}, True),
        ({"presence_penalty": -0.5}, True),
        ({"frequency_penalty": 0.5}, True),
    ],
)
def test_only_penalties_need_to_know_what_came_before(fields: dict[str, object], *, needs: bool) -> None:
    assert SamplerConfig(**fields).needs_history is needs
