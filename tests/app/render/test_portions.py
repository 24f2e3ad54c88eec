"""Portions make the same document as the whole, and none of them is long."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QTextDocument

from app.render import portions as module
from app.render.document import DocumentWriter
from app.render.parser import whole
from app.render.portions import portions, text_portions
from tests.support.looks import style
from tests.support.markdown import SAMPLE

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
def test_portions_make_the_whole(qapp, monkeypatch, text):
    monkeypatch.setattr(module, "_FIRST", 2_000)
    monkeypatch.setattr(module, "_NEXT", 500)
    leaves = whole(text)
    made, writer = document(portions(leaves))
    expected, _ = document([module.Update(frozen=leaves, tail=())])
    assert made.toPlainText() == expected.toPlainText()
    assert made.size() == expected.size()
    assert [each.leaf for each in writer.written] == list(leaves)


def test_no_portion_is_much_longer_than_the_others(monkeypatch):
    monkeypatch.setattr(module, "_FIRST", 2_000)
    monkeypatch.setattr(module, "_NEXT", 500)
    updates = list(portions(whole(LONG)))
    sizes = [len(each.appended) or sum(module._size(leaf) for leaf in each.frozen) for each in updates]
    assert len(updates) > 50
    assert sorted(sizes)[-3] <= 5_000  # a leaf of text is never cut


@pytest.mark.parametrize("text", ["", "a" * 50_000, "line\n" * 30_000, "\n" * 5_000])
def test_pieces_of_text_are_all_of_it(text):
    pieces = list(text_portions(text))
    assert "".join(pieces) == text
    assert all(len(piece) + module._LINE * piece.count("\n") <= 3 * module._NEXT for piece in pieces)
