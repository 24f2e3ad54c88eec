"""What the doctor found out about one thing: a row of its report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"  # it does not apply to this machine, or could not be found out


@dataclass(frozen=True, slots=True)
class Check:
    """A row of the report.

    Attributes:
        name: What was looked at, in a word or two.
        verdict: How it ended.
        detail: One sentence for people, with the numbers; of what failed also one thing to do.
    """

    name: str
    verdict: Verdict
    detail: str


def failed(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Return the checks that found something wrong."""
    return tuple(check for check in checks if check.verdict is Verdict.FAILED)
