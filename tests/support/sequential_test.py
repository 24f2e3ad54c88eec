"""Sequential test whether samples follow a known joint distribution: G-tests of each position and of all together.

After each stage all tests are made on the samples so far. Any p-value below alpha / (stages x tests) ends the test:
wrong. By Bonferroni a correct sampler is called wrong with probability at most alpha, whatever the stages have in
common. From `least` samples on, a smallest p-value above `CLEAR` / tests ends it too: fine. That exit can only lower
the rate of false alarms. A sampler that is neither after the last stage is not called wrong.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mtplx_engine.bench.prefix import g_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


CLEAR = 0.2  # four of five right samplers are through at the first chance


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a sequential test.

    Attributes:
        wrong: Whether the samples contradict the distribution.
        samples: How many were tested.
        p_value: The smallest p-value of the last stage times the number of tests.
        where: The test that gave it: "joint" or "position 0", ...
    """

    wrong: bool
    samples: int
    p_value: float
    where: str

    def __str__(self) -> str:
        word = "wrong" if self.wrong else "fine"
        return f"{word} after {self.samples} samples, p = {self.p_value:.2g} ({self.where})"


def sequential_test(
    samples: Iterable[Sequence[int]],
    distribution: Floats,
    *,
    stages: Sequence[int],
    least: int,
    alpha: float = 1e-6,
) -> Outcome:
    """Test samples until the answer is clear.

    Args:
        samples: Endless; each is one token a position. Independent of each other.
        distribution: Their joint distribution, one axis a position.
        stages: Numbers of samples after which to test, increasing.
        least: The smallest number of samples that may be called fine.
        alpha: The largest probability of calling a right sampler wrong.
    """
    counts: Counter[tuple[int, ...]] = Counter()
    drawn = iter(samples)
    outcome = Outcome(wrong=False, samples=0, p_value=1.0, where="")
    for stage in stages:
        counts.update(tuple(next(drawn)) for _ in range(stage - outcome.samples))
        outcome = _test_all(counts, distribution, alpha / len(stages))
        if outcome.wrong or (stage >= least and outcome.p_value > CLEAR):
            break
    return outcome


def _test_all(counts: Counter[tuple[int, ...]], distribution: Floats, alpha: float) -> Outcome:
    observed = np.zeros(distribution.shape)
    for tokens, count in counts.items():
        observed[tokens] = count
    p_values = {"joint": g_test(observed.ravel(), distribution.ravel())}
    for axis in range(distribution.ndim):
        others = tuple(a for a in range(distribution.ndim) if a != axis)
        p_values[f"position {axis}"] = g_test(observed.sum(axis=others), distribution.sum(axis=others))
    where, smallest = min(p_values.items(), key=lambda item: item[1])
    adjusted = min(1.0, smallest * len(p_values))
    return Outcome(wrong=adjusted < alpha, samples=counts.total(), p_value=adjusted, where=where)
