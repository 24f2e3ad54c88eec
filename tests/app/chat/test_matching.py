"""Words are found in any case and script, and across markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.matching import spans


def found(text, wanted, *, markup=True):
    return [text[start:end] for start, end in spans(text, wanted, markup=markup)]


@pytest.mark.parametrize(
    ("text", "wanted", "matches"),
    [
        ("Elbrus, elbrus", "ELBRUS", ["Elbrus", "elbrus"]),
        ("ЭЛЬБРУС", "эльбрус", ["ЭЛЬБРУС"]),
        ("日本語の日本", "日本", ["日本", "日本"]),
        ("שלום שלום", "שלום", ["שלום", "שלום"]),
        ("cafe\u0301 café", "café", ["cafe\u0301", "café"]),
        ("at **5,642** m", "at 5,642 m", ["at **5,642** m"]),
        ("call `sort`()", "sort()", ["sort`()"]),
        ("one\ntwo", "one two", ["one\ntwo"]),
        ("a.b a+b", "a.b", ["a.b"]),
        ("anything", "", []),
        ("anything", "  ", []),
    ],
)
def test_matches(text, wanted, matches):
    assert found(text, wanted) == matches


def test_what_was_typed_is_taken_as_it_is():
    assert found("a*b", "ab", markup=False) == []


@given(st.text(min_size=1, max_size=20), st.text(max_size=20))
def test_every_text_finds_itself(wanted, around):
    if wanted.split():
        assert any(found(f"{around} {wanted} {around}", wanted))


def test_there_is_an_end():
    assert len(found("a" * 50_000, "a")) == 10_000
