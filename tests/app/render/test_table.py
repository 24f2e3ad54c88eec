"""Tables share out their width so that words stay whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QTextDocument

from app.render.document import DocumentWriter
from app.render.layout import Geometry
from app.render.markdown import parse_markdown
from app.render.table import _shares
from tests.support.looks import style

columns = st.lists(st.tuples(st.integers(1, 300), st.integers(0, 900)), min_size=1, max_size=8)
WIDE = """\
| Feature | Description | Status | Notes | Owner | Priority |
|---|---|---|---|---|---|
| Speculative decoding | Drafts several tokens and verifies them in one pass | Done | Exact | Engine | High |
"""


@given(columns, st.integers(1, 2000))
def test_shares_fit_and_give_every_word_its_room_if_there_is_any(found, width):
    least = [low for low, _ in found]
    most = [low + more for low, more in found]
    widths = _shares(least, most, width)
    assert sum(widths) <= width
    if sum(least) <= width:
        assert all(low <= got <= high for low, got, high in zip(least, widths, most, strict=True))
    if sum(most) <= width:
        assert widths == most


@given(columns)
def test_without_room_only_the_widest_columns_give_way(found):
    least = [low for low, _ in found]
    widths = _shares(least, least, sum(least) * 0.8)
    cut = max(widths)
    assert all(got in (low, cut) for low, got in zip(least, widths, strict=True))


def page(markdown, width):
    document = QTextDocument()
    writer = DocumentWriter(document, style())
    document.setTextWidth(width)
    writer.show(parse_markdown(markdown))
    return document, writer


def lines(document, writer, row):
    table = writer.placed[0].table.qt
    document.size()  # lays it out
    found = []
    for column in range(table.columns()):
        block = table.cellAt(row, column).firstCursorPosition().block()
        layout = block.layout()
        parts = (layout.lineAt(number) for number in range(layout.lineCount()))
        found.append([block.text()[part.textStart() : part.textStart() + part.textLength()] for part in parts])
    return found


@pytest.mark.parametrize("width", [720, 620, 540])
def test_words_are_not_broken_where_there_is_room(qapp, width):
    document, writer = page(WIDE, width)
    for row in (0, 1):
        for cell in lines(document, writer, row):
            assert all(line.endswith(" ") for line in cell[:-1])


def test_columns_follow_a_new_width(qapp):
    document, writer = page(WIDE, 720)
    before = lines(document, writer, 1)
    document.setTextWidth(540)
    writer.fit_tables()
    assert lines(document, writer, 1) != before
    assert document.size().width() <= 540


def test_a_small_table_is_no_wider_than_its_words(qapp):
    document, writer = page("| a | b |\n|---|---|\n| c | d |\n", 720)
    assert Geometry(document, writer).table_right(writer.placed[0]) < 100
