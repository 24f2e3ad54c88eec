"""What is painted behind a part of a text stands behind the letters of that part."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QFontMetricsF, QImage, QPainter, QTextCharFormat, QTextCursor, QTextDocument

from app.render.blocks import utf16_length
from app.render.decoration import Highlights
from app.render.document import DocumentWriter
from app.render.export import selected_leaves, to_text
from app.render.layout import Geometry
from app.render.markdown import parse_markdown
from app.render.markdown_stream import StreamingMarkdown
from app.render.source_map import SourceMap, SourceSpan
from tests.support.looks import style


class Page:
    def __init__(self, markdown, width=500):
        self.source = markdown
        self.document = QTextDocument()
        self.document.setTextWidth(width)
        self.writer = DocumentWriter(self.document, style())
        self.writer.show(parse_markdown(markdown))
        while self.writer.refine(lambda: True):
            pass
        self.document.size()  # lays it out
        self.geometry = Geometry(self.document, self.writer)
        self.block = self.document.begin()

    def boxes(self, part):
        text = self.block.text()
        start = utf16_length(text[: text.index(part)])
        metrics = QFontMetricsF(self.writer.formats.text_font())
        return list(self.geometry.boxes(self.block, start, start + utf16_length(part), metrics))

    def ink(self, part):
        """Return the left and right edges of what is painted of `part`."""
        text = self.block.text()
        start = utf16_length(text[: text.index(part)])
        cursor = QTextCursor(self.document)
        cursor.setPosition(start)
        cursor.setPosition(start + utf16_length(part), QTextCursor.MoveMode.KeepAnchor)
        red = QTextCharFormat()
        red.setForeground(QBrush(Qt.GlobalColor.red))
        cursor.mergeCharFormat(red)
        image = QImage(500, 40, QImage.Format.Format_RGB32)
        image.fill(Qt.GlobalColor.white)
        painter = QPainter(image)
        self.document.drawContents(painter)
        painter.end()
        pixels = ((x, image.pixelColor(x, y)) for x in range(500) for y in range(40))
        columns = {x for x, color in pixels if color.red() > color.green() + 60}
        return min(columns), max(columns) + 1

    def highlights(self):
        """Return what is painted when all of the source is highlighted, character by character."""
        mapping = SourceMap(self.source, [each.leaf for each in self.writer.placed])
        found = Highlights(self.writer, self.geometry)
        found.set(place for at in range(len(self.source)) for place in mapping.spans(at, at + 1))
        return found.boxes()


RIGHT_TO_LEFT = [
    "هذا نص alpha ثم نص beta ثم نهاية",
    "שלום foo עולם bold סוף",
    "English שלום עולם end",
    "😀 שלום alpha",
]


@pytest.mark.parametrize(
    ("text", "part"),
    [(text, word) for text in RIGHT_TO_LEFT for word in text.split() if word != "😀"] + [("Plain words here", "words")],
)
def test_a_box_is_behind_its_word_whatever_is_read_before_and_after_it(qapp, text, part):
    page = Page(text)
    (box,) = page.boxes(part)
    left, right = page.ink(part)
    assert box.left() == pytest.approx(left, abs=2.5)
    assert box.right() == pytest.approx(right, abs=2.5)


def test_what_is_shown_in_two_pieces_has_two_boxes(qapp):
    page = Page("abc שלום def")
    assert len(page.boxes("abc ש")) == 2


@pytest.mark.parametrize(
    "text", ["$x$", r"$$\sum_{i=1}^n a_i$$", r"so $\frac{a}{b}$ 😀 $\int_0^1 x$ and more", "a b c"]
)
def test_highlights_do_not_lie_over_one_another(qapp, text):
    boxes = Page(text).highlights()
    assert boxes
    for number, box in enumerate(boxes):
        for other in boxes[number + 1 :]:
            assert not box.adjusted(0.1, 0.1, -0.1, -0.1).intersects(other.adjusted(0.1, 0.1, -0.1, -0.1))


def test_a_box_is_as_high_as_its_formula(qapp):
    small, tall = (max(box.height() for box in Page(text).highlights()) for text in ("$x$", r"$$\sum_{i=1}^n a_i$$"))
    assert tall > 1.8 * small


def test_places_that_touch_or_repeat_are_one(qapp):
    page = Page("some words")
    found = Highlights(page.writer, page.geometry)
    found.set([SourceSpan(0, 0, 0, 4), SourceSpan(0, 0, 2, 3), SourceSpan(0, 0, 4, 6), SourceSpan(0, 0, 7, 8)])
    assert len(found.boxes()) == 2


@pytest.mark.parametrize("text", ["שלום `foo()` עולם", "مرحبا `a[0] = b()` نهاية", "| שלום `foo()` |\n|---|\n| עולם |"])
def test_code_reads_from_left_to_right_in_any_text(qapp, text):
    page = Page(text)
    placed = page.writer.placed[0]
    block = placed.table.qt.cellAt(0, 0).firstCursorPosition().block() if placed.table else page.block
    code = text.split("`")[1]
    start = block.text().index(code)
    metrics = QFontMetricsF(page.writer.formats.text_font())
    boxes = [next(page.geometry.boxes(block, start + at, start + at + 1, metrics)) for at in range(len(code))]
    lefts = [box.left() for box in boxes]
    assert lefts == sorted(lefts)
    assert len(set(lefts)) == len(lefts)


def test_code_that_is_kept_apart_is_copied_and_found_as_it_was_written(qapp):
    page = Page("שלום `foo()` עולם")
    cursor = QTextCursor(page.document)
    cursor.select(QTextCursor.SelectionType.Document)
    assert to_text(selected_leaves(page.writer.placed, cursor)) == "שלום foo() עולם"
    mapping = SourceMap(page.source, [each.leaf for each in page.writer.placed])
    at = page.source.index("foo")
    [place] = mapping.spans(at, at + 3)
    assert page.block.text()[place.start : place.end] == "foo"


@pytest.mark.parametrize("text", ["`()` שלום `foo()` a", "a `foo()` שלום", "**1** `x[0]` שלום `y` 😀 `z()`"])
def test_streamed_code_in_any_text_ends_as_it_is_when_stored(qapp, text):
    stream = StreamingMarkdown()
    document = QTextDocument()
    writer = DocumentWriter(document, style())
    for character in text:
        writer.apply(stream.feed(character))
    writer.show(stream.finish())
    assert document.toPlainText() == Page(text).document.toPlainText()
    assert [run.length for run in writer.placed[0].shape.runs] == [
        run.length for run in Page(text).writer.placed[0].shape.runs
    ]
