"""What a check of exactness says, in one word. Imports no mlx."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtplx_engine.measurement import ExactnessReport

CHANCE = 1e-6
"""Draws as odd as that, or odder, are no chance: two checks of a right engine in a million say so falsely, at most."""

ODD = 1e-2
"""Draws as odd as that are looked at again, with more of them; if those are odd too, that is said."""


class Exactness(StrEnum):
    """Whether drafting changes what a model says."""

    IDENTICAL = "identical"  # bit for bit, wherever it was looked at
    ROUNDING = "same within rounding"  # the rows of wider products differ in their last bits
    TOO_FEW = "too few draws to tell"  # of whatever else was looked at, nothing differs
    ODD = "odd draws"  # odder than a check in a hundred by chance, and not so odd that it must be a fault
    DIFFERENT = "different"  # by more than rounding and chance explain: a fault


def judge(report: ExactnessReport) -> Exactness:
    """Return what a report says.

    Greedy answers may part where two tokens are as probable as rounding can tell; anywhere else they may not.
    """
    parted = report.greedy_prefixes - report.greedy_same - report.greedy_ties
    unlikely = report.p_value is not None and report.p_value < CHANCE
    if parted or unlikely or report.distance > report.allowed:
        return Exactness.DIFFERENT
    if report.p_value is None:
        return Exactness.TOO_FEW
    if report.p_value < ODD:
        return Exactness.ODD
    return Exactness.ROUNDING if report.logit_distance or report.greedy_ties else Exactness.IDENTICAL
