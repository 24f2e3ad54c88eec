"""What a growing message shows: never a half-typed sign, hardly ever something that is taken back."""

from __future__ import annotations

import pytest

from app.render.blocks import Heading, Mark, Run, text_of
from app.render.parser import whole
from tests.support.markdown import SAMPLE, Shown, said


def shown(text):
    view = Shown()
    for character in text:
        view.feed(character)
    return view.leaves


def runs(text):
    leaves = shown(text)
    return leaves[-1].runs if leaves else ()


def test_nothing_of_an_ordinary_answer_is_taken_back():
    final = said(whole(SAMPLE))
    view = Shown()
    for character in SAMPLE:
        view.feed(character)
        now = said(view.leaves)
        while now and now[-1][0] in (" ", "\n"):
            now.pop()
        assert now == final[: len(now)]


@pytest.mark.parametrize(
    "text", ["-", "#", "###", "1", "12.", "1. *", ">", "> -", "|", "| a", "``", "```pyth", "- [", "=", "**"]
)
def test_a_line_of_signs_waits(text):
    assert shown(text) == []


@pytest.mark.parametrize("underline", ["-", "--", "=", "*", "_"])
def test_an_underline_waits_for_its_end(underline):
    assert not isinstance(shown(f"Title\n{underline}")[0], Heading)


def test_a_table_waits_for_its_second_line():
    head = "| a | b |\n"
    assert shown(head + "|---|") == []
    assert len(shown(head + "|---|---|\n")[0].rows) == 1
    assert text_of(runs("| no table\nat all")) == "| no table\nat all"


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("a **b", Mark.STRONG),
        ("a **b*", Mark.STRONG),
        ("a *b", Mark.EMPHASIS),
        ("a ***b", Mark.STRONG | Mark.EMPHASIS),
        ("a ~~b~", Mark.STRIKE),
        ("a `b", Mark.CODE),
        ("a ``b`", Mark.CODE),
    ],
)
def test_what_is_opened_shows_at_once(text, marks):
    assert runs(text) == (Run("a "), Run("b", marks))


@pytest.mark.parametrize("text", ["2 * 3", "2*3", "a * b", "snake_case", "a [b", "5 ~ 6"])
def test_signs_that_open_nothing_are_shown(text):
    assert text_of(runs(text)) == text


def test_a_half_link_is_its_text():
    assert runs("a [b](htt") == (Run("a b"),)
    assert runs('a [b](http://c "ti') == (Run("a b"),)
    assert runs("a [b](http://c)") == (Run("a "), Run("b", href="http://c"))


@pytest.mark.parametrize("end", ["*", "**", "`", "\\", "&am", "&#12"])
def test_a_dangling_end_waits(end):
    assert runs("text" + end) == (Run("text"),)


def test_a_closed_paragraph_keeps_its_signs():
    assert text_of(shown("1 *\n\nNext")[0].runs) == "1 *"


def test_an_open_cell_shows_its_code():
    table = shown("| a | b |\n|---|---|\n| **x | `y|z")[0]
    assert [[text_of(cell) for cell in row] for row in table.rows] == [["a", "b"], ["x", ""]]
