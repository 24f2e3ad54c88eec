"""Tokens that the decoding loop drew, each held against the law of its own row.

The randomised probability integral transform (Brockwell, Statistics & Probability Letters 77, 2007): with the tokens
of a row in any order, u = P(those before the drawn one) + v P(the drawn one), v uniform. Where every token follows the
law of its row, all u are independent and uniform, exactly, whatever the laws are and however many; so tokens of many
rows make one test. The order decides what is seen best. By p/q, a rule that accepts too much or too little, or draws
again from the wrong rest, moves all u one way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mtplx_engine.goodness import uniform_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Cycle(NamedTuple):
    """What one draft, verify and accept gave.

    Attributes:
        tokens: The accepted drafts and the recovered or bonus token, n of them.
        laws: [n, V] the target's laws, row i of token i.
        drafted: [k, V] the laws that the drafts were drawn from.
    """

    tokens: Sequence[int]
    laws: Floats
    drafted: Floats


class Draws:
    """All tokens of many cycles.

    Args:
        depth: The most drafts of a cycle.
        seed: Of the randomised parts.
    """

    def __init__(self, depth: int, seed: int) -> None:
        self._values: list[list[float]] = [[] for _ in range(depth + 1)]
        self._generator = np.random.default_rng(seed)
        self._impossible = False

    @property
    def counts(self) -> tuple[int, ...]:
        """How many tokens came out at draft position 1, 2, ..., accepted or recovered, and as bonus, the last."""
        return tuple(len(values) for values in self._values)

    def add(self, cycle: Cycle) -> None:
        """Take the tokens of a cycle."""
        count = len(cycle.drafted)
        for place, (token, law) in enumerate(zip(cycle.tokens, cycle.laws, strict=True)):
            score = law
            if place < count:
                with np.errstate(divide="ignore", invalid="ignore"):
                    score = law / cycle.drafted[place]
            before = law[score < score[token]].sum()
            level = law[score == score[token]].sum()
            self._impossible |= bool(law[token] == 0)
            value = (before + self._generator.random() * level) / law.sum()
            self._values[place if place < count else -1].append(min(1.0, float(value)))

    def p_value(self) -> float | None:
        """Return the p-value of all tokens, and of those of each place, as one test (Bonferroni).

        0 when something impossible was drawn; None when there are too few tokens to tell anything.
        """
        if self._impossible:
            return 0.0
        groups = [np.concatenate([np.array(values) for values in self._values]), *map(np.array, self._values)]
        found = [p_value for group in groups if (p_value := uniform_test(group)) is not None]
        return min(1.0, len(found) * min(found)) if found else None
