"""Formulas: found where they are meant, set within bounds, drawn on the baseline, copied as their source."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from PySide6.QtGui import QFontMetricsF, QTextCursor, QTextDocument

from app.palette import DARK
from app.render import math
from app.render.blocks import Mark, text_of
from app.render.document import DocumentWriter
from app.render.export import selected_leaves, to_text
from app.render.markdown import parse_markdown, sanitize
from app.render.math import Typesetter, cost, tex_of
from tests.support.looks import style
from tests.support.markdown import Shown, chunk_sizes, formula_texts, pieces


def formulas(markdown):
    return [run.text for leaf in parse_markdown(markdown) for run in leaf.runs if Mark.MATH in run.marks]


def said(markdown):
    return "\n".join(text_of(leaf.runs) for leaf in parse_markdown(markdown))


class TestSyntax:
    @pytest.mark.parametrize(
        "source", ["$x^2$", r"\(a\)", r"\[b\]", "$$c$$", "$5$", r"$\text{two words}$", r"$a\$b$", "$n log n$"]
    )
    def test_d6_formulas_are_formulas(self, source):
        assert formulas(f"So {source}, then.") == [source]
        assert formulas(source) == [source]

    @pytest.mark.parametrize(
        "text",
        [
            "costs $5 and $10",
            "$5 and 10$",
            "between $5-$10",
            "US$5 or A$6",
            "$HOME and $PATH",
            "$HOME/$USER",
            "5$ and 6$ more",
            "$",
            "$$",
            "$ x $",
            "$x",
            "a $`b`$ c",
        ],
    )
    def test_d6_money_and_variables_are_text(self, text):
        assert formulas(text) == []
        assert said(text) == text.replace("`", "")

    def test_d6_code_is_code(self):
        assert formulas("`$HOME` and `$x$`") == []

    @pytest.mark.parametrize(
        "block", ["$$\na\n= b\n- c\n$$", "\\[\n| x |\n# y\n\\]", "$$ a\n+ b $$", "\\[a\n\\\\ b\\]"]
    )
    def test_lines_of_a_formula_are_nothing_else(self, block):
        assert formulas(f"Text:\n{block}\nmore") == [block]
        assert formulas(f"- item\n\n  {block.replace(chr(10), chr(10) + '  ')}\n- next") == [block]

    def test_an_empty_line_ends_what_was_no_formula(self):
        assert formulas("$$\na\n\nb\n$$") == []


class TestStreaming:
    @pytest.mark.parametrize(
        "text",
        [r"Let \(x_1*2 + y*3", r"$$\na\n= b", r"\[ a_b *c", r"So $\hat{a}_i + \hat{b}_j", "**Given \\(a_"],
    )
    def test_d6_an_unclosed_formula_shows_as_typed(self, text):
        text = text.replace("\\n", "\n")
        shown = Shown()
        for end in range(len(text)):
            shown.feed(text[end])
            seen = "".join(text_of(leaf.runs) for leaf in shown.leaves)
            assert text.replace("**", "").startswith(seen)
            assert len(text[: end + 1].replace("**", "")) - len(seen) <= 4  # a sign may wait for the next one
        assert not any(Mark.EMPHASIS in run.marks for leaf in shown.leaves for run in leaf.runs)

    def test_d6_an_unclosed_dollar_of_money_hides_no_markdown(self):
        shown = Shown()
        shown.feed("It costs $5 and **more")
        assert [run.marks for run in shown.leaves[0].runs] == [Mark.NONE, Mark.STRONG]

    @given(formula_texts, chunk_sizes)
    @settings(max_examples=150)
    def test_frozen_leaves_never_change(self, text, sizes):
        text = sanitize(text)
        shown = Shown()
        for piece in pieces(text, sizes):
            shown.feed(piece)
        assert tuple(shown.frozen) == parse_markdown(text)[: len(shown.frozen)]
        assert shown.stream.finish() == parse_markdown(text)


class TestTypesetting:
    @pytest.mark.parametrize("source", ["$\\frac{a$", "$\\left( x$", "$x & y$", "$\\begin{foo}x$", "$^$"])
    def test_what_cannot_be_set_is_none(self, source):
        assert Typesetter().typeset(source) is None

    @pytest.mark.parametrize(
        "tex",
        [
            "x+" * 5_000,
            "\\frac{1}{" * 40 + "x" + "}" * 40,
            "\\left(" * 30 + "x" + "\\right)" * 30,
            "x_{" * 900 + "}" * 900,
            "\\begin{matrix}" * 20,
            "\\boxed{" * 5 + "x" + "}" * 5,
        ],
    )
    def test_what_would_take_long_is_not_tried(self, tex, monkeypatch):
        monkeypatch.setattr(math, "_svg", lambda *_, **__: pytest.fail("tried"))
        assert Typesetter().typeset(f"${tex}$") is None

    def test_cost_doubles_with_each_level(self):
        assert cost("abc") == 3
        assert cost("{aa}") == 2 * 3 + 1
        assert cost("\\{" * 50) == 100
        assert cost("\\boxed{x}") == 2 * (6 + 2 * 2 + 1)

    def test_what_refers_to_something_is_not_drawn(self, monkeypatch):
        svg = '<svg viewBox="0 0 1 1"><image href="file:///etc/passwd"/></svg>'
        monkeypatch.setattr(math, "_svg", lambda *_, **__: svg)
        assert Typesetter().typeset("$x$") is None

    def test_the_cache_is_bounded(self, monkeypatch):
        monkeypatch.setattr(math, "_svg", lambda *_, **__: '<svg viewBox="0 -24 48 48"></svg>')
        setter = Typesetter()
        for number in range(1_500):
            setter.typeset(f"${number}$")
        assert not setter.is_known("$0$")
        assert setter.is_known("$1499$")
        assert (setter.typeset("$1$").ascent, setter.typeset("$1$").descent) == (0.5, 0.5)

    def test_signs_are_no_tex(self):
        assert [tex_of(each) for each in ("$a$", "$$ b $$", r"\(c\)", "\\[\nd\n\\]")] == ["a", "b", "c", "d"]

    def test_the_library_is_imported_with_the_first_formula(self):
        code = "import sys, app.chat_view.message_view; sys.exit('ziamath' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Page:
    def __init__(self, markdown, width=500, **look):
        self.document = QTextDocument()
        self.document.setTextWidth(width)
        self.writer = DocumentWriter(self.document, style(**look))
        self.writer.show(parse_markdown(markdown))
        while self.writer.refine(lambda: True):
            pass

    def line(self):
        """Ascent, descent and width of the first line."""
        self.document.size()
        line = self.document.begin().layout().lineAt(0)
        return line.ascent(), line.descent(), line.naturalTextWidth()


class TestDrawing:
    def test_a_formula_is_one_character_once_it_is_set(self, qapp):
        page = Page(r"So $x^2$ and $\frac{a$ end.")
        assert page.document.toPlainText() == "So \ufffc and $\\frac{a$ end."
        assert [run.drawn for run in page.writer.placed[0].shape.runs] == [False, True, False, False, False]

    def test_it_sits_on_the_baseline(self, qapp):
        plain, small, tall = (Page(text).line() for text in ("So x.", "So $x$.", r"So $\frac{a}{b}$."))
        metrics = QFontMetricsF(style_font())
        assert plain[:2] == small[:2]
        assert tall[1] > metrics.descent()

    def test_a_wide_one_shrinks_to_the_line(self, qapp):
        page = Page("$$" + "x + y + " * 30 + "z$$", width=200)
        assert page.line()[2] <= 200

    def test_what_comes_later_stays_right_when_a_formula_is_set_late(self, qapp):
        page = Page("$q^7$ one\n\n```\ncode\n```\n\n$q^8$ two\n\n| a |\n|---|\n| $q^9$ |\n\nlast")
        cursor = QTextCursor(page.document)
        cursor.select(QTextCursor.SelectionType.Document)
        copied = to_text(selected_leaves(page.writer.placed, cursor))
        assert copied == "$q^7$ one\n\ncode\n\n$q^8$ two\n\na\n$q^9$\n\nlast"

    def test_copying_a_part_gives_the_source(self, qapp):
        page = Page("one $x^2$ two")
        cursor = QTextCursor(page.document)
        cursor.setPosition(3)
        cursor.setPosition(7, QTextCursor.MoveMode.KeepAnchor)
        assert to_text(selected_leaves(page.writer.placed, cursor)) == " $x^2$ t"

    def test_another_style_draws_in_its_colour(self, qapp):
        page = Page("$x$ y")
        page.writer.restyle(style(DARK))
        fragment = page.document.begin().begin().fragment()
        assert fragment.text() == "\ufffc"
        assert fragment.charFormat().foreground().color().name().upper() == DARK.text

    def test_a_huge_one_is_its_source(self, qapp):
        source = "$$\n" + "x + " * 2_600 + "y\n$$"
        page = Page(source)
        assert "".join(text_of(leaf.leaf.runs) for leaf in page.writer.placed) == source
        assert "\ufffc" not in page.document.toPlainText()


def style_font():
    document = QTextDocument()
    return DocumentWriter(document, style()).formats.text_font()
