"""G-tests: whether counts follow a known law, and whether two samples follow the same one.

Sokal and Rohlf, Biometry (1995), chapter 17; Williams' correction (Biometrika 63, 1976) brings the statistic closer
to its chi-square law where counts are small.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = Mapping[int, int]

_LEAST_EXPECTED = 5.0  # samples a cell should have on average before a chi-square is trusted


def g_test(observed: Floats, law: Floats) -> float:
    """Return the p-value of counts [cells] under a law [cells]; 0 when something impossible was seen.

    Rare cells are pooled until each expects enough, the rarest first.
    """
    if observed[law == 0].any():
        return 0.0
    total = observed.sum()
    cells = _pooled(law * total)
    expected = np.bincount(cells, law * total).astype(np.float64)
    seen = np.bincount(cells, observed).astype(np.float64)
    freedom = expected.size - 1
    if freedom == 0:
        return 1.0
    williams = 1 + ((total / expected).sum() - 1) / (6 * total * freedom)
    return chi_square_tail(_g(seen, expected) / williams, freedom)


def same_law(pairs: Iterable[tuple[Counts, Counts]]) -> float | None:
    """Return the p-value that both samples of each pair came from one law; None when they are too small to tell.

    The samples of a pair are equally large. Each pair is a test of its own, whose statistics add up, since the pairs
    are independent. What was seen seldom in both samples together is pooled, the rarest first, until each cell
    expects enough of either: this goes by what the two have in common, so it does not favour any difference.
    """
    statistic, freedom = 0.0, 0
    for one, other in pairs:
        tokens = sorted(one.keys() | other.keys())
        seen = np.array([[sample.get(token, 0) for token in tokens] for sample in (one, other)], np.float64)
        cells = _pooled(seen.sum(axis=0) / 2)
        table = np.stack([np.bincount(cells, row) for row in seen]).astype(np.float64)
        expected = np.broadcast_to(table.sum(axis=0) / 2, table.shape)
        more = table.shape[1] - 1
        if more > 0:
            total = table.sum()
            williams = 1 + 3 * ((total / table.sum(axis=0)).sum() - 1) / (6 * total * more)
            statistic += _g(table, expected) / williams
            freedom += more
    return chi_square_tail(statistic, freedom) if freedom else None


def _g(seen: Floats, expected: Floats) -> float:
    """Return G, twice the sum of seen log(seen / expected), never below 0."""
    found = seen > 0
    return max(0.0, 2 * float((seen[found] * np.log(seen[found] / expected[found])).sum()))


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
