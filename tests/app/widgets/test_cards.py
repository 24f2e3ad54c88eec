"""Whatever an error says can be read beside its button."""

from __future__ import annotations

import pytest

from app.widgets.cards import ErrorCard


@pytest.mark.parametrize("sentence", ["/a/very/long/path" * 30, "x" * 500, "Words. " * 60, "\u4e2d" * 300])
def test_no_part_of_a_sentence_is_cut_off(qtbot, theme, sentence):
    card = ErrorCard(theme, sentence, "Try again")
    qtbot.addWidget(card)
    card.resize(400, card.heightForWidth(400))
    card.show()
    assert card.label.height() >= card.label.heightForWidth(card.label.width())
    assert card.label.geometry().right() < card.button.geometry().left()
    assert card.button.geometry().right() <= card.width()
    words = card.label.text().split("\u200b")
    assert "".join(words) == sentence
    widest = max(card.label.fontMetrics().horizontalAdvance(part) for word in words for part in word.split())
    assert widest <= card.label.width() or "\u4e2d" in sentence  # those may be broken anywhere


def test_short_words_are_left_as_they_are(qtbot, theme):
    card = ErrorCard(theme, "The model file is damaged at byte 12. Get it again.", "")
    qtbot.addWidget(card)
    assert card.label.text() == "The model file is damaged at byte 12. Get it again."
