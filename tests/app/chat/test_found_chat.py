"""Passages are one short line around what was looked for, and say exactly where it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.found_chat import Wanted

texts = st.text(st.sampled_from("abcABC *_`\n\t日本é🙂") | st.characters(codec="utf-8"), max_size=400)


@given(texts, texts)
def test_a_passage_is_one_short_line_whose_marks_are_what_was_looked_for(query: str, text: str) -> None:
    wanted = Wanted(query[:20])
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
    assert Wanted(query).passage(text, "m").text == shown
