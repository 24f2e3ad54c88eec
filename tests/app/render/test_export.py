"""Copying gives what is selected for what it is: lines, list signs, tables, exact code."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from PySide6.QtGui import QTextCursor, QTextDocument

from app.render.document import DocumentWriter
from app.render.export import selected_leaves, to_html, to_text
from app.render.markdown import parse_markdown, sanitize
from tests.support.looks import style
from tests.support.markdown import SAMPLE, texts


def page(markdown):
    document = QTextDocument()
    writer = DocumentWriter(document, style())
    writer.show(parse_markdown(sanitize(markdown)))
    return document, writer


def selected(markdown, first, last):
    """Select from the start of `first` to the end of `last` as they stand in the document."""
    document, writer = page(markdown)
    cursor = QTextCursor(document)
    cursor.setPosition(document.find(first).selectionStart())
    cursor.setPosition(document.find(last).selectionEnd(), QTextCursor.MoveMode.KeepAnchor)
    return selected_leaves(writer.placed, cursor)


@given(texts)
@settings(max_examples=100)
def test_everything_selected_is_everything(qapp, text):
    document, writer = page(text)
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    everything = list(parse_markdown(sanitize(text)))
    found = selected_leaves(writer.placed, cursor)
    assert to_text(found).rstrip("\n") == to_text(everything[: len(found)]).rstrip("\n")
    assert len(everything) - len(found) in (0, 1)  # an empty leaf at the very end has nothing to select


def test_lines_and_signs_are_kept():
    text = to_text(
        parse_markdown("One.\ntwo\n\n- a\n- b\n  1. c\n\n> q\n> r\n\n```\nx\n  y\n```\n\n| a | b |\n|-|-|\n| c | d |")
    )
    assert text == "One.\ntwo\n\n• a\n• b\n  1. c\n\n> q\n> r\n\nx\n  y\n\na\tb\nc\td"


def test_code_in_a_list_is_not_indented():
    assert to_text(parse_markdown("- a\n\n  ```\n  x\n  ```\n- b")) == "• a\n\nx\n\n• b"


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
    assert to_text(selected_leaves(writer.placed, cursor)) == "A" * 5000 + "\nb"


def test_cells(qapp):
    assert to_text(selected(SAMPLE, "pipe", "pipe")) == "pipe"
    assert to_text(selected(SAMPLE, "a|b", "escaped")) == "a|b\ta pipe\nc | d\tescaped"


def test_html_says_what_it_is_and_nothing_of_our_colours():
    html = to_html(
        parse_markdown(
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
    assert to_html(parse_markdown(markdown)) == html
