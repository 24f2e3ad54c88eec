"""The trained toy's answers through the decoding loop, tested against their exact distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mtplx_engine import backend
from mtplx_engine.models import checkpoint, loader
from tests.support.exact_distribution import likely_answers
from tests.support.loop_case import Result
from tests.support.sequential_test import sequential_test
from tests.support.tiny import Answers
from tests.support.toy import TOY

if TYPE_CHECKING:
    from mtplx_engine.config import SamplerConfig


LENGTH, LIKELY = 4, 15


def run(
    text: str, config: SamplerConfig, stages: tuple[int, ...], least: int, first_seed: int = 0
) -> tuple[Result, float]:
    """Let the toy go on with a text until it is clear whether its answers of `LENGTH` tokens follow their distribution.

    Its vocabulary is too large to count all answers: the `LIKELY` likeliest have a cell each, all others one together.

    Args:
        text: What it goes on with.
        config: The sampler.
        stages: Numbers of answers after which to test.
        least: The smallest number that may be called fine.
        first_seed: Of the first answer.

    Returns:
        The result, and the share of answers that have a cell of their own.
    """
    backend.apply(policy := backend.policy())
    toy = loader.load_checkpoint(checkpoint.check(TOY), policy, lambda *_: None)
    prompt = toy.tokenizer.encode(text)
    likely = likely_answers(toy.target, prompt, config, length=LENGTH, width=LIKELY)
    share = sum(likely.values())
    assert toy.new_drafter
    answers = Answers(toy.target, toy.new_drafter(), prompt, config, length=LENGTH, first_seed=first_seed)
    cells = {answer: cell for cell, answer in enumerate(likely)}
    outcome = sequential_test(
        ((cells.get(tokens, LIKELY),) for tokens in answers),
        np.array([*likely.values(), 1 - share]),
        stages=stages,
        least=least,
    )
    return Result(outcome, answers.cycles), share
