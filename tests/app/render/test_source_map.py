"""Ranges of the source are found where the document shows them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.render.blocks import Code, Heading, Paragraph, Table, text_of, utf16_slice
from app.render.markdown import leaf_lines, parse_markdown, sanitize
from app.render.source_map import SourceMap, SourceSpan, accepted_spans
from tests.support.markdown import SAMPLE, texts


def text_at(leaves, place):
    leaf = leaves[place.leaf]
    match leaf:
        case Paragraph() | Heading():
            text = text_of(leaf.runs)
        case Code():
            text = leaf.text.split("\n")[place.part]
        case Table():
            row, column = divmod(place.part, len(leaf.aligns))
            text = text_of(leaf.rows[row][column])
    return utf16_slice(text, place.start, place.end)


def shown(source, text):
    """What the document shows of the first `text` in `source`."""
    leaves = parse_markdown(source)
    start = source.index(text)
    spans = SourceMap(source, leaves).spans(start, start + len(text))
    return "".join(text_at(leaves, place) for place in spans)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Mount **Elbrus**, at", "Mount Elbrus, at"),
        ("`sort(key=height)`", "sort(key=height)"),
        ("return max(mountains)", "return max(mountains)"),
        ("| `a|b` |", "a|b"),
        ("c \\| d", "c | d"),
        ("**", ""),
        ("```python", ""),
        ("> Quoted *text*\n> goes", "Quoted text\ngoes"),
        ("- [x] Boots", "Boots"),
        ("5 < 6, <smirk>", "5 < 6, <smirk>"),
    ],
)
def test_what_is_shown_is_found(text, seen):
    assert shown(SAMPLE, text) == seen


def test_what_is_behind_an_address_is_not_looked_for_in_it():
    source = "[text](http://text.com/a). a"
    leaves = parse_markdown(source)
    spans = SourceMap(source, leaves).spans(source.index(")") + 1, len(source))
    assert [(place.start, place.end) for place in spans] == [(4, 7)]


def test_a_place_counts_as_qt_counts():
    assert SourceMap("👩 **b** c", parse_markdown("👩 **b** c")).spans(4, 5) == [SourceSpan(0, 0, 3, 4)]


def test_the_same_words_are_found_each_in_its_own_place():
    source = "one two\n\n- one two\n\n```\none two\n```\n\none two\n"
    leaves = parse_markdown(source)
    mapping = SourceMap(source, leaves)
    starts = [index for index in range(len(source)) if source.startswith("two", index)]
    assert [[place.leaf for place in mapping.spans(start, start + 3)] for start in starts] == [
        [0],
        [1],
        [2],
        [3],
    ]


@given(texts)
@settings(max_examples=150)
def test_every_place_shows_what_the_source_has_there(text):
    source = "".join(character for character in text if character not in "\r\u2029\x00\ud800\udc00")
    leaves = parse_markdown(source)
    assert len(leaf_lines(source)) == len(leaves)
    mapping = SourceMap(source, leaves)
    for index, character in enumerate(source):
        for place in mapping.spans(index, index + 1):
            assert text_at(leaves, place) == character


@given(st.lists(st.sampled_from(["word", "two words", "x_y", "5"]), min_size=1, max_size=8))
def test_plain_text_is_found_whole(words):
    source = "\n\n".join(words)
    leaves = parse_markdown(source)
    spans = SourceMap(source, leaves).spans(0, len(source))
    assert [text_at(leaves, place) for place in spans] == [text_of(leaf.runs) for leaf in leaves]


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
def test_accepted_spans(text, marks, runs):
    assert list(accepted_spans(text, marks)) == runs


@given(st.lists(st.sampled_from(["a", "bc", "\r\n", "👩"]), max_size=12), st.data())
def test_sanitized_text_has_its_accepted_spans_where_they_were(pieces, data):
    marks = [len(piece) for piece in pieces]
    text = "".join(pieces)
    expected = [sanitize(piece) for piece in pieces[1::2]]
    assert [sanitize(text)[start:end] for start, end in accepted_spans(text, marks)] == expected
