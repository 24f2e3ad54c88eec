"""Which parts of a cleaned text the marks mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.render.intake import clean
from app.render.tint import accepted_runs


@pytest.mark.parametrize(
    ("text", "marks", "runs"),
    [
        ("abcdef", (), []),
        ("abcdef", (2, 3), [(2, 5)]),
        ("abcdef", (0, 1, 2, 3), [(0, 1), (3, 6)]),
        ("abcdef", (1, 0, 5), []),
        ("a\r\nb\r\nc", (3, 3, 1), [(2, 4)]),
    ],
)
def test_runs(text, marks, runs):
    assert list(accepted_runs(text, marks)) == runs


@given(st.lists(st.sampled_from(["a", "bc", "\r\n", "👩"]), max_size=12), st.data())
def test_a_cleaned_text_has_its_runs_where_they_were(pieces, data):
    marks = [len(piece) for piece in pieces]
    text = "".join(pieces)
    expected = [clean(piece) for piece in pieces[1::2]]
    assert [clean(text)[start:end] for start, end in accepted_runs(text, marks)] == expected
