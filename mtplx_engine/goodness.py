"""G-tests: whether counts follow a known law.

Sokal and Rohlf, Biometry (1995), chapter 17; Williams' correction (Biometrika 63, 1976) brings the statistic closer
to its chi-square law where counts are small.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEAST_VALUES = 100
"""Numbers that a test of uniformity needs: ten a bin, for its far tails."""

_BINS = 10
_EVEN = np.full(_BINS, 1 / _BINS)
_LEAST_EXPECTED = 5.0  # samples a cell should have on average before a chi-square is trusted


def g_test(observed: Floats, law: Floats) -> float:
    """Return the p-value of counts [cells] under a law [cells]; 0 when something impossible was seen.

    Rare cells are pooled until each expects enough, the rarest first.
    """
    statistic, freedom = _statistic(observed, law)
    return chi_square_tail(statistic, freedom) if freedom else float(statistic == 0)


def uniform_test(values: Floats) -> float | None:
    """Return the p-value that numbers [n] are uniform between 0 and 1; None for fewer than `LEAST_VALUES`.

    A G-test of ten even bins sees any pattern, a test of the mean sees best what moves all one way; the smaller
    p-value counts twice (Bonferroni). The mean of uniform numbers has lighter tails than the normal law taken here.
    """
    if values.size < LEAST_VALUES:
        return None
    counts, _ = np.histogram(values, _BINS, (0.0, 1.0))
    off = abs(float(values.mean()) - 0.5) * math.sqrt(12 * values.size)  # in standard deviations
    return min(1.0, 2 * min(g_test(counts.astype(np.float64), _EVEN), math.erfc(off / math.sqrt(2))))


def _statistic(observed: Floats, law: Floats) -> tuple[float, int]:
    """Return G with Williams' correction, and its degrees of freedom; infinite for something impossible."""
    if observed[law == 0].any():
        return math.inf, 0
    total = observed.sum()
    cells = _pooled(law * total)
    expected = np.bincount(cells, law * total).astype(np.float64)
    seen = np.bincount(cells, observed)
    freedom = expected.size - 1
    if freedom == 0:
        return 0.0, 0
    found = seen > 0
    g = 2 * float((seen[found] * np.log(seen[found] / expected[found])).sum())
    williams = 1 + ((total / expected).sum() - 1) / (6 * total * freedom)
    return max(0.0, g / williams), freedom


def _pooled(expected: Floats) -> NDArray[np.int64]:
    """Number the cells so that each number expects `_LEAST_EXPECTED` or more, where there is so much."""
    numbers = np.zeros(expected.size, np.int64)
    number, mass = 0, 0.0
    left = float(expected.sum())
    for cell in np.argsort(expected, kind="stable"):
        numbers[cell] = number
        mass, left = mass + expected[cell], left - expected[cell]
        if min(mass, left) >= _LEAST_EXPECTED:
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
