"""Plain decoding hides Python behind the model: little is queued after a forward, so it still runs when that is done.

mlx makes whoever has queued about a hundred operations on a CPU wait. Were so many to follow the forward, the next
cycle could be built only when this one is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mlx.core as mx
import pytest

from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import SamplerConfig
from mtplx_engine.decoding import Decoder
from tests.support.tiny import tiny_target

if TYPE_CHECKING:
    from pathlib import Path


MOST_WAITING = 100
PENALTIES = {"repetition_penalty": 1.1, "presence_penalty": 0.2, "frequency_penalty": 0.1}


def behind_the_forward(config: SamplerConfig, file: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the operations that a plain cycle leaves to do once its logits are there."""
    target = tiny_target(50)
    verify, queue = target.verify, mx.async_eval
    counts: list[int] = []

    def computed(tokens: mx.array, cache: TokenCache, *, strict: bool) -> tuple[mx.array, mx.array]:
        rows = verify(tokens, cache, strict=strict)
        mx.eval(*rows)
        return rows

    def counted(array: mx.array) -> None:
        mx.export_to_dot(str(file), array)
        counts.append(file.read_text().count("label ="))
        queue(array)

    monkeypatch.setattr(target, "verify", computed)
    monkeypatch.setattr(mx, "async_eval", counted)
    decoder = Decoder(target, TokenCache(target.new_layers()), None, config, seed=1)
    list(decoder.prefill([1, 2, 3], 0, chunk=8))
    for _ in range(2):
        decoder.dispatch(0)
    return counts[-1]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize(
    ("settings", "share"),
    [
        ({}, 0.4),
        (PENALTIES, 0.7),
        ({"top_p": 0.9}, 0.6),
        ({"top_p": 0.8, "top_k": 20, "repetition_penalty": 1.05}, 0.8),
    ],
    ids=["nothing", "penalties", "top_p", "as Qwen recommends"],
)
def test_little_is_left_to_do_behind_the_forward(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    temperature: float,
    settings: dict[str, Any],
    share: float,
) -> None:
    config = SamplerConfig(temperature=temperature, logit_bias=((3, -1.0),), **settings)
    assert 0 < behind_the_forward(config, tmp_path / "graph.dot", monkeypatch) < share * MOST_WAITING
