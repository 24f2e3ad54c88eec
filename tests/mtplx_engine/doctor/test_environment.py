"""Nothing of the person or the machine is left in a text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.doctor.environment import Redactor

REDACTOR = Redactor(
    {
        Path("/Users/mara"): "(home)",
        Path("/Users/mara/Library/MTPLX"): "(data folder)",
        Path("/opt/venv/lib"): "(program)",
        Path("/"): "(root)",
    },
    {"mara", "Maras-MacBook", "ab", ""},
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Kept in /Users/mara/Library/MTPLX.", "Kept in (data folder)."),
        ("In /Users/mara/Library/MTPLX/models/secret-plan, read", "In (data folder), read"),
        ("In /Users/mara/secret/plan and more", "In (home) and more"),
        ("One libmlx.so, in /opt/venv/lib/mlx/lib.", "One libmlx.so, in (program)/mlx/lib."),
        ("On /Volumes/Disk/secret: no room", "On (path): no room"),
        ("~/secret/plan", "(path)"),
        ("said Mara on maras-macbook", "said (name) on (name)"),
        ("marathon, about", "marathon, about"),
        ("hf_abcdefghijklmnop was refused", "(token) was refused"),
        ("write to mara@example.org", "write to (address)"),
        ("0.60x, 3/4, p = 1e-5, https://github.com/ml-explore/mlx", None),
        ("4-bit weights: right to 4e-07 at 1, 4 and 8 rows.", None),
    ],
)
def test_examples(text: str, clean: str | None) -> None:
    assert REDACTOR.clean(text) == (text if clean is None else clean)


@given(
    st.text(), st.sampled_from(["/Users/mara/x y", "/Users/mara", "mara", "hf_0123456789", "maras-macbook"])
)
def test_a_canary_is_gone_whatever_is_around_it(text: str, canary: str) -> None:
    found = REDACTOR.clean(f"{text} {canary} {text}")
    assert not any(
        word in f" {found} ".casefold() for word in (" mara ", "/mara", "hf_0123", "maras-macbook")
    )
