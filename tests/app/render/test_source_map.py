"""Each shown character of a source is found in the document where it stands; markup has no place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.render.blocks import Code, Heading, Paragraph, Table, text_of
from app.render.parser import leaf_lines, whole
from app.render.source_map import Place, SourceMap
from app.render.units import part
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
    return part(text, place.start, place.end)


def shown(source, text):
    """What the document shows of the first `text` in `source`."""
    leaves = whole(source)
    start = source.index(text)
    places = SourceMap(source, leaves).places(start, start + len(text))
    return "".join(text_at(leaves, place) for place in places)


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
    leaves = whole(source)
    places = SourceMap(source, leaves).places(source.index(")") + 1, len(source))
    assert [(place.start, place.end) for place in places] == [(4, 7)]


def test_a_place_counts_as_qt_counts():
    assert SourceMap("👩 **b** c", whole("👩 **b** c")).places(4, 5) == [Place(0, 0, 3, 4)]


def test_the_same_words_are_found_each_in_its_own_place():
    source = "one two\n\n- one two\n\n```\none two\n```\n\none two\n"
    leaves = whole(source)
    mapping = SourceMap(source, leaves)
    starts = [index for index in range(len(source)) if source.startswith("two", index)]
    assert [[place.leaf for place in mapping.places(start, start + 3)] for start in starts] == [
        [0],
        [1],
        [2],
        [3],
    ]


@given(texts)
@settings(max_examples=150)
def test_every_place_shows_what_the_source_has_there(text):
    source = "".join(character for character in text if character not in "\r\u2029\x00\ud800\udc00")
    leaves = whole(source)
    assert len(leaf_lines(source)) == len(leaves)
    mapping = SourceMap(source, leaves)
    for index, character in enumerate(source):
        for place in mapping.places(index, index + 1):
            assert text_at(leaves, place) == character


@given(st.lists(st.sampled_from(["word", "two words", "x_y", "5"]), min_size=1, max_size=8))
def test_plain_text_is_found_whole(words):
    source = "\n\n".join(words)
    leaves = whole(source)
    places = SourceMap(source, leaves).places(0, len(source))
    assert [text_at(leaves, place) for place in places] == [text_of(leaf.runs) for leaf in leaves]
