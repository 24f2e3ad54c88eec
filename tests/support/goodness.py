"""Do samples follow a known joint law? G-tests of every position and of all positions together, in stages.

After each stage all tests are made on the samples so far. Any p-value below alpha / (stages x tests) ends the matter:
wrong. By Bonferroni a right sampler is called wrong with probability at most alpha, whatever the stages have in
common. From `least` samples on, a smallest p-value above `CLEAR` / tests ends it too: fine. That exit can only lower
the rate of false alarms. A sampler that is neither after the last stage is not called wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CLEAR = 0.2  # four of five right samplers are through at the first chance
_LEAST_EXPECTED = 5.0  # samples a cell should have on average before a chi-square is trusted


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a sequential test.

    Attributes:
        wrong: Whether the samples contradict the law.
        samples: How many were looked at.
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
    samples: Iterable[Sequence[int]], law: Floats, *, stages: Sequence[int], least: int, alpha: float = 1e-6
) -> Outcome:
    """Test samples until the answer is clear.

    Args:
        samples: Endless; each is one token a position. Independent of each other.
        law: Their joint law, one axis a position.
        stages: Numbers of samples after which to look, increasing.
        least: The smallest number of samples that may be called fine.
        alpha: The largest probability of calling a right sampler wrong.
    """
    counts: Counter[tuple[int, ...]] = Counter()
    drawn = iter(samples)
    outcome = Outcome(wrong=False, samples=0, p_value=1.0, where="")
    for stage in stages:
        counts.update(tuple(next(drawn)) for _ in range(stage - outcome.samples))
        outcome = _look(counts, law, alpha / len(stages))
        if outcome.wrong or (stage >= least and outcome.p_value > CLEAR):
            break
    return outcome


def _look(counts: Counter[tuple[int, ...]], law: Floats, alpha: float) -> Outcome:
    observed = np.zeros(law.shape)
    for tokens, count in counts.items():
        observed[tokens] = count
    p_values = {"joint": g_test(observed.ravel(), law.ravel())}
    for axis in range(law.ndim):
        others = tuple(a for a in range(law.ndim) if a != axis)
        p_values[f"position {axis}"] = g_test(observed.sum(axis=others), law.sum(axis=others))
    where, smallest = min(p_values.items(), key=lambda item: item[1])
    adjusted = min(1.0, smallest * len(p_values))
    return Outcome(wrong=adjusted < alpha, samples=counts.total(), p_value=adjusted, where=where)


def g_test(observed: Floats, law: Floats) -> float:
    """Return the p-value of counts [cells] under a law [cells]; 0 when something impossible was seen.

    Rare cells are pooled until each expects enough, the rarest first, and Williams' correction is applied.
    """
    if observed[law == 0].any():
        return 0.0
    total = observed.sum()
    cells = _pooled(law * total)
    expected = np.bincount(cells, law * total)
    seen = np.bincount(cells, observed)
    freedom = expected.size - 1
    if freedom == 0:
        return 1.0
    found = seen > 0
    statistic = 2 * float((seen[found] * np.log(seen[found] / expected[found])).sum())
    williams = 1 + ((total / expected).sum() - 1) / (6 * total * freedom)
    return chi_square_tail(max(0.0, statistic / williams), freedom)


def _pooled(expected: Floats) -> NDArray[np.int64]:
    """Number the cells so that each number stands for an expectation of at least `_LEAST_EXPECTED`, if there is."""
    numbers = np.zeros(expected.size, np.int64)
    number, mass = 0, 0.0
    left = float(expected.sum())
    for cell in np.argsort(expected, kind="stable"):
        numbers[cell] = number
        mass, left = mass + expected[cell], left - expected[cell]
        if mass >= _LEAST_EXPECTED and left >= _LEAST_EXPECTED:
            number, mass = number + 1, 0.0
    return numbers


def chi_square_tail(statistic: float, freedom: int) -> float:
    """Return P(X > statistic) for X chi-square with a whole number of degrees of freedom, in closed form."""
    half = statistic / 2
    if half == 0:
        return 1.0
    if freedom % 2:
        tail, exponents = math.erfc(math.sqrt(half)), (i + 0.5 for i in range(freedom // 2))
    else:
        tail, exponents = 0.0, (float(i) for i in range(freedom // 2))
    return min(1.0, tail + sum(math.exp(e * math.log(half) - half - math.lgamma(e + 1)) for e in exponents))
