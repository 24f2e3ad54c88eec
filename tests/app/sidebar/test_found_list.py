"""Rows of search results take the lines they need, and end in an ellipsis where they are too long."""

from __future__ import annotations

import pytest

from app.chat.matching import Passage
from app.sidebar.found_list import _laid_out


def shown(layout):
    return [
        layout.text()[layout.lineAt(n).textStart() :][: layout.lineAt(n).textLength()].rstrip()
        for n in range(layout.lineCount())
    ]


@pytest.mark.parametrize(
    "text", ["short", "", "a few words more than one line takes", "🙂" * 300, "word " * 90, "x" * 900]
)
@pytest.mark.parametrize("message_id", ["", "m"])
def test_lines(theme, text, message_id):
    layout = _laid_out(theme, Passage(text, ((0, min(3, len(text))),), message_id), 200)
    assert layout.lineCount() <= (2 if message_id else 1)
    for number in range(layout.lineCount()):
        assert layout.lineAt(number).naturalTextWidth() <= 200
    whole = layout.text() == text
    assert whole or layout.text().endswith("…")
    assert whole == (len(text) < (60 if message_id else 20))
    assert "\ufffd" not in layout.text()


def test_no_width_at_all_ends(theme):
    assert _laid_out(theme, Passage("words", (), "m"), 0).lineCount() <= 2
