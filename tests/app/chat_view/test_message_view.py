"""A message as a user sees it: as high as its text, safe, selectable, and smooth while it streams."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QMouseEvent, QTextCursor, QTextDocument, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.chat_view.code_buttons import CopyButton
from app.chat_view.message_view import AnswerView
from app.chat_view.question_row import UserBubble
from app.palette import DARK
from app.render.markdown_stream import StreamingMarkdown
from app.render.style import Measures
from tests.support.looks import style
from tests.support.markdown import SAMPLE

CODE = "```python\n" + "".join(f"x{number} = {number}\n" for number in range(60)) + "```\n"


@pytest.fixture
def area(qtbot):
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
    page = QWidget()
    area.rows = QVBoxLayout(page)
    area.rows.addStretch()
    area.setWidget(page)
    area.resize(600, 400)
    qtbot.addWidget(area)
    area.show()
    return area


@pytest.fixture
def view(area):
    view = AnswerView(style())
    area.rows.insertWidget(0, view)
    settle()
    return view


def settle():
    for _ in range(5):
        QApplication.processEvents()


def buttons(view):
    return sorted((each for each in view.findChildren(CopyButton) if each.isVisible()), key=lambda each: each.y())


def select(view, first, last):
    cursor = view.document().find(first)
    start = cursor.selectionStart()
    cursor.setPosition(start)
    end = view.document().find(last, start).selectionEnd()
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    view.setTextCursor(cursor)


def link_point(view, text):
    cursor = view.document().find(text)
    cursor.setPosition(cursor.selectionStart() + 1)
    return view.cursorRect(cursor).center()


class TestStreaming:
    def test_text_is_there_at_once_and_whole_at_the_end(self, view):
        view.append("Hello **wor")
        assert view.toPlainText() == "Hello wor"
        view.append("ld**")
        view.finish()
        assert view.toPlainText() == "Hello world"
        assert view.markdown() == "Hello **world**"

    def test_pieces_that_come_together_are_written_together(self, view, qtbot, monkeypatch):
        fed = []
        plain = StreamingMarkdown.feed
        monkeypatch.setattr(StreamingMarkdown, "feed", lambda self, text: fed.append(text) or plain(self, text))
        for _ in range(100):
            view.append("word ")
        qtbot.waitUntil(lambda: sum(len(text) for text in fed) == 500)
        assert len(fed) <= 10

    def test_streamed_and_stored_look_the_same(self, view, area):
        for start in range(0, len(SAMPLE), 7):
            view.append(SAMPLE[start : start + 7])
        view.finish()
        stored = AnswerView(style())
        area.rows.insertWidget(1, stored)
        stored.set_markdown(SAMPLE)
        settle()
        assert stored.toPlainText() == view.toPlainText()
        assert stored.height() == view.height()
        assert [button.pos() for button in buttons(stored)] == [button.pos() for button in buttons(view)]

    def test_a_split_character_never_shows_as_broken(self, view, qtbot):
        text = "👩‍👩‍👧 한글 שלום 日本語"
        halves = text.encode("utf-16-le")
        for start in range(0, len(halves), 2):
            view.append(halves[start : start + 2].decode("utf-16-le", "surrogatepass"))
            view._flush()
            assert "\ufffd" not in view.toPlainText()
        view.finish()
        assert view.toPlainText() == text

    def test_a_finished_answer_takes_no_more(self, view):
        view.append("one")
        view.finish()
        view.finish()
        with pytest.raises(RuntimeError, match="finished"):
            view.append("two")

    def test_a_selection_above_survives_the_stream(self, view):
        view.append("First words.\n\nSecond.\n\nThird")
        select(view, "First", "words")
        view.append(" and more.\n\n```\ncode\n```\n\nLast.")
        view.finish()
        assert view.textCursor().selectedText() == "First words"

    @pytest.mark.parametrize("text", ["", " ", "\n\n"])
    def test_nothing_is_nothing(self, view, text):
        view.append(text)
        view.finish()
        assert view.toPlainText() == ""


class TestFit:
    def test_it_is_as_high_as_its_text_and_scrolls_nothing(self, view):
        heights = []
        view.height_changed.connect(heights.append)
        view.set_markdown(SAMPLE)
        settle()
        assert view.height() >= view.document().size().height()
        assert heights[-1] == view.height()
        assert view.verticalScrollBar().maximum() == view.horizontalScrollBar().maximum() == 0

    def test_narrower_is_higher(self, view, area):
        view.set_markdown(SAMPLE)
        settle()
        height = view.height()
        area.resize(330, 400)
        settle()
        assert view.height() > height
        assert view.document().textWidth() == view.viewport().width()
        assert view.document().idealWidth() <= view.viewport().width()

    def test_only_a_new_width_lays_the_text_out_again(self, view, monkeypatch):
        widths = []
        plain = QTextDocument.setTextWidth
        monkeypatch.setattr(
            QTextDocument, "setTextWidth", lambda self, width: widths.append(width) or plain(self, width)
        )
        for _ in range(20):
            view.append("A paragraph.\n\n")
            view._flush()
            settle()
        assert widths == []

    @pytest.mark.parametrize("text", ["A" * 30_000, "`" + "A" * 9_000 + "`", "```\n" + "A" * 30_000])
    def test_a_run_without_spaces_wraps(self, view, text):
        view.set_markdown(text)
        settle()
        assert view.document().idealWidth() <= view.viewport().width()

    def test_the_wheel_is_left_to_the_area(self, view):
        point = QPointF(5, 5)
        none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
        wheel = QWheelEvent(point, point, QPoint(), QPoint(0, -120), *none, False)
        view.wheelEvent(wheel)
        assert not wheel.isAccepted()

    def test_page_down_scrolls_the_area(self, view, area):
        view.set_markdown(SAMPLE * 3)
        settle()
        view.setFocus()
        QTest.keyClick(view, Qt.Key.Key_PageDown)
        assert area.verticalScrollBar().value() > 0

    def test_selecting_past_the_edge_scrolls_the_area(self, view, area):
        view.set_markdown(SAMPLE * 3)
        settle()
        button, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        for kind, y in [(QEvent.Type.MouseButtonPress, 5), (QEvent.Type.MouseMove, 600)]:
            event = QMouseEvent(kind, QPointF(5, y), QPointF(5, y), button, button, none)
            QApplication.sendEvent(view.viewport(), event)
        assert area.verticalScrollBar().value() > 0
        assert view.textCursor().selectedText().startswith("Mount Elbrus")


class TestSafety:
    def test_nothing_is_loaded(self, view):
        view.set_markdown("![a](file:///etc/hostname) ![b](http://127.0.0.1:1/x.png) <img src=file:///etc/hostname>")
        assert view.loadResource(2, QUrl("file:///etc/hostname")) is None
        kind = QTextDocument.ResourceType.ImageResource.value
        assert view.document().resource(kind, QUrl("file:///etc/hostname")) is None
        assert "\ufffc" not in view.toPlainText()

    def test_a_click_on_a_link_only_tells(self, view, qtbot):
        view.set_markdown("See [the page](https://bücher.example/ä?q=1).")
        settle()
        with qtbot.waitSignal(view.link_activated) as caught:
            QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=link_point(view, "the page"))
        address = caught.args[0].toString(QUrl.ComponentFormattingOption.FullyEncoded)
        assert address == "https://xn--bcher-kva.example/%C3%A4?q=1"
        assert view.toPlainText() == "See the page."

    def test_a_link_can_be_chosen_with_the_keyboard(self, view, qtbot):
        view.set_markdown("See [the page](https://a.b/).")
        settle()
        view.setFocus()
        QTest.keyClick(view, Qt.Key.Key_Tab)
        with qtbot.waitSignal(view.link_activated):
            QTest.keyClick(view, Qt.Key.Key_Return)

    @pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "x-apple.systempreferences:", "/a"])
    def test_other_links_do_nothing(self, view, url):
        told = []
        view.link_activated.connect(told.append)
        view.anchorClicked.emit(QUrl(url))
        assert told == []


class TestCopying:
    def test_a_selection_keeps_its_line_breaks(self, view):
        view.set_markdown(SAMPLE)
        select(view, "pandas", "Print it.")
        view.copy()
        assert QGuiApplication.clipboard().text() == (
            "pandas.\n2. Sort:\n\ndef tallest(mountains):\n    '''Return the tallest.'''\n"
            "    return max(mountains)\n\n3. Print it."
        )
        assert "<pre>" in QGuiApplication.clipboard().mimeData().html()

    def test_each_code_block_has_a_button_that_copies_exactly_it(self, view):
        code = "if x:\n\tprint('\u200b  ')  \n\n"
        view.set_markdown(f"```python\n{code}```\n\nText.\n\n```\nother\n```")
        settle()
        first, second = buttons(view)
        QTest.mouseClick(first, Qt.MouseButton.LeftButton)
        assert QGuiApplication.clipboard().text() == code
        assert first.text() == "Copied"
        second.setFocus()
        QTest.keyClick(second, Qt.Key.Key_Space)
        assert QGuiApplication.clipboard().text() == "other\n"
        assert (first.accessibleName(), second.accessibleName()) == ("Copy python code", "Copy code")

    def test_the_button_copies_what_has_come_so_far(self, view):
        view.append("```\none\ntw")
        settle()
        QTest.mouseClick(buttons(view)[0], Qt.MouseButton.LeftButton)
        assert QGuiApplication.clipboard().text() == "one\ntw"

    def test_the_button_stays_in_view_while_long_code_is_scrolled(self, view, area):
        view.set_markdown(CODE + "\nThe end.")
        settle()
        (button,) = buttons(view)
        at_rest = button.y()
        area.verticalScrollBar().setValue(500)
        settle()
        assert not button.visibleRegion().isEmpty()
        assert button.y() > at_rest
        area.verticalScrollBar().setValue(0)
        assert button.y() == at_rest

    def test_a_growing_answer_looks_only_for_the_last_place(self, view, monkeypatch):
        view.append("```\none\n```\n\n" * 20)
        view._flush()
        settle()
        places = []
        plain = type(view._geometry).panel
        monkeypatch.setattr(type(view._geometry), "panel", lambda self, placed: places.append(1) or plain(self, placed))
        view.append("word")
        view._flush()
        assert len(places) <= 1

    def test_a_formula_set_later_moves_the_button_below_it(self, view):
        view.set_markdown("$$\\frac{a}{b} + 731$$\n\n```\none\n```")
        settle()
        (button,) = buttons(view)
        (placed,) = [each for each in view._writer.placed if each.code]
        assert button.y() == round(view._geometry.panel(placed).top()) + 5

    def test_buttons_go_with_their_code(self, view):
        view.set_markdown(CODE * 3)
        settle()
        assert len(buttons(view)) == 3
        view.set_markdown("Nothing.")
        settle()
        assert buttons(view) == []


class TestLook:
    def test_another_style_shows_the_same_text(self, view):
        view.set_markdown(SAMPLE)
        settle()
        text, height = view.toPlainText(), view.height()
        before = view.grab().toImage()
        view.set_style(style(DARK))
        settle()
        assert (view.toPlainText(), view.height()) == (text, height)
        assert view.grab().toImage() != before
        assert len(buttons(view)) == 2

    def test_a_style_can_change_in_the_middle_of_a_stream(self, view, area):
        view.append(SAMPLE[:600])
        view.set_style(style(DARK))
        view.append(SAMPLE[600:])
        view.finish()
        stored = AnswerView(style(DARK))
        area.rows.insertWidget(1, stored)
        stored.set_markdown(SAMPLE)
        assert view.toPlainText() == stored.toPlainText()

    def test_long_code_is_coloured_piece_by_piece(self, view, qtbot):
        view.set_markdown(CODE * 40)
        qtbot.waitUntil(lambda: not view._refining.isActive())
        assert view.document().findBlockByNumber(60 * 40 - 1).layout().formats()

    def test_the_focus_shows_when_it_comes_by_the_keyboard(self, view):
        view.set_markdown("Text.")
        settle()
        calm = view.grab().toImage()
        view.setFocus(Qt.FocusReason.MouseFocusReason)
        assert view.grab().toImage() == calm
        view.clearFocus()
        view.setFocus(Qt.FocusReason.TabFocusReason)
        assert view.grab().toImage() != calm

    def test_everything_has_a_name(self, view):
        view.set_markdown(SAMPLE)
        assert view.accessibleName() == "Answer"
        assert view.accessibleDescription()
        assert all(button.accessibleName() for button in view.findChildren(CopyButton))


class TestUserBubble:
    @pytest.fixture
    def make(self, area):
        def make(text):
            bubble = UserBubble(text, style())
            area.rows.insertWidget(0, bubble)
            settle()
            return bubble

        return make

    def test_text_is_shown_as_typed(self, make):
        text = "one\n\n  **two** <b>three</b>\n- four `x`"
        bubble = make(text)
        assert bubble._view.toPlainText() == text
        assert bubble.text() == text

    def test_it_is_on_the_right_and_no_wider_than_it_must(self, make):
        short, long = make("Hi"), make("word " * 100)
        assert short.bubble().width() < 80
        assert long.bubble().width() <= 0.8 * long.width() + 1
        assert round(short.bubble().right()) == short.width()
        assert long.height() > short.height()

    def test_a_copied_selection_keeps_line_breaks(self, make):
        bubble = make("one\ntwo\n\nthree")
        bubble._view.selectAll()
        bubble._view.copy()
        assert QGuiApplication.clipboard().text() == "one\ntwo\n\nthree"

    def test_a_line_too_long_for_one_piece_is_copied_as_one(self, make):
        bubble = make("A" * 9_000 + "\nb")
        bubble._view.selectAll()
        bubble._view.copy()
        assert QGuiApplication.clipboard().text() == "A" * 9_000 + "\nb"

    @pytest.mark.parametrize("text", ["Why are there tides? " * 400, "ab " * 3_000 + "\nb"])
    def test_a_line_too_long_for_one_piece_is_broken_between_words(self, make, text):
        bubble = make(text)
        block = bubble._view.document().begin()
        while block.next().isValid():
            assert block.text().endswith(" ")
            block = block.next()
        bubble._view.selectAll()
        bubble._view.copy()
        assert QGuiApplication.clipboard().text() == text

    def test_a_pasted_file_is_shown_in_part_until_asked_for(self, make, qtbot):
        text = "\n".join(f"line {number}" for number in range(3000))
        bubble = make(text)
        assert bubble._view.document().blockCount() == 200
        assert bubble.text() == text
        more = bubble.findChild(QPushButton)
        assert more.text() == "Show all 3,000 lines"
        more.click()
        qtbot.waitUntil(lambda: bubble._view.toPlainText() == text)
        assert not more.isVisible()
        bubble.set_style(style(DARK))
        qtbot.waitUntil(lambda: bubble._view.toPlainText() == text)

    def test_one_long_paragraph_is_measured_in_characters(self, make):
        bubble = make("word " * 3_000)
        assert bubble.findChild(QPushButton).text() == "Show all 15,000 characters"

    @pytest.mark.parametrize("text", ["What is 1+1?", "Hi", "Hello world, this is it", "x" * 90, "a\n  b", "שלום"])
    def test_nothing_of_it_is_scrolled_out_of_sight(self, make, text):
        bubble = make(text)
        for width in (700, 320, 1000):
            bubble.resize(width, bubble.height())
            settle()
            for bar in (bubble._view.horizontalScrollBar(), bubble._view.verticalScrollBar()):
                assert (bar.minimum(), bar.value(), bar.maximum()) == (0, 0, 0)

    def test_a_lone_half_of_a_character_shows_as_one_mark(self, make):
        assert make("a\ud800b")._view.toPlainText() == "a\ufffdb"

    def test_another_text_and_style(self, make):
        bubble = make("one")
        bubble.set_text("two\nlines")
        bubble.set_style(style(DARK))
        assert bubble._view.toPlainText() == "two\nlines"

    def test_hebrew_reads_from_the_right(self, make):
        bubble = make("hello\nשלום")
        last = bubble._view.document().lastBlock()
        assert last.blockFormat().layoutDirection() == Qt.LayoutDirection.RightToLeft


class TestHighlights:
    TEXT = "One **two** three.\n\n- four `five`\n\n```python\nsix = 7\n```\n\n| a | b |\n|---|---|\n| eight | $x$ |\n"

    def marks(self, *words):
        marks, position = [], 0
        for word in words:
            start = self.TEXT.index(word)
            marks += [start - position, len(word)]
            position = start + len(word)
        return [*marks, len(self.TEXT) - position]

    def boxes(self, view):
        return view._decoration.accepted.boxes()

    def test_what_was_accepted_is_tinted_only_when_asked_for(self, view):
        view.set_markdown(self.TEXT)
        view.set_marks(self.marks("two", "five", "six", "eight"))
        settle()
        plain, height = view.grab().toImage(), view.height()
        assert self.boxes(view) == []
        view.set_tinted(on=True)
        assert len(self.boxes(view)) == 4
        assert view.grab().toImage() != plain
        view.set_tinted(on=False)
        assert view.grab().toImage() == plain
        assert view.height() == height

    @pytest.mark.parametrize("word", ["two", "four", "five", "six", "eight"])
    def test_the_tint_is_behind_its_word(self, view, word):
        view.set_markdown(self.TEXT)
        view.set_marks(self.marks(word))
        view.set_tinted(on=True)
        settle()
        (box,) = self.boxes(view)
        cursor = view.document().find(word)
        end = view.cursorRect(cursor)
        cursor.setPosition(cursor.selectionStart())
        start = view.cursorRect(cursor)
        assert abs(box.left() - start.x()) <= 1
        assert abs(box.right() - end.x()) <= 1
        assert start.top() - 6 <= box.top() < box.bottom() <= start.bottom() + 6

    def test_markup_has_no_place(self, view):
        view.set_markdown("a **b**")
        view.set_marks((2, 2, 3))
        view.set_tinted(on=True)
        assert self.boxes(view) == []

    def test_a_streamed_answer_is_tinted_when_it_is_whole(self, view):
        view.set_tinted(on=True)
        view.append("one two")
        view.set_marks((4, 3))
        assert self.boxes(view) == []
        view.finish()
        assert len(self.boxes(view)) == 1

    def test_it_moves_with_the_lines_and_the_size(self, view, area):
        view.set_markdown("word " * 60 + "last")
        view.set_marks((300, 4))
        view.set_tinted(on=True)
        settle()
        wide = self.boxes(view)[0].top()
        area.resize(330, 400)
        settle()
        assert self.boxes(view)[0].top() > wide
        narrow = self.boxes(view)[0].height()
        view.set_style(replace(style(), text_size=20))
        assert self.boxes(view)[0].height() > narrow

    def test_what_was_found_is_shown(self, view):
        view.set_markdown("one two one")
        view.show_found([(0, 3), (8, 11)], 1)
        settle()
        assert len(view._decoration.found.boxes()) == 2
        assert view.found_box().left() > 30
        view.show_found([], None)
        assert view.found_box() is None

    def test_long_code_costs_only_what_is_seen(self, view, area, monkeypatch):
        view.set_markdown(CODE * 20)
        view.show_found([(index, index + 1) for index, each in enumerate(CODE * 20) if each == "x"], None)
        settle()
        drawn = []
        plain = type(view._geometry).boxes
        monkeypatch.setattr(type(view._geometry), "boxes", lambda self, *args: drawn.append(1) or plain(self, *args))
        area.grab()
        assert 0 < len(drawn) < 150


class TestHeadRoom:
    """A code block that comes first has its header too."""

    FIRST_CODE = "```python\nprint(1)\n```\n\nand text"

    @staticmethod
    def first(view):
        placed = view._writer.placed[0]
        return view._geometry.top(placed), view._geometry.rect(view._geometry.first_block(placed)).top()

    @pytest.mark.parametrize("streamed", [False, True])
    @pytest.mark.parametrize(
        ("text", "room"),
        [(FIRST_CODE, Measures(14).code_header), ("Text\n\n" + FIRST_CODE, 0), ("# Title", 0)],
    )
    def test_room_above_the_first_line(self, view, streamed, text, room):
        if streamed:
            for character in text:
                view.append(character)
            view.finish()
        else:
            view.set_markdown(text)
        assert self.first(view) == (0, room)

    def test_room_goes_with_the_code_that_needed_it(self, view):
        view.set_markdown(self.FIRST_CODE)
        view.set_markdown("Text")
        assert self.first(view) == (0, 0)
