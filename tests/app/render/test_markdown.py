"""Markdown to leaves: what is understood, what is shown as typed, and that no text is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.render.blocks import (
    BULLET,
    TASK_DONE,
    TASK_OPEN,
    Align,
    Code,
    Container,
    ContainerKind,
    Heading,
    Mark,
    Paragraph,
    Rule,
    Run,
    Table,
    text_of,
)
from app.render.markdown import parse_markdown, sanitize
from tests.support.markdown import texts


def said(markdown):
    """The one paragraph of `markdown` as text."""
    (leaf,) = parse_markdown(markdown)
    return text_of(leaf.runs)


@given(texts | st.text())
def test_any_text_has_leaves(text):
    for leaf in parse_markdown(sanitize(text)):
        assert isinstance(leaf, Paragraph | Heading | Rule | Code | Table)


@given(st.text(st.characters(categories=["L", "N"]), min_size=1))
def test_words_are_kept(text):
    assert said(text) == text


def test_looks_of_text():
    (leaf,) = parse_markdown("a **b _c_** ~~d~~ `e*`")
    assert leaf.runs == (
        Run("a "),
        Run("b ", Mark.STRONG),
        Run("c", Mark.STRONG | Mark.EMPHASIS),
        Run(" "),
        Run("d", Mark.STRIKE),
        Run(" "),
        Run("e*", Mark.CODE),
    )


def test_a_typed_line_break_is_a_line_break():
    assert said("one\ntwo  \nthree\\\nfour") == "one\ntwo\nthree\nfour"


@pytest.mark.parametrize(
    "html",
    [
        "<smirk>",
        "<b>bold</b>",
        "<script>alert(1)</script>",
        "<img src=http://a.b/c.png>",
        "<!-- no -->",
        "&lt;",
    ],
)
def test_html_is_shown_as_typed(html):
    assert said(f"So {html} it is") == f"So {html.replace('&lt;', '<')} it is"
    assert said(html) == html.replace("&lt;", "<")


@pytest.mark.parametrize("text", ["It costs $5 and $10.", "`$HOME` and $x", "2 * 3 * 4", "snake_case_name", "5 < 6"])
def test_signs_that_mean_nothing_stay(text):
    assert said(text) == text.replace("`", "")


def test_headings_rules_and_code():
    leaves = parse_markdown("## Two\n\nThree\n=====\n\n***\n\n    indented\n\n```py title\nx\n")
    assert leaves == (
        Heading((), 2, (Run("Two"),)),
        Heading((), 1, (Run("Three"),)),
        Rule(()),
        Code((), "", "indented\n"),
        Code((), "py", "x\n"),
    )


def test_nested_lists_and_quotes():
    bullet, ordered, quote = (
        Container(ContainerKind.LIST, BULLET),
        Container(ContainerKind.LIST, "1."),
        Container(ContainerKind.QUOTE),
    )
    item = Container(ContainerKind.LIST)
    assert parse_markdown("- a\n\n  b\n  1. c\n- > d\n-") == (
        Paragraph((bullet,), (Run("a"),)),
        Paragraph((item,), (Run("b"),)),
        Paragraph((item, ordered), (Run("c"),)),
        Paragraph((bullet, quote), (Run("d"),)),
        Paragraph((bullet,), ()),
    )


def test_items_look_the_same_however_they_are_spaced():
    assert parse_markdown("- a\n- b\n") == parse_markdown("- a\n\n- b\n")


def test_numbers_count_on():
    markers = [leaf.containers[0].marker for leaf in parse_markdown("9. a\n9. b\n1) c\n")]
    assert markers == ["9.", "10.", "1)"]


def test_tasks():
    leaves = parse_markdown("- [ ] open\n- [x] done\n- [y] neither")
    assert [leaf.containers[0].marker for leaf in leaves] == [TASK_OPEN, TASK_DONE, BULLET]
    assert [text_of(leaf.runs) for leaf in leaves] == ["open", "done", "[y] neither"]


def test_a_bar_in_code_separates_no_cells():
    (table,) = parse_markdown("| a | b |\n|:-:|--:|\n| `x|y` | c \\| d |\n| ``1|2`` `\\|` | z |\n")
    assert table.aligns == (Align.CENTER, Align.RIGHT)
    assert [[text_of(cell) for cell in row] for row in table.rows] == [
        ["a", "b"],
        ["x|y", "c | d"],
        ["1|2 |", "z"],
    ]


def test_a_bar_in_code_outside_of_tables_stays():
    assert said("| `a|b` and | so on") == "| a|b and | so on"


@pytest.mark.parametrize("target", ["https://a.b/c", "http://a.b", "mailto:a@b.c", "HTTPS://a.b"])
def test_links_that_lead_somewhere(target):
    (leaf,) = parse_markdown(f"[text]({target})")
    assert [(run.text, bool(run.href)) for run in leaf.runs] == [("text", True)]


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "ftp://a.b",
        "x-apple.y:z",
        "/a",
        "//a",
    ],
)
def test_other_targets_are_only_shown(target):
    (leaf,) = parse_markdown(f"[text]({target})")
    assert not any(run.href for run in leaf.runs)
    assert "text" in text_of(leaf.runs)
    assert target in text_of(leaf.runs)


def test_bare_links():
    (leaf,) = parse_markdown("See https://a.b/c_d, or <mailto:x@y.z>.")
    assert [run.href for run in leaf.runs if run.href] == ["https://a.b/c_d", "mailto:x@y.z"]


def test_an_image_is_its_words_and_a_link():
    (leaf,) = parse_markdown("![a cat](https://a.b/cat.png) ![](file:///x.png)")
    assert leaf.runs[0] == Run("a cat", href="https://a.b/cat.png")
    assert not any(run.href.startswith("file") for run in leaf.runs)


def test_deep_nesting_loses_nothing():
    assert "end" in "".join(text_of(leaf.runs) for leaf in parse_markdown("> " * 200 + "end"))
    assert "end" in "".join(text_of(leaf.runs) for leaf in parse_markdown("- " * 200 + "end"))


def test_a_long_text_keeps_its_looks_where_it_is_parsed_in_pieces():
    text = "A **bold** and `code` sentence, which goes on. " * 400
    leaves = parse_markdown(text)
    assert sum(run.marks == Mark.STRONG for leaf in leaves for run in leaf.runs) == 400
    assert "*" not in "".join(text_of(leaf.runs) for leaf in leaves)


def test_lines_are_kept_where_a_text_is_parsed_in_pieces():
    text = "\n".join(f"line {number}" for number in range(900))
    assert "".join(text_of(leaf.runs) for leaf in parse_markdown(text)) == text


def test_a_long_paragraph_is_cut_between_words():
    leaves = parse_markdown("**word** " * 2000 + "end")
    assert [leaf.continues for leaf in leaves] == [False, True, True]
    assert "".join(text_of(leaf.runs) for leaf in leaves) == "word " * 2000 + "end"
    assert all(text_of(leaf.runs).endswith(" ") for leaf in leaves[:-1])


def test_a_run_without_spaces_is_cut_anywhere():
    leaves = parse_markdown("a" * 10_000)
    assert max(len(text_of(leaf.runs)) for leaf in leaves) <= 4096
    assert "".join(text_of(leaf.runs) for leaf in leaves) == "a" * 10_000
