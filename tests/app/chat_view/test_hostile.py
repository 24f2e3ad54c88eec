"""Hostile outputs: nothing is requested, read or opened, and what is seen and copied is what was written."""

from __future__ import annotations

import socket
import sys

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QTextCursor
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget

from app.chat_view.answer_row import ThinkingCard
from app.chat_view.message_view import AnswerView
from app.chat_view.question_row import UserBubble
from app.render.markdown import sanitize
from tests.support.hostile_texts import _CODE, _MARKUP, COUNT, hostile_texts
from tests.support.looks import style
from tests.support.watched_folder import WatchedFolder

ALLOWED = ("http://", "https://", "mailto:")


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@pytest.fixture
def texts(tmp_path, server):
    (tmp_path / "secret.png").write_bytes(b"secret")
    return hostile_texts(f"{tmp_path}/secret.png", f"http://127.0.0.1:{server.getsockname()[1]}")


@pytest.fixture
def opened(monkeypatch):
    urls = []
    monkeypatch.setattr(QDesktopServices, "openUrl", urls.append)
    return urls


@pytest.fixture
def page(qtbot):
    area = QScrollArea()
    area.setWidgetResizable(True)
    inner = QWidget()
    area.rows = QVBoxLayout(inner)
    area.setWidget(inner)
    area.resize(600, 400)
    qtbot.addWidget(area)
    area.show()
    return area


def addresses(view):
    block = view.document().begin()
    while block.isValid():
        position = block.begin()
        while not position.atEnd():
            if position.fragment().charFormat().isAnchor():
                yield position.fragment().charFormat().anchorHref()
            position += 1
        block = block.next()


def no_connection(server):
    try:
        server.accept()
    except BlockingIOError:
        return True
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="files are watched by the Linux kernel")
def test_nothing_is_requested_read_or_opened(page, theme, texts, server, tmp_path, opened):
    assert len(set(texts)) == COUNT
    watched = WatchedFolder(tmp_path)
    view, bubble, card = AnswerView(style()), UserBubble("", style()), ThinkingCard(theme)
    for widget in (view, bubble, card):
        page.rows.addWidget(widget)
    card.head.click()
    told = []
    view.link_activated.connect(told.append)
    for text in texts:
        view.set_markdown(text)
        bubble.set_text(text)
        card.set_text(text, 0)
        for address in set(addresses(view)):
            assert address.lower().startswith(ALLOWED)
            view.anchorClicked.emit(QUrl(address))
        page.grab()
        QApplication.processEvents()
    assert watched.opened() == []
    (tmp_path / "secret.png").read_bytes()
    assert "secret.png" in watched.opened()  # it would have been noticed
    watched.close()
    assert opened == []
    assert {url.scheme() for url in told} <= {"http", "https", "mailto"}
    assert no_connection(server)


def test_streamed_they_do_no_more(page, texts, server, opened):
    for text in texts[::5]:
        view = AnswerView(style())
        page.rows.addWidget(view)
        for start in range(0, len(text), 9):
            view.append(text[start : start + 9])
            view._flush()
        view.finish()
        assert view.markdown() == text
        view.hide()
        view.deleteLater()
    assert opened == []
    assert no_connection(server)


def test_what_is_seen_and_copied_is_what_was_written(page, texts):
    view = AnswerView(style())
    page.rows.addWidget(view)
    for text in texts:
        view.set_markdown(text)
        assert view.markdown() == text
        view.selectAll()
        view.copy()
        copied = QGuiApplication.clipboard().text()
        for word in ("secret.png", "alert(1)", "x.png"):
            if word in text and not text.startswith("```") and not _leads_away(text):
                assert word in copied, text


@pytest.mark.parametrize("shape", [*_MARKUP, *_CODE[1:]])
def test_markup_is_seen_as_it_was_typed(page, shape):
    text = shape.format(it="file:///etc/passwd")
    typed = text.removeprefix("```html\n").removesuffix("\n```").strip("` ")
    view = AnswerView(style())
    page.rows.addWidget(view)
    view.set_markdown(text)
    assert view.toPlainText().replace("\u2028", "\n") == typed
    cursor = view.textCursor()
    cursor.select(QTextCursor.SelectionType.Document)
    view.setTextCursor(cursor)
    view.copy()
    assert QGuiApplication.clipboard().text() == typed


def test_where_a_refused_link_leads_is_seen(page):
    view = AnswerView(style())
    page.rows.addWidget(view)
    view.set_markdown("[click](file:///etc/passwd) [me](/etc/hosts) ![picture](ftp://a.example/b)")
    assert view.toPlainText() == ("[click](file:///etc/passwd) me (/etc/hosts) picture (ftp://a.example/b)")
    assert list(addresses(view)) == []


@pytest.mark.parametrize("text", ["a\x00b", "a\ufffcb", "a\u2029b", "a\ufdd0b", "a\ud800b", "a\rb", "a\x1b[31mb"])
def test_signs_with_a_meaning_to_the_document_lose_it(page, text):
    view, bubble = AnswerView(style()), UserBubble(text, style())
    page.rows.addWidget(view)
    page.rows.addWidget(bubble)
    view.set_markdown(text)
    assert view.toPlainText().replace("\u2028", "\n") == sanitize(text)
    assert bubble._view.toPlainText() == sanitize(text)


def _leads_away(text):
    """Whether the words are the address of a link that can be followed: the sheet shows it before it is."""
    return "http" in text and ("](" in text or "][" in text)
