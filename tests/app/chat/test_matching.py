"""Words are found in any case and script, and across markup; excerpts show the first match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.matching import SearchTerms, spans


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


texts = st.text(st.sampled_from("abcABC *_`\n\t日本é🙂") | st.characters(codec="utf-8"), max_size=400)


@given(texts, texts)
def test_a_passage_is_one_short_line_whose_marks_are_what_was_looked_for(query: str, text: str) -> None:
    wanted = SearchTerms(query[:20])
    if not wanted.terms:
        return
    passage = wanted.passage(text, "m")
    assert passage.message_id == "m"
    assert "\n" not in passage.text
    assert len(passage.text) < 200
    lowered = {term.casefold() for term in wanted.terms}
    end_before = 0
    for start, end in passage.marks:
        assert end_before <= start < end <= len(passage.text)
        assert passage.text[start:end].casefold() in lowered or passage.text[start:end].lower() in lowered
        end_before = end


@pytest.mark.parametrize(
    ("query", "text", "shown"),
    [
        ("needle", "A **bold** `needle` here", "A bold needle here"),
        ("**bold", "A **bold** needle", "A **bold** needle"),
        ("a", "a\n\n  b\tc", "a b c"),
        ("nowhere", "The beginning is shown", "The beginning is shown"),
        ("end", "word " * 20 + "end", "…word word word word end"),
        ("x", "x" + " y" * 200, "x" + " y" * 70 + "…"),
    ],
)
def test_passages(query: str, text: str, shown: str) -> None:
    assert SearchTerms(query).passage(text, "m").text == shown
