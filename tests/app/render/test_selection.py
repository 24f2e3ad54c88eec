"""Copying gives what is selected for what it is: lines, list signs, tables, exact code."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QTextCursor, QTextDocument

from app.render.blocks import Code, Heading, Paragraph, Table, part, text_of
from app.render.document import DocumentWriter
from app.render.export import to_html, to_text
from app.render.markdown import leaf_lines, whole
from app.render.markdown_stream import clean
from app.render.selection import SourceMap, SourceSpan, selected_leaves
from tests.support.looks import style
from tests.support.markdown import SAMPLE, texts


def page(markdown):
    document = QTextDocument()
    writer = DocumentWriter(document, style())
    writer.show(whole(clean(markdown)))
    return document, writer


def selected(markdown, first, last):
    """Select from the start of `first` to the end of `last` as they stand in the document."""
    document, writer = page(markdown)
    cursor = QTextCursor(document)
    cursor.setPosition(document.find(first).selectionStart())
    cursor.setPosition(document.find(last).selectionEnd(), QTextCursor.MoveMode.KeepAnchor)
    return selected_leaves(writer.written, cursor)


@given(texts)
@settings(max_examples=100)
def test_everything_selected_is_everything(qapp, text):
    document, writer = page(text)
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    everything = list(whole(clean(text)))
    found = selected_leaves(writer.written, cursor)
    assert to_text(found).rstrip("\n") == to_text(everything[: len(found)]).rstrip("\n")
    assert len(everything) - len(found) in (0, 1)  # an empty leaf at the very end has nothing to select


def test_lines_and_signs_are_kept():
    text = to_text(
        whole("One.\ntwo\n\n- a\n- b\n  1. c\n\n> q\n> r\n\n```\nx\n  y\n```\n\n| a | b |\n|-|-|\n| c | d |")
    )
    assert text == "One.\ntwo\n\n• a\n• b\n  1. c\n\n> q\n> r\n\nx\n  y\n\na\tb\nc\td"


def test_code_in_a_list_is_not_indented():
    assert to_text(whole("- a\n\n  ```\n  x\n  ```\n- b")) == "• a\n\nx\n\n• b"


def test_a_part_has_its_line_breaks_and_only_the_signs_that_are_in_it(qapp):
    assert to_text(selected(SAMPLE, "tallest;", "first climbed")) == (
        "tallest; sort(key=height) costs $5 and $10. See http://a.b/c, too.\n\n• Dykh-Tau, 5,205 m\n  • first climbed"
    )


def test_a_part_of_a_line_is_that_part(qapp):
    assert to_text(selected(SAMPLE, "first climbed", "first climbed")) == "first climbed"
    assert to_text(selected("- 😀😀 one", "😀", "😀 ")) == "😀😀 "


def test_lines_of_code(qapp):
    assert to_text(selected(SAMPLE, "'''Return", "max")) == "'''Return the tallest.'''\n    return max"


def test_a_long_line_of_code_stays_one_line(qapp):
    document, writer = page("```\n" + "A" * 5000 + "\nb\n```")
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    assert to_text(selected_leaves(writer.written, cursor)) == "A" * 5000 + "\nb"


def test_cells(qapp):
    assert to_text(selected(SAMPLE, "pipe", "pipe")) == "pipe"
    assert to_text(selected(SAMPLE, "a|b", "escaped")) == "a|b\ta pipe\nc | d\tescaped"


def test_html_says_what_it_is_and_nothing_of_our_colours():
    html = to_html(
        whole(
            "# A <b>\n\n1. *x*\n   - `y`\n2. z\n\n> [q](https://a.b/?c&d)\n\n| h |\n|-|\n| c |\n\n```\n<x>\n```"
        )
    )
    assert html == (
        "<h1>A &lt;b&gt;</h1>"
        '<ol start="1"><li><em>x</em><ul><li><code>y</code></li></ul></li><li>z</li></ol>'
        '<blockquote><p><a href="https://a.b/?c&amp;d">q</a></p></blockquote>'
        "<table><tr><th>h</th></tr><tr><td>c</td></tr></table>"
        "<pre><code>&lt;x&gt;\n</code></pre>"
    )


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("- a\n\n1. b", '<ul><li>a</li></ul><ol start="1"><li>b</li></ol>'),
        ("- a\n\n  b", "<ul><li>a<p>b</p></li></ul>"),
        ("- a\n\nb", "<ul><li>a</li></ul><p>b</p>"),
        ("> a\n\nb", "<blockquote><p>a</p></blockquote><p>b</p>"),
        ("***a***~~b~~\nc", "<p><strong><em>a</em></strong><s>b</s><br>c</p>"),
    ],
)
def test_html_of_nested_things(markdown, html):
    assert to_html(whole(markdown)) == html


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
    assert SourceMap("👩 **b** c", whole("👩 **b** c")).places(4, 5) == [SourceSpan(0, 0, 3, 4)]


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
