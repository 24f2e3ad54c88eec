"""Cases of the decoding loop on tiny models, whose answers are tested against the exact distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mtplx_engine.depth import DepthController
from mtplx_engine.draft.draft_model import DraftModelDrafter
from mtplx_engine.draft.drafter import CombinedDrafter
from mtplx_engine.draft.prompt_lookup import PromptLookupDrafter
from tests.support.exact_distribution import joint_distribution
from tests.support.sequential_test import sequential_test
from tests.support.tiny import Answers, DistortedDrafter, tiny_head_drafter, tiny_target
from tests.support.tiny_hybrid import hybrid_head_drafter, hybrid_target

if TYPE_CHECKING:
    from collections import Counter
    from typing import Literal

    from mtplx_engine.config import SamplerConfig
    from mtplx_engine.draft.drafter import Drafter
    from mtplx_engine.models.target import Target
    from tests.support.sequential_test import Outcome


PROMPT = (1, 2, 0)
MIXED_DEPTH = 3  # the deepest that is chosen here


@dataclass(frozen=True, slots=True)
class Case:
    """What is run.

    Attributes:
        config: The sampler.
        drafter: "head" is a real `MTPDrafter` over a random head, "short" the same over all tokens but one,
            "distorted" a drafter that is close to the target, "lookup" copies from the context, "model" is another
            random model that knows all tokens but the last, "head and lookup" both.
        model: The kind of target, which the head shares; the hybrids have gated-delta layers.
        vocabulary: V.
        layers: Of a Llama.
        prompt: Token ids.
        width_multiple: Of a Llama's verify steps.
        length: Tokens an answer. A full block of depth k is followed by another round when this is k + 2 or more.
    """

    config: SamplerConfig
    drafter: Literal["head", "short", "distorted", "lookup", "model", "head and lookup"] = "head"
    vocabulary: int = 4
    layers: int = 1
    width_multiple: int = 1
    length: int = 5
    prompt: tuple[int, ...] = PROMPT
    model: Literal["llama", "qwen3_5", "qwen3_next"] = "llama"

    @property
    def depth(self) -> int:
        """The deepest draft."""
        depth = self.config.speculative_depth
        return MIXED_DEPTH if depth == "auto" else depth

    def new_target(self) -> Target:
        """Make the case's target."""
        if self.model == "llama":
            return tiny_target(self.vocabulary, layers=self.layers, width_multiple=self.width_multiple)
        return hybrid_target(self.model, self.vocabulary)

    def _new_head(self, target: Target) -> Drafter:
        if self.model == "llama":
            return tiny_head_drafter(target)
        return hybrid_head_drafter(self.model, target, spread=0.5)

    def new_drafter(self, target: Target) -> Drafter:
        """Put the case's drafter on its target."""
        if self.drafter == "distorted":
            return DistortedDrafter(target, self.prompt[0])
        if self.drafter == "lookup":
            return PromptLookupDrafter(self.vocabulary)
        if self.drafter == "model":
            return DraftModelDrafter(tiny_target(self.vocabulary - 1, seed=9, spread=0.4), self.vocabulary, chunk=4)
        if self.drafter == "head and lookup":
            return CombinedDrafter(PromptLookupDrafter(self.vocabulary), self._new_head(target))
        if self.drafter == "short":
            return tiny_head_drafter(target, draft_ids=range(1, self.vocabulary))
        return self._new_head(target)


@dataclass(frozen=True, slots=True)
class Result:
    """How the answers of a case compare with their distribution.

    Attributes:
        outcome: Of the sequential test.
        cycles: How often a cycle had so many (drafted, accepted) tokens.
    """

    outcome: Outcome
    cycles: Counter[tuple[int, int]]

    @property
    def acceptance_rate(self) -> float:
        """Accepted / drafted."""
        accepted = sum(accepted * count for (_, accepted), count in self.cycles.items())
        return accepted / sum(drafted * count for (drafted, _), count in self.cycles.items())


def run(case: Case, stages: tuple[int, ...], least: int, first_seed: int = 0) -> Result:
    """Sample answers through the production loop until it is clear whether they follow the distribution.

    Args:
        case: What is run.
        stages: Numbers of answers after which to test.
        least: The smallest number that may be called fine.
        first_seed: Of the first answer.
    """
    target = case.new_target()
    answers = Answers(
        target,
        case.new_drafter(target),
        case.prompt,
        case.config,
        length=case.length,
        first_seed=first_seed,
        depths=_RestlessDepths() if case.config.speculative_depth == "auto" else None,
    )
    distribution = joint_distribution(target, case.prompt, case.config, case.length)
    return Result(sequential_test(answers, distribution, stages=stages, least=least), answers.cycles)


class _RestlessDepths(DepthController):
    """Chooses any depth after a block that was kept whole and any but the deepest after a refusal.

    The real controller goes by acceptance too, but slowly and by the clock; this one is the same in every run.
    """

    def __init__(self) -> None:
        super().__init__(MIXED_DEPTH)
        self._random = np.random.default_rng(3)
        self._deepest = MIXED_DEPTH

    def choose(self) -> int:
        """Return the depth of the next cycle."""
        return int(self._random.integers(self._deepest + 1))

    def record(self, depth: int, accepted: int, seconds: float) -> None:
        """Look at what became of the drafts."""
        self._deepest = MIXED_DEPTH - (accepted < depth)
