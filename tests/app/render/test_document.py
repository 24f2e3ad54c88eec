"""The document is the same however it came to be, and nothing in it moves when something behind it changes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF, QTextCursor, QTextDocument

from app.palette import DARK
from app.render import document as module
from app.render.blocks import Mark, Run
from app.render.code_block import CodeBlock
from app.render.document import DocumentWriter, chunks, common_prefix, text_chunks
from app.render.markdown import parse_markdown, sanitize
from app.render.markdown_stream import StreamingMarkdown
from app.render.style import CONTINUES, LIGHT_SYNTAX
from tests.support.looks import style
from tests.support.markdown import SAMPLE, chunk_sizes, pieces, texts_with_definitions
from tests.support.page import Page, color_of
from tests.support.written_texts import COUNT, all_texts, by_hand


@given(texts_with_definitions, chunk_sizes)
@settings(max_examples=150)
def test_streamed_and_whole_documents_are_equal(qapp, text, sizes):
    streamed, shown = Page().stream(text, sizes), Page().show(text)
    assert streamed.look() == shown.look()
    assert [each.leaf for each in streamed.writer.placed] == list(parse_markdown(sanitize(text)))
    assert [each.start for each in streamed.writer.placed] == [each.start for each in shown.writer.placed]


@pytest.mark.parametrize("size", [1, 5, 64])
def test_a_streamed_answer_equals_a_stored_one(qapp, size):
    assert Page().stream(SAMPLE, [size]).look() == Page().show(SAMPLE).look()


def test_another_style_is_as_if_it_had_been_so_from_the_start(qapp):
    page = Page().stream(SAMPLE, [9])
    page.writer.restyle(style(DARK))
    page.color()
    assert page.look() == Page(DARK).show(SAMPLE).look()


def test_colours_of_code_stay_with_code(qapp):
    page = Page()
    page.writer.show(parse_markdown("```python\ndef f(x): return 1\n```"))
    while page.writer.refine(lambda: True):
        pass
    assert page.document.firstBlock().layout().formats()
    page.writer.show(parse_markdown("# Heading"))
    assert page.document.firstBlock().layout().formats() == []
    page.writer.show(parse_markdown("# Heading\n\n```python\ndef f(x): return 1\n```"))
    page.writer.restyle(style(DARK))
    assert page.document.firstBlock().layout().formats() == []


def test_nothing_above_moves_while_an_answer_streams(qapp):
    page, reader, seen = Page(), StreamingMarkdown(), []
    for piece in pieces(SAMPLE, [1]):
        page.writer.apply(reader.feed(piece))
        tops = [page.geometry.top(each) for each in page.writer.placed]
        assert tops[: len(seen)] == seen[: len(tops)]
        seen = tops


@pytest.mark.parametrize("block", ["```python\nx = 1\n```", "| a |\n|---|\n| b |", "- one\n- two", "> quote", "text"])
def test_what_is_there_stays_where_it_is_when_a_block_freezes(qapp, block):
    page, reader = Page(), StreamingMarkdown()
    page.writer.apply(reader.feed(block + "\n"))
    before, height = page.look(), page.geometry.height()
    page.writer.apply(reader.feed("\n"))
    assert (page.look(), page.geometry.height()) == (before, height)
    page.writer.apply(reader.feed("Next.\n"))
    page.writer.apply(reader.feed("\nLast.\n"))
    assert page.look()[: len(before) - 1] == before[:-1]


def test_closing_a_fence_changes_no_height(qapp):
    page, reader = Page(), StreamingMarkdown()
    page.writer.apply(reader.feed("```c\n/* one\n   two */\nint x;\n"))
    height, blocks = page.geometry.height(), page.document.blockCount()
    for piece in ("`", "`", "`", "\n"):
        page.writer.apply(reader.feed(piece))
        page.color()
        assert (page.geometry.height(), page.document.blockCount()) == (height, blocks)


def test_the_last_thousand_updates_write_no_more_than_the_first(qapp):
    page, reader, costs = Page(), StreamingMarkdown(), []
    for piece in pieces(SAMPLE * 30, [4]):
        before = page.writer.leaves_written
        page.writer.apply(reader.feed(piece))
        costs.append(page.writer.leaves_written - before)
    assert len(costs) > 4000
    assert sum(costs[-1000:]) <= 1.5 * sum(costs[:1000])
    assert sum(costs) <= 1.2 * len(costs)


def test_code_is_written_once(qapp, monkeypatch):
    page, reader, placed = Page(), StreamingMarkdown(), []
    plain = CodeBlock._write_line

    def counting(self, cursor, text):
        placed.append(text)
        plain(self, cursor, text)

    monkeypatch.setattr(CodeBlock, "_write_line", counting)
    code = "".join(f"x{number} = {number}\n" for number in range(500))
    for piece in pieces(f"```python\n{code}```\n\nDone.\n", [3]):
        page.writer.apply(reader.feed(piece))
    page.writer.show(reader.finish())
    assert "".join(placed) == code.replace("\n", "")


def test_one_line_per_line_of_code(qapp):
    page = Page().stream("```\na\n\n\n  b\n```\n", [1])
    assert [block.text() for block in page.blocks()] == ["a", "", "", "  b"]


def test_a_very_long_line_of_code_is_laid_out_in_pieces_and_kept_whole(qapp):
    page = Page().stream("```\n" + "A" * 10_000 + "\n```\n", [999])
    assert [block.length() - 1 for block in page.blocks()] == [4096, 4096, 1808]
    assert [block.blockFormat().hasProperty(CONTINUES) for block in page.blocks()] == [False, True, True]
    assert page.writer.placed[0].leaf.text == "A" * 10_000 + "\n"


@pytest.mark.parametrize("size", [1, 3, 200])
def test_a_wrapped_line_of_code_goes_on_below_its_first_word(qapp, size):
    page = Page().stream("```\nx\n    " + "word " * 40 + "\n```\n", [size])
    page.document.size()  # lays it out
    plain, indented = (block.blockFormat() for block in page.blocks())
    assert plain.leftMargin() + plain.textIndent() == indented.leftMargin() + indented.textIndent()
    first, second = (list(page.blocks())[1].layout().lineAt(number) for number in (0, 1))
    assert second.x() - first.x() == round(6 * page.writer.formats.code_width)


def test_code_is_coloured_while_it_streams(qapp):
    page = Page().stream("```python\nx = 1\ny = ", [1], finish=False)
    first, second = page.blocks()
    assert [color_of(each) for each in first.layout().formats()] == [LIGHT_SYNTAX.number.lower()]
    assert second.layout().formats() == []


@pytest.mark.parametrize(
    ("markdown", "direction"),
    [
        ("שלום world", Qt.LayoutDirection.RightToLeft),
        ("1. مرحبا", Qt.LayoutDirection.RightToLeft),
        ("(42) שלום", Qt.LayoutDirection.RightToLeft),
        ("world שלום", Qt.LayoutDirection.LeftToRight),
        ("# שלום", Qt.LayoutDirection.RightToLeft),
        ("```\nשלום\n```", Qt.LayoutDirection.LeftToRight),
        ("12 + 3", Qt.LayoutDirection.LeftToRight),
    ],
)
def test_each_paragraph_has_its_own_direction(qapp, markdown, direction):
    page = Page().stream("Hello.\n\n" + markdown, [1])
    first, second = page.blocks()
    assert first.blockFormat().layoutDirection() == Qt.LayoutDirection.LeftToRight
    assert second.blockFormat().layoutDirection() == direction


def test_a_list_from_right_to_left_is_indented_on_the_right(qapp):
    (block,) = Page().show("- שלום").blocks()
    assert block.blockFormat().rightMargin() > block.blockFormat().leftMargin() == 0


def test_only_changed_rows_of_a_table_are_written(qapp):
    page = Page().show("| a |\n|---|\n| one |\n| two |\n")
    table = page.writer.placed[0].table
    page.show("| a |\n|---|\n| one |\n| twenty |\n| three |\n")
    assert page.writer.placed[0].table is table
    page.show("| a |\n|---|\n| one |\n")
    assert page.look() == Page().show("| a |\n|---|\n| one |\n").look()


def test_a_document_can_become_any_other(qapp):
    page = Page()
    for text in [SAMPLE, "", "| a |\n|---|\n", "```\nx\n```", SAMPLE, "short"]:
        assert page.show(text).look() == Page().show(text).look()


def test_nothing_can_be_undone(qapp):
    page = Page().stream(SAMPLE, [50])
    assert not page.document.isUndoAvailable()
    assert QTextCursor(page.document).block().isValid()


@pytest.mark.parametrize("text_size", [11, 14, 24])
def test_signs_of_items_keep_clear_of_their_text_in_every_size(qapp, text_size):
    page = Page(look=replace(style(), text_size=text_size))
    page.show("12. twelve\n- [x] task\n- x")
    measures = page.writer.formats.measures
    number = QFontMetricsF(page.writer.formats.text_font()).horizontalAdvance("12.")
    assert number < measures.list_indent
    (first, *_) = page.blocks()
    assert first.blockFormat().leftMargin() == measures.list_indent == round(26 * text_size / 14)


runs = st.lists(
    st.builds(
        Run,
        st.text("ab👩", min_size=1, max_size=4),
        st.sampled_from([Mark.NONE, Mark.STRONG, Mark.MATH]),
        drawn=st.booleans(),
    ),
    max_size=4,
)


@given(runs, runs)
def test_common_prefix_and_the_runs_behind_it_are_the_new_runs(old, new):
    old = [Run(run.text, run.marks, drawn=run.drawn and run.marks is Mark.MATH) for run in old]
    kept, same, rest = common_prefix(old, new)
    assert old[:same] == new[:same]
    assert len(rest) == len(new) - same
    shared = kept - sum(run.length for run in old[:same])
    assert shared >= 0
    if rest:
        first = new[same]
        assert first.text.endswith(rest[0].text)
        assert Run(first.text[: len(first.text) - len(rest[0].text)]).length == shared
        assert list(rest[1:]) == new[same + 1 :]
    else:
        assert shared == 0


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ([Run("ab")], [Run("abc")], (2, 0, [Run("c")])),
        ([Run("a"), Run("b", Mark.STRONG)], [Run("a")], (1, 1, [])),
        ([Run("$x$", Mark.MATH, drawn=True)], [Run("$x$", Mark.MATH), Run("a")], (1, 1, [Run("a")])),
        ([Run("$x$", Mark.MATH)], [Run("$x$$", Mark.MATH)], (0, 0, [Run("$x$$", Mark.MATH)])),
    ],
)
def test_common_prefix_examples(old, new, result):
    assert common_prefix(old, new) == result


LONG = SAMPLE * 4 + "```python\n" + "x = 1  # one\n" * 600 + "```\n\n" + "word " * 9_000 + "\n\n" + SAMPLE


def document(updates):
    made = QTextDocument()
    made.setTextWidth(500)
    writer = DocumentWriter(made, style())
    for update in updates:
        writer.apply(update)
    while writer.refine(lambda: True):
        pass
    return made, writer


@pytest.mark.parametrize("text", ["", "short", SAMPLE, LONG])
def test_chunks_make_the_whole(qapp, monkeypatch, text):
    monkeypatch.setattr(module, "_FIRST_CHUNK", 2_000)
    monkeypatch.setattr(module, "_NEXT_CHUNK", 500)
    leaves = parse_markdown(text)
    made, writer = document(chunks(leaves))
    expected, _ = document([module.Update(frozen=leaves, tail=())])
    assert made.toPlainText() == expected.toPlainText()
    assert made.size() == expected.size()
    assert [each.leaf for each in writer.placed] == list(leaves)


def test_no_chunk_is_much_longer_than_the_others(monkeypatch):
    monkeypatch.setattr(module, "_FIRST_CHUNK", 2_000)
    monkeypatch.setattr(module, "_NEXT_CHUNK", 500)
    updates = list(chunks(parse_markdown(LONG)))
    sizes = [len(each.appended) or sum(module._size(leaf) for leaf in each.frozen) for each in updates]
    assert len(updates) > 50
    assert sorted(sizes)[-3] <= 5_000  # a leaf of text is never cut


@pytest.mark.parametrize("text", ["", "a" * 50_000, "line\n" * 30_000, "\n" * 5_000])
def test_pieces_of_text_are_all_of_it(text):
    pieces = list(text_chunks(text))
    assert "".join(pieces) == text
    assert all(len(piece) + module._LINE_COST * piece.count("\n") <= 3 * module._NEXT_CHUNK for piece in pieces)


SHORT = 45  # of this length and less, every position is tried in `make test`


def test_there_are_three_hundred_different_ones():
    assert len(set(all_texts())) == COUNT
    assert len(by_hand()) >= 60


@pytest.mark.parametrize("first", range(0, COUNT, 30))
def test_streamed_texts_end_equal_to_whole_ones(qapp, first):
    dice = random.Random(first)
    for text in all_texts()[first : first + 30]:
        sizes = [dice.randint(1, 24) for _ in range(7)]
        assert Page().stream(text, sizes).look() == Page().show(text).look(), (text, sizes)


def cut_everywhere(text):
    expected = Page().show(text).final()
    for position in range(1, len(text)):
        page = Page().stream(text, [position, len(text)])
        assert page.final() == expected, (text, position)


@pytest.mark.parametrize("text", [text for text in by_hand() if len(text) <= SHORT])
def test_short_texts_may_be_cut_at_every_position(qapp, text):
    cut_everywhere(text)


@pytest.mark.long
@pytest.mark.parametrize("text", [text for text in all_texts() if SHORT < len(text) <= 200])
def test_longer_texts_may_be_cut_at_every_position(qapp, text):
    cut_everywhere(text)
