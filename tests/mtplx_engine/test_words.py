"""Times and sizes read as people say them."""

from __future__ import annotations

import pytest

from mtplx_engine import words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (3570, "1 h"), (3540, "59 min"), (12_000, "3 h 20 min")],
)
def test_times(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (12_400, "12 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (430_400_000, "430 MB"),
        (999_499_999, "999 MB"),
        (999_500_000, "1.0 GB"),
        (99_400_000_000, "99.4 GB"),
        (99_500_000_000, "100 GB"),
        (2_940_000_000_000, "2,940 GB"),
    ],
)
def test_sizes(count: int, said: str) -> None:
    assert words.size(count) == said
