"""The order in which methods take turns, so that a machine that warms up or slows down favours none of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.bench.run import Method

_WARM_UP_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer to be measured.

    Attributes:
        method: Whose turn it is.
        prompt: Index of the prompt.
        tokens: Of the answer.
        warm_up: Whether its figures are dropped.
    """

    method: Method
    prompt: int
    tokens: int
    warm_up: bool


def turns(methods: Sequence[Method], prompts: int, tokens: int) -> list[Turn]:
    """Return a short warm-up of every method, then all of them on each prompt, another one beginning each time.

    Args:
        methods: The ways of decoding.
        prompts: How many prompts.
        tokens: Of each answer.
    """
    order = [Turn(method, 0, min(tokens, _WARM_UP_TOKENS), warm_up=True) for method in methods]
    for prompt in range(prompts):
        shift = prompt % len(methods)
        turned = (*methods[shift:], *methods[:shift])
        order += [Turn(method, prompt, tokens, warm_up=False) for method in turned]
    return order
