"""A measurement that can never work is refused in a sentence, before any model is loaded."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.protocol import Measure
from mtplx_engine.measure.measurement import PromptKind

GOOD = Measure(1, (PromptKind.CHAT,), context=1024, tokens=16, pairs=3, depths=(1, 8), temperature=0.7)


@pytest.mark.parametrize("changes", [{}, {"depths": ()}, {"context": 17}, {"kinds": tuple(PromptKind)}])
def test_what_can_be_measured_passes(changes: dict[str, Any]) -> None:
    dataclasses.replace(GOOD, **changes).check()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kinds": ()}, "choose at least one"),
        ({"pairs": 2}, "2 pairs of answers show no range; take 3 or more"),
        ({"tokens": 15}, "15 tokens are too few to measure a speed; take 16 or more"),
        ({"context": 16}, "leave no room for a prompt"),
        ({"depths": (1, 0)}, "from 1 to 8"),
        ({"depths": (9,)}, "from 1 to 8"),
        ({"temperature": 7.0}, "temperature is 7.0, but must be from 0 to 5"),
        ({"temperature": float("nan")}, "temperature is nan"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_a_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(EngineError, match=words) as caught:
        dataclasses.replace(GOOD, **changes).check()
    assert caught.value.kind is ErrorKind.BAD_REQUEST
