"""G-tests: whether counts follow a known law.

Sokal and Rohlf, Biometry (1995), chapter 17; Williams' correction (Biometrika 63, 1976) brings the statistic closer
to its chi-square law where counts are small.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LEAST_EXPECTED = 5.0  # samples a cell should have on average before a chi-square is trusted,
_LEAST_OF_MANY = 10.0  # and where the far tails of many small tables add up


def g_test(observed: Floats, law: Floats) -> float:
    """Return the p-value of counts [cells] under a law [cells]; 0 when something impossible was seen.

    Rare cells are pooled until each expects enough, the rarest first.
    """
    statistic, freedom = _statistic(observed, law, _LEAST_EXPECTED)
    return chi_square_tail(statistic, freedom) if freedom else float(statistic == 0)


def g_test_of_all(tables: Iterable[tuple[Floats, Floats]]) -> float | None:
    """Return the p-value of independent counts, each under a law of its own, as one test; their statistics add up.

    Args:
        tables: Counts [cells] and their law [cells].

    Returns:
        The p-value as in `g_test`; None when no table has enough counts to tell anything.
    """
    parts = [_statistic(observed, law, _LEAST_OF_MANY) for observed, law in tables]
    statistic, freedom = (sum(column) for column in zip(*parts, strict=True)) if parts else (0.0, 0)
    if statistic == math.inf:
        return 0.0
    return chi_square_tail(statistic, int(freedom)) if freedom else None


def _statistic(observed: Floats, law: Floats, least: float) -> tuple[float, int]:
    """Return G with Williams' correction, and its degrees of freedom; infinite for something impossible."""
    if observed[law == 0].any():
        return math.inf, 0
    total = observed.sum()
    cells = _pooled(law * total, least)
    expected = np.bincount(cells, law * total).astype(np.float64)
    seen = np.bincount(cells, observed)
    freedom = expected.size - 1
    if freedom == 0:
        return 0.0, 0
    found = seen > 0
    g = 2 * float((seen[found] * np.log(seen[found] / expected[found])).sum())
    williams = 1 + ((total / expected).sum() - 1) / (6 * total * freedom)
    return max(0.0, g / williams), freedom


def _pooled(expected: Floats, least: float) -> NDArray[np.int64]:
    """Number the cells so that each number stands for an expectation of at least `least`, if there is so much."""
    numbers = np.zeros(expected.size, np.int64)
    number, mass = 0, 0.0
    left = float(expected.sum())
    for cell in np.argsort(expected, kind="stable"):
        numbers[cell] = number
        mass, left = mass + expected[cell], left - expected[cell]
        if mass >= least and left >= least:
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
