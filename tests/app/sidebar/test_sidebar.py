"""The list of chats: grouping, small changes, and opening and deleting with mouse and keyboard."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton

from app.chat.conversation import ChatSummary
from app.chat.matching import FoundChat, Passage
from app.sidebar.chat_list import ChatList, ChatRole, ChatRowDelegate, heading
from app.sidebar.sidebar import Sidebar

NOON = datetime(2025, 6, 15, 12, 0, tzinfo=UTC)
NOW_MS = int(NOON.timestamp() * 1000)
DAY_MS = 86_400_000


def ms(moment):
    return int(moment.timestamp() * 1000)


def chat(name, age_days=0.0):
    return ChatSummary(name, f"About {name}", NOW_MS, NOW_MS - int(age_days * DAY_MS))


def chat_list():
    """Return an empty list whose day is always the same."""
    return ChatList(clock=lambda: NOON)


def texts(model):
    return [model.index(row).data() for row in range(model.rowCount())]


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        (NOON, "Today"),
        (NOON.replace(hour=0), "Today"),
        (NOON + timedelta(hours=3), "Today"),  # a clock that was put back
        (NOON - timedelta(hours=13), "Yesterday"),
        (NOON - timedelta(days=7), "Previous 7 Days"),
        (NOON - timedelta(days=8), "Previous 30 Days"),
        (NOON - timedelta(days=31), "May"),
        (NOON - timedelta(days=200), "November 2024"),
    ],
)
def test_heading(moment, name):
    assert heading(ms(moment), NOON) == name


def test_model_is_sound(qtmodeltester):
    model = chat_list()
    model.put(chat("a"), chat("b", 1.5), chat("c", 90))
    qtmodeltester.check(model)
    assert texts(model)[-2:] == [heading(NOW_MS - 90 * DAY_MS, NOON), "About c"]


def test_newest_first_and_moves_up_when_written_in(qtbot):
    model = chat_list()
    model.put(chat("old", 100), chat("new"))
    (*first, _month, last) = texts(model)
    assert (first, last) == (["Today", "About new"], "About old")
    model.put(ChatSummary("old", "About old", NOW_MS, NOW_MS + 1))
    assert texts(model) == ["Today", "About old", "About new"]


def test_only_what_differs_is_changed(qtbot):
    model = chat_list()
    model.put(chat("a"), chat("b", 800), chat("c", 800.001))
    removed = []
    model.rowsAboutToBeRemoved.connect(lambda _parent, first, last: removed.append((first, last)))
    model.remove("c")
    assert removed == [(4, 4)]
    model.put(chat("d", 800.002))
    assert texts(model)[-1] == "About d"
    assert removed == [(4, 4)]


ages = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 60), max_size=8)


@given(ages, ages, st.sets(st.sampled_from("abcdefgh")))
def test_any_changes_leave_the_rows_of_a_fresh_list(before, put, removed):
    model, fresh = chat_list(), chat_list()
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


@given(st.lists(st.integers() | st.integers(-(2**63), 2**63 - 1), max_size=4), st.booleans())
def test_no_chat_keeps_the_others_off_the_list(odd, pinned):
    model = chat_list()
    model.put(chat("a"), *(ChatSummary(f"odd{n}", "", ms, ms, pinned) for n, ms in enumerate(odd)), chat("b", 9))
    assert set(model.chat_ids()) == {"a", "b", *(f"odd{n}" for n in range(len(odd)))}


def test_busy_chat_is_marked_for_eyes_and_ears():
    model = chat_list()
    model.put(chat("a"), chat("b"))
    model.set_busy(["b"])
    index = model.index_of("b")
    assert index.data(ChatRole.BUSY)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "About b, answering"
    assert not model.index_of("a").data(ChatRole.BUSY)


def test_title_that_looks_like_html_stays_text():
    model = chat_list()
    model.put(ChatSummary("x", "<img src=/etc/passwd>", NOW_MS, NOW_MS))
    assert "<img" not in model.index_of("x").data(Qt.ItemDataRole.ToolTipRole)
    assert model.index_of("x").data() == "<img src=/etc/passwd>"


@pytest.fixture
def sidebar(qtbot, theme):
    model = chat_list()
    model.put(chat("a"), chat("b", 0.001), chat("c", 0.002))
    sidebar = Sidebar(theme, model)
    sidebar.resize(sidebar.width(), 400)
    qtbot.addWidget(sidebar)
    sidebar.show()
    sidebar.model = model
    sidebar.chosen_ids, sidebar.deleted_ids = [], []
    sidebar.chosen.connect(sidebar.chosen_ids.append)
    sidebar.deletion_requested.connect(sidebar.deleted_ids.extend)
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


# ---------------------------------------------------------------- pins, names, several at a time


def selected(sidebar):
    return [index.data(ChatRole.CHAT_ID) for index in sidebar.list.selectedIndexes()]


def click_with(sidebar, chat_id, modifier):
    place = sidebar.list.visualRect(sidebar.model.index_of(chat_id)).center()
    QTest.mouseClick(sidebar.list.viewport(), Qt.MouseButton.LeftButton, modifier, place)


def test_pinned_chats_stand_above_all_others():
    model = chat_list()
    model.put(chat("new"), replace(chat("old", 400), pinned=True), replace(chat("older", 500), pinned=True))
    assert texts(model) == ["Pinned", "About old", "About older", "Today", "About new"]
    assert model.index_of("old").data(ChatRole.PINNED)


def test_several_are_selected_with_mouse_or_keyboard_and_deleted_together(sidebar):
    sidebar.show_chosen("a")
    click_with(sidebar, "c", Qt.KeyboardModifier.ShiftModifier)
    assert sorted(selected(sidebar)) == ["a", "b", "c"]
    click_with(sidebar, "b", Qt.KeyboardModifier.ControlModifier)
    assert sorted(selected(sidebar)) == ["a", "c"]
    assert sidebar.chosen_ids == []
    QTest.keyClick(sidebar.list, Qt.Key.Key_Delete)
    assert sidebar.deleted_ids == ["a", "c"]
    sidebar.list.setFocus()
    QTest.keyClick(sidebar.list, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert sorted(selected(sidebar)) == ["a", "b", "c"]
    QTest.keyClick(sidebar.list, Qt.Key.Key_Escape)
    assert selected(sidebar) == ["a"]


def test_a_selection_of_several_survives_that_chats_come_and_move(sidebar):
    sidebar.show_chosen("a")
    click_with(sidebar, "b", Qt.KeyboardModifier.ControlModifier)
    sidebar.model.put(chat("fresh", -0.001))
    sidebar.model.put(ChatSummary("b", "About b", NOW_MS, NOW_MS + 99_999))
    assert sorted(selected(sidebar)) == ["a", "b"]
    sidebar.model.remove("b")
    assert selected(sidebar) == ["a"]


def editor(sidebar):
    return sidebar.list.viewport().findChild(QLineEdit)


@pytest.mark.parametrize("by", ["F2", "double click", "menu"])
def test_rename_in_place(sidebar, qtbot, by):
    renamed = []
    sidebar.model.renamed.connect(lambda *args: renamed.append(args))
    sidebar.show_chosen("b")
    if by == "F2":
        QTest.keyClick(sidebar.list, Qt.Key.Key_F2)
    elif by == "double click":
        place = sidebar.list.visualRect(sidebar.model.index_of("b")).center()
        QTest.mouseDClick(sidebar.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    else:
        next(action for action in sidebar.list.menu_for("b").actions() if action.text() == "Rename").trigger()
    assert editor(sidebar).text() == "About b"
    assert editor(sidebar).accessibleName()
    QTest.keyClicks(editor(sidebar), " A  new name ")
    QTest.keyClick(editor(sidebar), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: renamed == [("b", "A new name")])


@pytest.mark.parametrize("typed", ["", "   ", "About b"])
def test_a_name_without_words_or_the_same_changes_nothing(sidebar, typed):
    renamed = []
    sidebar.model.renamed.connect(lambda *args: renamed.append(args))
    assert not sidebar.model.setData(sidebar.model.index_of("b"), typed)
    assert renamed == []


def test_escape_leaves_the_name_as_it_was(sidebar):
    sidebar.list.rename("b")
    QTest.keyClicks(editor(sidebar), "x")
    QTest.keyClick(editor(sidebar), Qt.Key.Key_Escape)
    assert sidebar.model.index_of("b").data() == "About b"


def test_the_menu_has_every_command_and_one_for_several(sidebar):
    pins, exports = [], []
    sidebar.pin_requested.connect(pins.append)
    sidebar.export_requested.connect(exports.append)
    for action in sidebar.list.menu_for("b").actions():
        if action.text() not in ("Rename", ""):
            action.trigger()
    assert (sidebar.chosen_ids, pins, exports, sidebar.deleted_ids) == (["b"], ["b"], ["b"], ["b"])
    sidebar.model.put(replace(chat("b"), pinned=True))
    assert "Unpin" in [action.text() for action in sidebar.list.menu_for("b").actions()]
    sidebar.list.selectAll()
    (action,) = sidebar.list.menu_for("b").actions()
    assert action.text() == "Delete 3 Chats"


# ---------------------------------------------------------------- search


FOUND = (
    FoundChat(
        chat("a"),
        Passage("About a", ((0, 5),)),
        (Passage("about 🙂 this", ((0, 5), (6, 7)), "m1"), Passage("and about that", ((4, 9),), "m2")),
    ),
    FoundChat(chat("b"), Passage("About b", ((0, 5),)), ()),
)


@pytest.fixture
def searching(sidebar, qtbot):
    sidebar.opened_at = []
    sidebar.passage_chosen.connect(lambda *args: sidebar.opened_at.append(args))
    with qtbot.waitSignal(sidebar.searched) as searched:
        QTest.keyClicks(sidebar.search, " about  ")
    assert searched.args == ["about"]
    return sidebar


def test_search_shows_what_was_found_and_opens_it(searching):
    searching.show_found("another query", ())
    assert searching.list.isVisible()
    searching.show_found("about", FOUND)
    assert searching.found.isVisible()
    model = searching.found.model()
    assert [model.index(row).data() for row in range(model.rowCount())] == [
        "About a", "about 🙂 this", "and about that", "About b",
    ]  # fmt: skip
    QTest.keyClick(searching.search, Qt.Key.Key_Return)
    QTest.keyClick(searching.search, Qt.Key.Key_Down)
    QTest.keyClick(searching.found, Qt.Key.Key_Down)
    QTest.keyClick(searching.found, Qt.Key.Key_Return)
    rect = searching.found.visualRect(model.index(3))
    QTest.mouseClick(searching.found.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    assert searching.opened_at == [("a", ""), ("a", "m1"), ("b", "")]


def test_up_from_the_first_row_goes_back_to_the_field(searching, qtbot):
    searching.activateWindow()
    searching.show_found("about", FOUND)
    QTest.keyClick(searching.search, Qt.Key.Key_Down)
    QTest.keyClick(searching.found, Qt.Key.Key_Up)
    assert searching.focusWidget() is searching.search


def test_escape_clears_the_search_and_brings_the_chats_back(searching, qtbot):
    searching.show_found("about", FOUND)
    QTest.keyClick(searching.search, Qt.Key.Key_Escape)
    qtbot.waitUntil(searching.list.isVisible)
    assert searching.search.text() == ""


def test_nothing_found_says_so_and_clears(searching, qtbot):
    searching.show_found("about", ())
    button = next(each for each in searching.findChildren(QPushButton) if each.text() == "Clear the search")
    assert button.isVisible()
    button.click()
    qtbot.waitUntil(searching.list.isVisible)
