"""The list of chats: grouping, small changes, and opening and deleting with mouse and keyboard."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.chat.chat_list import ChatList, ChatRole, heading
from app.chat.chat_rows import ChatRowDelegate
from app.chat.conversation import ChatSummary
from app.chat.sidebar import Sidebar

NOON = datetime(2025, 6, 15, 12, 0, tzinfo=UTC)
NOW_MS = int(datetime.now(UTC).timestamp() * 1000)
DAY_MS = 86_400_000


def ms(moment):
    return int(moment.timestamp() * 1000)


def chat(name, age_days=0.0):
    return ChatSummary(name, f"About {name}", NOW_MS, NOW_MS - int(age_days * DAY_MS))


def texts(model):
    return [model.index(row).data() for row in range(model.rowCount())]


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        (NOON, "Today"),
        (NOON.replace(hour=0), "Today"),
        (NOON + timedelta(hours=3), "Today"),  # a clock that was put back
        (NOON - timedelta(hours=13), "Yesterday"),
        (NOON - timedelta(days=7), "Last 7 days"),
        (NOON - timedelta(days=8), "Last 30 days"),
        (NOON - timedelta(days=31), "Earlier"),
    ],
)
def test_heading(moment, name):
    assert heading(ms(moment), NOON) == name


def test_model_is_sound(qtmodeltester):
    model = ChatList()
    model.put(chat("a"), chat("b", 1.5), chat("c", 90))
    qtmodeltester.check(model)
    assert texts(model)[-2:] == ["Earlier", "About c"]


def test_newest_first_and_moves_up_when_written_in(qtbot):
    model = ChatList()
    model.put(chat("old", 100), chat("new"))
    assert texts(model) == ["Today", "About new", "Earlier", "About old"]
    model.put(ChatSummary("old", "About old", NOW_MS, NOW_MS + 1))
    assert texts(model) == ["Today", "About old", "About new"]


def test_only_what_differs_is_changed(qtbot):
    model = ChatList()
    model.put(chat("a"), chat("b", 40), chat("c", 50))
    removed = []
    model.rowsAboutToBeRemoved.connect(lambda _parent, first, last: removed.append((first, last)))
    model.remove("c")
    assert removed == [(4, 4)]
    model.put(chat("d", 60))
    assert texts(model)[-1] == "About d"
    assert removed == [(4, 4)]


ages = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 60), max_size=8)


@given(ages, ages, st.sets(st.sampled_from("abcdefgh")))
def test_any_changes_leave_the_rows_of_a_fresh_list(before, put, removed):
    model, fresh = ChatList(), ChatList()
    model.put(*(chat(name, age) for name, age in before.items()))
    count = model.rowCount()
    changes = []
    model.rowsInserted.connect(lambda _parent, first, last: changes.append(last - first + 1))
    model.rowsRemoved.connect(lambda _parent, first, last: changes.append(first - last - 1))
    model.put(*(chat(name, age) for name, age in put.items()))
    for name in removed:
        model.remove(name)
    fresh.put(*(chat(name, age) for name, age in {**before, **put}.items() if name not in removed))
    assert texts(model) == texts(fresh)
    assert model.rowCount() == count + sum(changes)


def test_busy_chat_is_marked_for_eyes_and_ears():
    model = ChatList()
    model.put(chat("a"), chat("b"))
    model.set_busy(["b"])
    index = model.index_of("b")
    assert index.data(ChatRole.BUSY)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "About b, answering"
    assert not model.index_of("a").data(ChatRole.BUSY)


def test_title_that_looks_like_html_stays_text():
    model = ChatList()
    model.put(ChatSummary("x", "<img src=/etc/passwd>", NOW_MS, NOW_MS))
    assert "<img" not in model.index_of("x").data(Qt.ItemDataRole.ToolTipRole)
    assert model.index_of("x").data() == "<img src=/etc/passwd>"


@pytest.fixture
def sidebar(qtbot, theme):
    model = ChatList()
    model.put(chat("a"), chat("b", 0.001))
    sidebar = Sidebar(theme, model)
    sidebar.resize(sidebar.width(), 400)
    qtbot.addWidget(sidebar)
    sidebar.show()
    sidebar.model = model
    sidebar.chosen_ids, sidebar.deleted_ids = [], []
    sidebar.chosen.connect(sidebar.chosen_ids.append)
    sidebar.deletion_requested.connect(sidebar.deleted_ids.append)
    return sidebar


def click(sidebar, chat_id, *, on_bin):
    row = sidebar.list.visualRect(sidebar.model.index_of(chat_id))
    place = ChatRowDelegate.bin_rect(row).center() if on_bin else QPoint(row.left() + 20, row.center().y())
    QTest.mouseClick(sidebar.list.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_click_opens_and_the_bin_deletes(sidebar):
    click(sidebar, "b", on_bin=False)
    assert (sidebar.chosen_ids, sidebar.deleted_ids) == (["b"], [])
    click(sidebar, "a", on_bin=True)
    assert (sidebar.chosen_ids, sidebar.deleted_ids) == (["b"], ["a"])


def test_shown_chat_stays_marked_when_another_is_deleted_with_its_bin(sidebar):
    sidebar.show_chosen("a")
    click(sidebar, "b", on_bin=True)
    sidebar.model.remove("b")
    assert [index.data(ChatRole.CHAT_ID) for index in sidebar.list.selectedIndexes()] == ["a"]


def test_heading_does_nothing(sidebar):
    QTest.mouseClick(
        sidebar.list.viewport(),
        Qt.MouseButton.LeftButton,
        pos=sidebar.list.visualRect(sidebar.model.index(0)).center(),
    )
    assert sidebar.chosen_ids == []


def test_keyboard(sidebar):
    sidebar.show_chosen("a")
    QTest.keyClick(sidebar.list, Qt.Key.Key_Down)
    QTest.keyClick(sidebar.list, Qt.Key.Key_Return)
    QTest.keyClick(sidebar.list, Qt.Key.Key_Delete)
    assert (sidebar.chosen_ids, sidebar.deleted_ids) == (["b"], ["b"])


def test_shown_chat_stays_marked_when_it_moves(sidebar):
    sidebar.show_chosen("b")
    sidebar.model.put(ChatSummary("b", "About b", NOW_MS, NOW_MS + 1000))
    assert sidebar.list.chat_at_cursor() == "b"
    assert [i.data(ChatRole.CHAT_ID) for i in sidebar.list.selectedIndexes()] == ["b"]


def test_chat_that_is_not_saved_yet_is_marked_once_it_is(sidebar):
    sidebar.show_chosen("fresh")
    assert sidebar.list.selectedIndexes() == []
    sidebar.model.put(ChatSummary("fresh", "Fresh", NOW_MS, NOW_MS + 5))
    assert sidebar.list.chat_at_cursor() == "fresh"
