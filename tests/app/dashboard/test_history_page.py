"""The page of the history says what is known, of how many answers, and nothing of what is not."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from app.dashboard import history_page, history_text
from app.dashboard.history_page import HistoryPage
from app.storage.stats import Choice, Grouping, TimeSaved
from app.storage.store import Store
from mtplx_engine.errors import ErrorInfo, ErrorKind
from tests.support.chats import edit
from tests.support.cut_off import cut_off
from tests.support.fake_script import Script
from tests.support.figures import DAY as TODAY
from tests.support.figures import figures
from tests.support.measurements import measurement
from tests.support.speed_window import FakeRecords

HEAD_PADDING = 8  # pixels beside the words of a head, in the style sheet
PLAIN = {("key", 1024): 40.0}


class Shown:
    """A page on a store, and what stands on it."""

    def __init__(self, qtbot, theme, folder):
        self.qtbot = qtbot
        self.records = FakeRecords()
        self.store = Store(folder)
        with qtbot.waitSignal(self.store.opened):
            self.store.open()
        self.page = HistoryPage(theme, self.store, self.records, today=lambda: TODAY)
        qtbot.addWidget(self.page)
        self.page.resize(860, 760)
        self.page.show()

    def fill(self, *given):
        self.settle(lambda: None)  # what is read when it is shown
        with QSignalBlocker(self.store):  # they were there before
            for each in given:
                self.store.add_stats(lambda each=each: each)
        self.settle(self.page.refresh)

    def settle(self, act):
        act()
        self.qtbot.waitUntil(lambda: not self.page._waits, timeout=10_000)

    def choose(self, button, value):
        self.settle(lambda: button.chosen.emit(value))

    @property
    def words(self):
        kinds = (QLabel, QPushButton)
        return [each.text() for kind in kinds for each in self.page.findChildren(kind) if each.isVisible()]

    @property
    def rows(self):
        model = self.page.table.model()
        columns = range(model.columnCount())
        return [[model.index(row, column).data() for column in columns] for row in range(model.rowCount())]

    @property
    def head(self):
        model = self.page.table.model()
        return [model.headerData(n, Qt.Orientation.Horizontal) for n in range(model.columnCount())]


@pytest.fixture
def shown(qtbot, theme, tmp_path):
    made = Shown(qtbot, theme, tmp_path / "chats")
    yield made
    made.store.close()


@pytest.fixture(autouse=True)
def _baseline(monkeypatch):
    monkeypatch.setattr(history_page, "baselines", lambda measurements: PLAIN if measurements else {})


# ---------------------------------------------------------------- states


def test_before_anything_is_read_nothing_is_claimed(qtbot, theme, tmp_path):
    page = HistoryPage(theme, Store(tmp_path), FakeRecords())
    qtbot.addWidget(page)
    page.show()
    visible = [label.text() for label in page.findChildren(QLabel) if label.isVisible()]
    assert visible == ["Reading the history…"]
    assert not any(button.isVisible() for button in page.findChildren(QPushButton))


def test_without_answers_there_is_a_sentence_and_no_figure(shown):
    shown.fill()
    (words,) = shown.words
    assert words.startswith("No answers yet.")
    assert not shown.page.table.isVisible()


def test_some_answers_in_figures_with_what_they_rest_on(shown):
    shown.fill(*[figures(day=TODAY) for _ in range(5)])
    for words in (
        "5",
        "on 1 day",
        "50 tok/s",
        "middle half of 5: 50–50",
        "75 %",
        "of 400 drafted · 2.50 per step",
    ):
        assert words in shown.words
    assert shown.head == [
        "Model",
        "Context, tokens",
        "Answers",
        "Writing, tok/s",
        "First word",
        "Reading, tok/s",
        "Drafts kept",
    ]
    assert shown.rows == [["Toy", "up to 1k", "5", "50 (50–50)", "0.50 s", "600", "75 % of 400"]]
    assert [day.median for day in shown.page.chart.chart_data.days] == [50.0]


def test_what_came_since_is_there_when_the_page_is_shown_again(shown):
    shown.fill(figures(day=TODAY))
    shown.page.hide()
    shown.store.add_stats(lambda: figures(day=TODAY))
    shown.settle(shown.page.show)
    assert shown.rows[0][2] == "2"


def test_what_is_not_known_is_a_dash_and_never_zero(shown):
    unknown = {
        "ttft_s": None,
        "prefill_s": None,
        "decode_s": None,
        "verify_steps": 0,
        "drafted": 0,
        "accepted": 0,
    }
    shown.fill(figures(unknown, day=TODAY))
    assert shown.rows == [["Toy", "up to 1k", "1", "–", "–", "–", "–"]]
    assert shown.words.count("–") == 3
    assert not any(words.startswith("0") for words in shown.words)
    assert shown.page.chart.chart_data.empty_text


def test_filtered_to_nothing_there_is_a_way_back(shown):
    shown.fill(figures(day=TODAY - timedelta(200)), figures(day=TODAY - timedelta(200)))
    assert "None of 2 answers fits this choice." in shown.words
    shown.settle(lambda: QTest.mouseClick(shown.page.everything, Qt.MouseButton.LeftButton))
    assert shown.page.period.text() == "All days"
    assert shown.rows[0][2] == "2"


def test_a_history_that_cannot_be_read_says_so_and_is_tried_again(shown):
    shown.page.refresh()
    shown.store.failed.emit(ErrorInfo(ErrorKind.STORAGE, "The disk is away."), "")
    assert shown.page.trouble.isVisible()
    assert shown.page.trouble.label.text() == "The disk is away."
    shown.settle(shown.page.trouble.button.click)
    assert not shown.page.trouble.isVisible()


def test_a_message_that_cannot_be_saved_is_no_matter_of_this_page(shown):
    shown.page.refresh()
    shown.store.failed.emit(ErrorInfo(ErrorKind.STORAGE, "The disk is full."), "m")
    assert not shown.page.trouble.isVisible()


def test_damaged_records_are_counted(qtbot, theme, tmp_path):
    first = Shown(qtbot, theme, tmp_path)
    first.fill(*[figures(day=TODAY) for _ in range(3)])
    first.store.close()
    edit(tmp_path, "UPDATE figures SET emitted = -1 WHERE seq < 3")
    second = Shown(qtbot, theme, tmp_path)
    second.fill()
    assert "The figures of 2 answers cannot be read and are left out; nothing was deleted." in second.words
    assert second.rows[0][2] == "1"
    second.store.close()


def test_an_answer_that_comes_while_the_page_is_open_is_shown(shown):
    shown.fill(*[figures({"prompt_tokens": count}, day=TODAY) for count in (200, 200, 5000)])
    page = shown.page
    page.resize(640, 300)
    bar = page.verticalScrollBar()
    shown.qtbot.waitUntil(lambda: bar.maximum() > 0, timeout=10_000)
    bar.setValue(bar.maximum())
    page.table.setCurrentIndex(page.table.model().index(1, 2))
    at = bar.value()
    for _ in range(3):
        shown.store.add_stats(lambda: figures({"prompt_tokens": 5000}, day=TODAY))
    shown.qtbot.waitUntil(lambda: page.facts.answers._number.text() == "6", timeout=10_000)
    assert [row[1:3] for row in shown.rows] == [["up to 8k", "4"], ["up to 1k", "2"]]
    # The row that was chosen is the first one now.
    assert (page.table.currentIndex().row(), page.table.currentIndex().column()) == (0, 2)
    assert page.table.selectionModel().isRowSelected(0)
    assert bar.value() == at


def test_many_answers_are_read_a_few_times_and_a_hidden_page_reads_nothing(shown):
    shown.fill(figures(day=TODAY))
    reads = []
    shown.store.history_read.connect(reads.append)
    for _ in range(50):
        shown.store.add_stats(lambda: figures(day=TODAY))
    shown.qtbot.waitUntil(lambda: shown.rows[0][2] == "51", timeout=10_000)
    assert len(reads) < 10
    shown.page.hide()
    shown.page._following.cancel()
    reads.clear()
    shown.store.add_stats(lambda: figures(day=TODAY))
    with shown.qtbot.waitSignal(shown.store.settled):
        shown.store.set_draft("c", "x")
    assert reads == []


def test_answers_of_days_to_come_are_left_out_and_counted(shown):
    shown.fill(figures(day=TODAY), *[figures(day=TODAY + timedelta(400)) for _ in range(2)])
    for days in (7, 30, None):
        shown.choose(shown.page.period, days)
        assert shown.rows[0][2] == "1"
        assert [day.day for day in shown.page.chart.chart_data.days] == [TODAY]
        assert any(words.startswith("2 answers have a date after today") for words in shown.words)


# ---------------------------------------------------------------- choosing


def test_the_model_that_was_asked_most_is_shown_first(shown):
    shown.fill(*[figures(day=TODAY, model=name) for name in ("b", "a", "b")])
    assert shown.page.model.text() == "b"
    assert shown.rows == [["up to 1k", "2", "50", "0.50 s", "600", "75 % of 160"]]
    assert "of 3, on 1 day" in shown.words


def test_all_models_are_shown_with_a_word_of_caution(shown):
    shown.fill(*[figures(day=TODAY, model=name) for name in ("b", "a", "b")])
    shown.choose(shown.page.model, None)
    assert [row[0] for row in shown.rows] == ["b", "a"]
    assert "all models together" in shown.page._speeds.heading.text()


def test_days_are_chosen(shown):
    shown.fill(
        figures(day=TODAY),
        figures(day=TODAY - timedelta(6)),
        figures(day=TODAY - timedelta(7)),
        figures(day=TODAY - timedelta(40)),
    )
    counts = {}
    for days in (7, 30, 90, 365, None):
        shown.choose(shown.page.period, days)
        counts[days] = sum(int(row[2]) for row in shown.rows)
    assert counts == {7: 2, 30: 3, 90: 4, 365: 4, None: 4}
    assert shown.page.period.text() == "All days"


@pytest.mark.parametrize(
    ("grouping", "rows"),
    [
        (Grouping.CONTEXT, [["Toy", "up to 1k"], ["Toy", "up to 8k"], ["Toy", "more than 32k"]]),
        (Grouping.NOTHING, [["Toy", "4"]]),
    ],
)
def test_the_table_tells_answers_apart_as_chosen(shown, grouping, rows):
    shown.fill(
        figures(day=TODAY),
        figures(day=TODAY),
        figures({"prompt_tokens": 5000}, day=TODAY),
        figures({"prompt_tokens": 50_000}, day=TODAY),
    )
    shown.choose(shown.page.grouping, grouping)
    assert sorted(row[:2] for row in shown.rows) == sorted(rows)


def test_an_answer_to_an_earlier_choice_is_not_shown(shown):
    shown.fill(figures(day=TODAY), figures(day=TODAY, model="b"))
    shown.page.model.chosen.emit("b")
    shown.choose(shown.page.model, "Toy")
    assert [each.model for each in shown.page._history.groups] == ["Toy"]


def test_shares_of_few_steps_are_grey(shown, theme):
    shown.fill(figures(day=TODAY), *[figures({"prompt_tokens": 5000}, day=TODAY) for _ in range(2)])
    model = shown.page.table.model()
    colors = {row[1]: model.index(n, 6).data(Qt.ItemDataRole.ForegroundRole) for n, row in enumerate(shown.rows)}
    assert colors["up to 1k"].name().upper() == theme.palette.tertiary
    assert colors["up to 8k"] is None
    assert model.index(1, 6).data(Qt.ItemDataRole.ToolTipRole).startswith("of only 80")


# ---------------------------------------------------------------- time saved


def test_time_saved_follows_the_measurements(shown):
    shown.fill(*[figures(day=TODAY) for _ in range(40)])
    assert "no measurement to compare with" in shown.words
    shown.records.all = ("measured",)
    shown.records.changed.emit()
    assert {"20 s saved", "from 40 of 40 answers", "By drafting, estimated"} <= set(shown.words)


@pytest.mark.parametrize(
    ("estimate", "words", "basis"),
    [
        (TimeSaved(-90.0, 3, 5), "2 min lost", "from 3 of 5 answers"),
        (TimeSaved(3900.0, 1200, 1300), "1 h 5 min saved", "from 1,200 of 1,300 answers"),
        (TimeSaved(-0.4, 3, 5), "no time saved to speak of", "from 3 of 5 answers"),
        (TimeSaved(0.05, 1, 1), "no time saved to speak of", "from 1 of 1 answer"),
        (TimeSaved(1.0, 1, 1), "1 s saved", "from 1 of 1 answer"),
        (TimeSaved(None, 0, 5), "–", "no measurement to compare with"),
        (TimeSaved(None, 0, 0), "–", "nothing was drafted"),
    ],
)
def test_time_saved_in_words(estimate, words, basis):
    assert (history_text.saved(estimate), history_text.saved_from(estimate)) == (words, basis)


def test_time_lost_is_shown_as_lost(shown):
    shown.records.all = ("measured",)
    shown.fill(*[figures({"decode_s": 5.0}, day=TODAY) for _ in range(40)])
    assert "2 min lost" in shown.words
    assert shown.page.facts.saved._number.property("tone") == "slower"


# ---------------------------------------------------------------- files


def test_what_is_shown_is_exported(shown, tmp_path):
    shown.fill(*[figures(day=TODAY, model=name) for name in "aab"])
    sheet = shown.page.ask_export()
    assert sheet.defaultSuffix() == "csv"
    path = tmp_path / "x.json"
    with shown.qtbot.waitSignal(shown.store.history_exported):
        sheet.fileSelected.emit(str(path))
    sheet.reject()
    assert [each["model"] for each in json.loads(path.read_text())["answers"]] == ["a", "a"]
    assert "Exported 2 answers to x.json" in shown.words


def test_deleting_asks_first(shown):
    shown.fill(figures(day=TODAY), figures(day=TODAY))
    box = shown.page.ask_delete()
    assert box.text() == "Delete the figures of 2 answers?"
    box.button(box.StandardButton.Cancel).click()
    shown.settle(shown.page.refresh)
    assert shown.rows[0][2] == "2"


def test_a_deleted_history_is_gone(shown):
    shown.fill(figures(day=TODAY, model="a"), figures(day=TODAY, model="b"))
    box = shown.page.ask_delete()
    (delete,) = (button for button in box.buttons() if button.text() == "Delete")
    shown.settle(delete.click)
    shown.qtbot.waitUntil(
        lambda: shown.page._wanted == Choice(since=TODAY - timedelta(29), until=TODAY), timeout=10_000
    )
    shown.qtbot.waitUntil(lambda: any(words.startswith("No answers yet") for words in shown.words), timeout=10_000)


# ---------------------------------------------------------------- in the program


def test_answers_in_the_program_are_in_the_history_and_measurements_are_not(start):
    drive = start(Script(answer="One two three four five six seven eight nine ten.", measurement=measurement(2.0)))
    window = drive.program.speed.window()
    page = window.findChild(HistoryPage)
    for _ in range(2):
        drive.ask("Count")
        drive.until_idle()
    drive.program.speed.measure_first(drive.program.queue.model.path)
    runner = drive.program.speed.runner
    assert runner.trial is not None
    drive.until(lambda: runner.trial is None)
    assert runner.problem is None
    drive.program.session.delete_chats([drive.program.session.chat_id])
    window.open_tab(page)
    drive.until(page.facts.answers.isVisible)
    assert page.facts.answers._number.text() == "2"


# ---------------------------------------------------------------- without eyes, without a mouse


def test_every_part_can_be_reached_by_the_tab_key(shown):
    shown.fill(figures(day=TODAY))
    page = shown.page
    page.activateWindow()
    page.model.setFocus()
    reached = []
    for _ in range(12):
        reached.append(QApplication.focusWidget())
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    order = [
        page.model,
        page.period,
        page.export,
        page.delete,
        page.chart,
        page.grouping,
        page.table,
    ]
    assert [widget for widget in reached if widget in order][: len(order)] == order


@pytest.mark.parametrize("state", ["nothing", "some", "all models", "none fit", "later", "trouble"])
def test_nothing_is_cut_off_at_the_minimum_size_of_the_window(shown, state):
    names = ("A model with a rather long name 4B · 4-bit", "b")
    if state != "nothing":
        old = TODAY - timedelta(200 if state == "none fit" else 0)
        shown.fill(
            *[
                figures({"prompt_tokens": count}, day=old, model=name)
                for name in names
                for count in (200, 5000, 20_000, 50_000)
            ]
        )
    if state == "all models":
        shown.choose(shown.page.model, None)
    if state == "later":
        shown.store.add_stats(lambda: figures(day=TODAY + timedelta(1)))
        shown.settle(shown.page.refresh)
    shown.page.resize(640, 440)
    if state == "trouble":
        shown.page.refresh()
        shown.store.failed.emit(ErrorInfo(ErrorKind.STORAGE, "The disk is away. " * 9), "")
    QApplication.processEvents()
    assert cut_off(shown.page) == []
    table = shown.page.table
    if table.isVisible():
        head = table.horizontalHeader()
        for column, name in enumerate(shown.head):
            assert table.columnWidth(column) >= head.fontMetrics().horizontalAdvance(name) + 2 * HEAD_PADDING
        assert table.columnWidth(0) >= 100
        assert table.visualRect(table.model().index(table.model().rowCount() - 1, 0)).bottom() <= (
            table.viewport().height()
        )


def test_a_screen_reader_finds_a_table_with_heads(shown):
    shown.fill(figures(day=TODAY))
    table = QAccessible.queryAccessibleInterface(shown.page.table)
    assert table.text(QAccessible.Text.Name) == "Figures of the answers"
    assert table.role() == QAccessible.Role.Table
    found = [table.child(n).text(QAccessible.Text.Name) for n in range(table.childCount())]
    assert {"Writing, tok/s", "Drafts kept", "Toy", "75 % of 80"} <= set(found)
    assert all(button.accessibleName() for button in (shown.page.model, shown.page.period))


def test_the_colours_are_those_of_the_palette_in_use(shown, theme):
    from app.palette import DARK

    shown.fill(figures(day=TODAY))
    theme.use(DARK)
    assert shown.page.table.model().index(0, 6).data(Qt.ItemDataRole.ForegroundRole).name().upper() == DARK.tertiary
